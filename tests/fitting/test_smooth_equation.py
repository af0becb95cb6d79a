"""Growth rates that are linear in the populations: the law of logarithms is an equation of the columns themselves."""

import numpy as np
import pytest

import nke
from nke.data import Trajectories

GROWTH = np.array([0.5, 0.4])
INTERACTION = np.array([[0.5, 0.3], [0.0, 0.4]])
NOISE, STEP = 0.15, 0.25


@pytest.fixture(scope="module")
def competition() -> nke.FitResult:
    """d log a/dt = 0.5 − 0.5 a − 0.3 b, d log b/dt = 0.4 − 0.4 b, less half of the noise, 100 × 100 steps."""
    rng, fine = np.random.default_rng(0), 10
    z, rows = np.log(rng.uniform(0.3, 1.2, (100, 2))), []
    for _ in range(101):
        rows.append(np.exp(z))
        for _ in range(fine):
            drift = GROWTH - np.exp(z) @ INTERACTION.T - NOISE**2 / 2
            z = z + drift * STEP / fine + NOISE * np.sqrt(STEP / fine) * rng.normal(size=z.shape)
    data = Trajectories(np.stack(rows, axis=1), STEP, names=["a", "b"])
    return nke.fit(data, seed=0, progress=False, diagnosis=False)


def test_the_terms_are_those_of_the_law(competition):
    """Each within four of its standard errors, which are less than a tenth of the coefficients; and no others."""
    equation = competition.equation
    assert equation.names == ("log a", "log b")
    expected = {
        "log a": {(): 0.5 - NOISE**2 / 2, ("a",): -0.5, ("b",): -0.3},
        "log b": {(): 0.4 - NOISE**2 / 2, ("b",): -0.4},
    }
    for name, terms in equation.drift.items():
        assert {term.variables for term in terms} == set(expected[name])
        for term in terms:
            assert abs(term.coefficient - expected[name][term.variables]) < 4 * term.error
            assert term.error < 0.1 * abs(term.coefficient)


def test_the_equation_is_the_drift_of_the_model(competition):
    """By Itô's formula, x (f + a/2) of the logarithm; in single precision."""
    x = np.random.default_rng(1).uniform(0.4, 1.1, (20, 2))
    a = np.diagonal(competition.model.diffusion(x), axis1=1, axis2=2) / x**2
    np.testing.assert_allclose(competition.model.drift(x), x * (competition.equation(np.log(x)) + a / 2), atol=2e-6)


def test_it_is_written_in_the_columns(competition):
    assert "a" in competition.equation.drift_lines()[0].split("=")[1]
    assert "drift         d log a/dt = " in competition.summary()
    assert r"\dot{\mathrm{log b}} &=" in competition.equation.latex()


def test_files_keep_it(competition, tmp_path):
    competition.save(tmp_path / "law.nke")
    again = nke.FitResult.load(tmp_path / "law.nke")
    assert again.equation == competition.equation
    x = np.array([[0.5, 0.7]])
    np.testing.assert_array_equal(again.model.drift(x), competition.model.drift(x))
