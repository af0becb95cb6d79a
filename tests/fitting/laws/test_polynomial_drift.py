"""A polynomial drift beside networks of noise and jumps."""

from dataclasses import replace

import numpy as np

import nke
from nke.systems import CoxIngersollRoss
from quick_fits import QUICK


def test_a_straight_drift_beside_jumps_that_depend_on_the_state(network_fit):
    form = network_fit.form
    assert (form.degree, form.networks, form.has_drift_network) == (1, True, False)
    decision = network_fit.decision("drift network")
    assert decision.answer == "no: a polynomial of degree 1 does"
    assert set(decision.evidence["degree 1"]) >= {"lack of fit of drift in nats", "parameters"}
    [term] = network_fit.equation.drift["x"]
    assert term.variables == ("x",)
    assert abs(term.coefficient + 1) < 4 * term.error
    assert network_fit.equation.noise is None
    assert network_fit.equation.jumps is None


def test_a_straight_drift_beside_noise_that_depends_on_the_state(tmp_path):
    """Cox–Ingersoll–Ross: a = 0.04 x; within 4 standard errors, and 5 % in the noise (1 % with a full training)."""
    system = CoxIngersollRoss()
    data = system.simulate(256, seed=1)
    result = nke.fit(data, replace(QUICK, substeps=1), jumps=False, diagnosis=False)
    assert result.form.noise != "constant"
    assert not result.form.has_drift_network
    found = {term.variables: term for term in result.equation.drift["rate"]}
    assert set(found) == {(), ("rate",)}
    for variables, true in {(): system.speed * system.level, ("rate",): -system.speed}.items():
        assert abs(found[variables].coefficient - true) < 4 * found[variables].error
    x = np.asarray(data.states)[:, 50]
    assert nke.recovery(result.model, system, x).diffusion.relative < 0.05
    result.model.save(tmp_path / "model.nke")
    np.testing.assert_array_equal(nke.load(tmp_path / "model.nke").drift(x), result.model.drift(x))
