"""``nke.cache``: programs that one process has compiled are found by others."""

import subprocess
import sys

import jax
import pytest

import nke
from nke.caching import default_folder

FIT = """
import sys, jax, numpy as np, nke
hits = []
jax.monitoring.register_event_listener(lambda event, **more: hits.append(event))
jax.jit(lambda x: x + 1)(1.0)  # a program before
nke.cache(sys.argv[1])
result = nke.fit(nke.systems.OrnsteinUhlenbeck().simulate(32, seed=0), jumps=False, progress=False, diagnosis=False)
print(hits.count("/jax/compilation_cache/cache_hits"), result.model.drift([[1.0]]).item())
"""


def run(folder):
    return subprocess.Popen([sys.executable, "-c", FIT, str(folder)], stdout=subprocess.PIPE, text=True)


def finished(process):
    words, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    hits, drift = words.split()
    return int(hits), float(drift)


@pytest.mark.validation
def test_a_second_process_finds_the_programs_also_where_several_write_at_once_or_one_was_cut_off(tmp_path):
    both = [run(tmp_path), run(tmp_path)]
    (_, first), (_, second) = map(finished, both)
    kept = list(tmp_path.glob("*-cache"))
    assert first == second
    assert kept
    kept[0].write_bytes(kept[0].read_bytes()[:100])
    hits, drift = finished(run(tmp_path))
    assert hits >= len(kept) - 1 > 0
    assert drift == first


@pytest.fixture
def settings():
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    jax.config.update("jax_compilation_cache_dir", None)
    yield
    for name, value in before.items():
        jax.config.update(name, value)


def test_without_a_folder_it_is_that_of_the_command_line(settings, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert nke.cache() == default_folder() == tmp_path / "nke" / "jax"
    assert nke.cache(tmp_path / "own") == tmp_path / "own"
    assert nke.cache() == tmp_path / "own"  # what is set stays
