"""The learned law as an equation: what it prints, what it computes, and that it says the same as the model."""

import json
from functools import partial

import numpy as np
import pytest

import nke
from nke.errors import InputError
from nke.fitting import Equation, JumpComponent, JumpLaw, NoiseLaw, Term
from nke.fitting.equation import coefficient_unit
from nke.systems import OrnsteinUhlenbeck
from quick_fits import QUICK, double_well, geometric_brownian_motion, ornstein_uhlenbeck_in_units

FLOAT32 = 1e-5  # relative accuracy of what a model in single precision computes
PLANE = Equation(
    ("x", "speed_1"),
    ("m", "m/s"),
    "s",
    {"x": (), "speed_1": (Term(2.0, 0.1), Term(-0.5, 0.02, ("x", "x", "speed_1"), "1/(s·m²)"))},
    (0.0, 3.0),
    NoiseLaw("constant", ((4.0, 1.0), (1.0, 1.0)), ((0.4, 0.1), (0.1, 0.2))),
    JumpLaw(0.5, 0.05, tuple(JumpComponent(w, (0.0, 1.0), (0.0, 0.1), (0.0, 2.0), (0.0, 0.3)) for w in (0.6, 0.4))),
)


class TestWords:
    def test_lines(self):
        drift_x, drift, noise, jumps, first, _ = PLANE.lines()
        assert drift_x == "dx/dt = 0"
        assert drift == "dspeed_1/dt = +2 (0.1) -0.5 (0.02) x²·(speed_1 − 3)"
        assert "x 2 (0.1) m/√s" in noise
        assert "correlation of x and speed_1 0.5" in noise
        assert jumps == "jumps: 0.5 (0.05) per s"
        assert first.strip() == "60% of them: speed_1 mean 1 (0.1), sd 2 (0.3) m/s"
        assert str(PLANE) == "\n".join(PLANE.lines())

    def test_latex(self):
        begin, first, second, end = PLANE.latex().splitlines()
        assert (begin, end) == (r"\begin{aligned}", r"\end{aligned}")
        assert first == r"\dot{x} &= 0 \\"
        assert second == (
            r"\dot{\mathrm{speed\_1}} &= +2\,(\pm 0.1)\, -0.5\,(\pm 0.02)\,x^{2}\,(\mathrm{speed\_1} - 3)"
        )

    def test_a_term(self):
        assert str(Term(-2.0, 0.1, ("x", "x", "y"))) == "-2 (0.1) x²·y"
        assert str(Term(1.5, 0.1)) == "1.5 (0.1)"

    @pytest.mark.parametrize(
        ("numerator", "variables", "time", "unit"),
        [
            ("m", ["m"], "s", "1/s"),
            ("m", [], "s", "m/s"),
            ("m", ["m", "m"], "s", "1/(s·m)"),
            ("m", ["m", "K"], "s", "1/(s·K)"),
            ("m", ["m", "m", "m"], "s", "1/(s·m²)"),
            ("s", [], "s", ""),
            ("m", ["m"], "", ""),
            ("", ["m"], "s", ""),
            ("m", [""], "s", ""),
        ],
    )
    def test_units_cancel(self, numerator, variables, time, unit):
        assert coefficient_unit(numerator, variables, time) == unit


class TestValues:
    def test_the_drift_in_closed_form(self):
        x = np.array([[[1.0, 5.0]], [[-2.0, 3.0]]])
        np.testing.assert_allclose(PLANE(x), [[[0.0, 2 - 0.5 * 1 * 2]], [[0.0, 2.0]]])

    def test_states_of_another_dimension_are_refused(self):
        with pytest.raises(InputError, match=r"expected states of shape \(\.\.\., 2\), but got \(3,\)"):
            PLANE([1.0, 2.0, 3.0])

    def test_through_json_and_back(self, linear_fit, jump_fit):
        for equation in (PLANE, linear_fit.equation, jump_fit.equation):
            assert Equation.from_dict(json.loads(json.dumps(equation.to_dict()))) == equation

    def test_some_of_the_jumps(self):
        kept = PLANE.with_jump_components([1])
        assert [component.weight for component in kept.jumps.components] == [1.0]
        assert kept.drift == PLANE.drift


