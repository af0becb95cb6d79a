"""The examples of CONTRIBUTING.md: each does what the text says."""

import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import nke
from nke.files import entry


def examples(heading):
    """The Python code below a heading, by block."""
    text = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def names_of(code):
    """What an example defines, as a module."""
    module = ModuleType("example")
    exec(code, module.__dict__)
    return module


def test_a_system():
    system = names_of(examples("Add a system")[0]).Duffing(damping=0.2)
    paths = system.simulate(4, seed=0, times=[0.0, 0.1, 0.3])
    assert paths.names == ("position", "velocity")
    assert paths.states.shape == (4, 3, 2)
    np.testing.assert_allclose(system.drift([2.0, 1.0]), [1.0, -6.2])
    with pytest.raises(nke.NkeError, match="damping of Duffing"):
        type(system)(damping=-1)


def test_a_file_format(tmp_path, monkeypatch):
    module, registration = examples("Add a file format")
    monkeypatch.setitem(sys.modules, "nke.files.feather", names_of(module))
    tables = {name: dict(getattr(entry, name)) for name in ("FORMATS", "ENDINGS", "SIGNATURES")}
    exec(registration, tables)
    for name in ("FORMATS", "ENDINGS", "SIGNATURES"):
        monkeypatch.setattr(entry, name, tables[name])
    paths = nke.systems.HarmonicOscillator().simulate(3, seed=0)
    nke.write(paths, tmp_path / "paths.feather")
    again = nke.read(tmp_path / "paths.feather")
    np.testing.assert_array_equal(again.states, paths.states)
    assert again.names == paths.names


def test_a_baseline():
    method = names_of(examples("Add a baseline")[0]).PolynomialEuler()
    data = nke.systems.OrnsteinUhlenbeck().simulate(16, seed=0)
    model = nke.fit(data, method, progress=False).model
    assert model.drift([1.0]) < 0 < model.drift([-1.0])
    with pytest.raises(nke.NkeError, match="has no jump part"):
        nke.fit(data, method, jumps=True, progress=False)


def test_a_law(monkeypatch):
    family = names_of(examples("Add a law")[0]).LinearFamily()
    monkeypatch.setattr("nke.fitting.search.FAMILIES", (family,))
    data = nke.systems.OrnsteinUhlenbeck().simulate(16, seed=0)
    result = nke.fit(data, jumps=False, progress=False)
    assert result.decision("linear").answer == "it was tried"
    assert result.model.drift([1.0]) < 0 < result.model.drift([-1.0])
