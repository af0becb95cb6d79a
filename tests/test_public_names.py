"""What ``import nke`` gives: every public name, at once and without waiting for JAX."""

import subprocess
import sys
from importlib import import_module

import pytest

import nke

PACKAGES = ("baselines", "errors", "evaluation", "files", "mixtures", "operators", "plots", "systems")


@pytest.mark.parametrize("name", nke.__all__)
def test_every_name_is_there(name):
    assert getattr(nke, name) is not None
    assert name in dir(nke)


@pytest.mark.parametrize("name", PACKAGES)
def test_packages_are_reached_without_another_import(name):
    package = getattr(nke, name)
    assert package is import_module(f"nke.{name}")
    for public in getattr(package, "__all__", ()):
        assert hasattr(package, public)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        nke.nonsense  # noqa: B018


def test_the_version_is_known():
    assert nke.__version__.count(".") == 2


def test_nothing_heavy_is_loaded_before_it_is_needed_and_jax_is_left_alone():
    """In a process of its own: ``nke.evaluation`` and the others work as attributes after a bare ``import nke``."""
    code = f"""
import sys, nke, nke.cli.main
assert not {{"jax", "matplotlib", "optax", "pandas"}} & set(sys.modules)
import jax
before = dict(jax.config.values)
for name in {PACKAGES}:
    getattr(nke, name)
nke.fit, nke.evaluate, nke.load, nke.read
assert dict(jax.config.values) == before
"""
    subprocess.run([sys.executable, "-c", code], check=True)