class TestSameAsTheModel:
    @pytest.mark.parametrize(
        ("name", "data"),
        [
            ("linear_fit", ornstein_uhlenbeck_in_units),
            ("far_fit", partial(ornstein_uhlenbeck_in_units, shift=7e4)),
            ("jump_fit", double_well),
            ("relative_fit", geometric_brownian_motion),
        ],
        ids=["linear", "far", "jumps", "relative"],
    )
    def test_drift(self, name, data, request):
        result = request.getfixturevalue(name)
        x = np.asarray(data().states)[:, ::10].reshape(-1, 1)
        drift = result.model.drift(x)
        np.testing.assert_allclose(result.equation(x), drift, rtol=0, atol=FLOAT32 * np.abs(drift).max())

    def test_constant_noise(self, correlated_fit, linear_fit):
        for result, x in ((correlated_fit, np.ones(2)), (linear_fit, np.ones(1))):
            assert result.equation.noise.kind == "constant"
            np.testing.assert_allclose(result.equation.noise.diffusion, result.model.diffusion(x), rtol=FLOAT32)

    def test_relative_noise(self, relative_fit):
        """a(x) = ν x² away from zero, where the size that counts as zero does not matter."""
        assert relative_fit.equation.noise.kind == "relative"
        [[found]], x = relative_fit.equation.noise.diffusion, np.array([1.3])
        assert found == pytest.approx(relative_fit.model.diffusion(x)[0, 0] / x[0] ** 2, rel=1e-3)

    def test_jumps(self, jump_fit):
        jumps, law = jump_fit.equation.jumps, jump_fit.model.jump_law(np.zeros(1))
        assert jumps.rate == pytest.approx(float(jump_fit.model.jump_rate(np.zeros(1))), rel=FLOAT32)
        assert len(jumps.components) == law.components
        for k, component in enumerate(jumps.components):
            assert component.weight == pytest.approx(law.weights[k], rel=FLOAT32)
            np.testing.assert_allclose(component.mean, law.means[k], rtol=FLOAT32, atol=1e-6)
            np.testing.assert_allclose(np.square(component.deviation), np.diag(law.covariances[k]), rtol=FLOAT32)


class TestKnownTruth:
    def test_terms_and_units(self, linear_fit):
        """du/dt = −u/60, a = 10⁶/60 mm²/s."""
        equation = linear_fit.equation
        [term] = equation.drift["u"]
        assert (term.variables, term.unit) == (("u",), "1/s")
        assert abs(term.coefficient + 1 / 60) < 4 * term.error
        assert equation.origin == (0.0,)
        assert abs(equation.noise.diffusion[0][0] - 1e6 / 60) < 4 * equation.noise.error[0][0]

    def test_far_from_zero_coordinates_are_counted_from_their_mean(self, far_fit):
        """A constant may come with it: the mean of the data is not quite where the drift is zero."""
        [origin], terms = far_fit.equation.origin, far_fit.equation.drift["u"]
        assert origin == pytest.approx(7e4, abs=4 * 1000 / np.sqrt(2 * 128))
        [slope] = [term for term in terms if term.variables == ("u",)]
        assert abs(slope.coefficient + 1 / 60) < 4 * slope.error
        assert f"(u − {origin:.4g})" in str(far_fit.equation)

    def test_standard_errors_of_the_noise(self, independent_fit, correlated_fit):
        """A variance from n Gaussian steps is known to v √(2/n), a covariance to √((v₁v₂ + c²)/n); n = 36·49."""
        for result in (independent_fit, correlated_fit):
            noise = result.equation.noise
            a, error = np.array(noise.diffusion), np.array(noise.error)
            exact = np.sqrt((np.outer(np.diag(a), np.diag(a)) + a**2) / (36 * 49))
            # The information is a mean over 1,764 products of fourth moments: of χ², some 10 %.
            seen = a != 0
            np.testing.assert_allclose(error[seen], exact[seen], rtol=0.2)
            assert (error[~seen] == 0).all()

    def test_jumps(self, jump_fit):
        """Jumps N(0, 1) at rate 1: within four standard errors, which are about √(λ/T) for the rate."""
        jumps = jump_fit.equation.jumps
        assert abs(jumps.rate - 1) < 4 * jumps.rate_error
        total = 58 * 5.0  # time units trained on
        assert jumps.rate_error == pytest.approx(1 / np.sqrt(total), rel=0.5)
        [component] = jumps.components
        assert component.mean == (0.0,)
        assert abs(component.deviation[0] - 1) < 4 * component.deviation_error[0]
        assert component.deviation_error[0] == pytest.approx(1 / np.sqrt(2 * total), rel=0.5)


@pytest.mark.parametrize("correlation", [0.0, 0.3])
def test_correlated_noise_is_told_from_independent_noise(correlation, request):
    """2000 steps: a correlation of 0.3 is 13 standard errors (1/√n), one of 0 is dropped for good."""
    result = request.getfixturevalue("correlated_fit" if correlation else "independent_fit")
    found, covariance = result.model.diffusion(np.zeros(2)), np.array([[1.0, 2 * correlation], [2 * correlation, 4.0]])
    if correlation == 0:
        assert found[0, 1] == 0
    error = np.sqrt((np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2) / 2000)
    assert (np.abs(found - covariance) < 4 * error).all(), found


def test_of_a_logarithm_it_says_the_same_as_the_model():
    """u = log x has drift −(u − 2) and noise 1: the constant counts from zero, or the equation says from where."""
    states = np.exp(2 + np.asarray(OrnsteinUhlenbeck(rate=1.0).simulate(64, seed=1).states))
    data = nke.Trajectories(states, OrnsteinUhlenbeck().times, names=["x"])
    result = nke.fit(data, QUICK, jumps=False, positive=["x"], diagnosis=False)
    x = np.array([[4.0], [8.0], [20.0]])
    drift, variance = result.model.drift(x)[:, 0], result.model.diffusion(x)[:, 0, 0]
    of_log = drift / x[:, 0] - variance / (2 * x[:, 0] ** 2)  # Itô
    np.testing.assert_allclose(result.equation(np.log(x))[:, 0], of_log, atol=1e-3)
    np.testing.assert_allclose(of_log, 2 - np.log(x[:, 0]), atol=0.6)
