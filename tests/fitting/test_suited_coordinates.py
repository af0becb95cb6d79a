"""``nke.fit`` in coordinates that suit: known laws come back in the user's coordinates."""

import numpy as np
import pytest

import nke
from nke.data.transforms import Log, Periodic, Plain
from nke.errors import InputError
from nke.fitting import Likelihood, Schedule
from nke.systems import GeometricBrownianMotion, OrnsteinUhlenbeck, Pendulum, PhaseOscillators

POLYNOMIAL = Likelihood(networks=False)
PRICE = GeometricBrownianMotion(growth=0.5)
STATES = np.array([[0.7], [1.0], [2.0]])


@pytest.fixture(scope="module")
def prices() -> nke.Trajectories:
    return PRICE.simulate(128, seed=1)


@pytest.fixture(scope="module")
def logarithmic(prices) -> nke.FitResult:
    return nke.fit(prices, POLYNOMIAL, jumps=False, positive=["price"], progress=False, diagnosis=False)


@pytest.fixture(scope="module")
def pendulum() -> nke.FitResult:
    """Recorded wrapped into (−π, π]."""
    data = Pendulum().simulate(64, seed=0)
    states = np.array(data.states)
    states[..., 0] = np.mod(states[..., 0] + np.pi, 2 * np.pi) - np.pi
    wrapped = nke.Trajectories(states, data.times, names=data.names)
    method = Likelihood(networks=False, kinetic={"angle": "velocity"})
    return nke.fit(wrapped, method, jumps=False, periodic=["angle"], progress=False, diagnosis=False)


class TestPositive:
    def test_the_law_is_short_in_logarithms_and_right_in_prices(self, logarithmic):
        (term,) = logarithmic.equation.drift["log price"]
        assert term.coefficient == pytest.approx(0.5 - 0.02, abs=4 * term.error)
        assert "d log price/dt" in str(logarithmic.equation)
        model = logarithmic.model
        assert model.names == ("price",)
        np.testing.assert_allclose(model.drift(STATES), 0.5 * STATES, rtol=0.15)
        np.testing.assert_allclose(model.diffusion(STATES)[..., 0], 0.04 * STATES**2, rtol=0.05)

    def test_score_is_in_the_units_of_the_data(self, logarithmic, prices):
        """That of the very held-out trajectories, and beside the truth."""
        held_out = prices.split(0.1, seed=0)[1]
        assert logarithmic.score.value == pytest.approx(logarithmic.model.score(held_out), abs=1e-6)
        seen = held_out.transitions()
        assert logarithmic.score.value == pytest.approx(
            PRICE.log_prob(seen.y, given=seen.x, step=seen.step).mean(), abs=0.01
        )

    def test_decision(self, logarithmic):
        decision = logarithmic.decision("coordinates")
        assert (decision.answer, decision.rule) == ("log price", "as asked")

    def test_storage(self, logarithmic, tmp_path):
        logarithmic.save(tmp_path / "price.nke")
        again = nke.FitResult.load(tmp_path / "price.nke")
        assert again.model.coordinates.transforms == (Log(),)
        assert again.equation == logarithmic.equation
        np.testing.assert_array_equal(again.model.drift(STATES), logarithmic.model.drift(STATES))

    def test_decided_from_the_data(self):
        data = GeometricBrownianMotion(volatility=0.8).simulate(64, seed=0)
        found = nke.fit(data, POLYNOMIAL, jumps=False, progress=False, diagnosis=False)
        assert found.model.coordinates.transforms == (Log(),)
        assert found.decision("coordinates").evidence["price"]
        kept = nke.fit(data, POLYNOMIAL, jumps=False, positive=[], progress=False, diagnosis=False)
        assert kept.model.coordinates.transforms == (Plain(),)

    def test_coordinates_of_the_users_own(self, prices):
        coordinates = nke.Coordinates.zscore(prices, [Log()])
        found = nke.fit(prices, POLYNOMIAL, jumps=False, coordinates=coordinates, progress=False, diagnosis=False)
        assert found.equation.names == ("log price",)
        with pytest.raises(InputError, match="either coordinates or positive"):
            nke.fit(prices, POLYNOMIAL, coordinates=coordinates, positive=["price"], diagnosis=False)

    def test_moment_matching(self, prices):
        method = nke.MomentMatching(width=4, depth=1, schedule=Schedule(steps=20))
        found = nke.fit(prices, method, jumps=False, positive=["price"], progress=False, diagnosis=False)
        assert (found.model.sample([0.01], [0.0, 1.0, 2.0], paths=50) > 0).all()

    def test_invariant_columns_are_named_by_the_user(self):
        walks = np.cumsum(np.random.default_rng(0).normal(size=(16, 40, 2)), axis=1)
        walks[..., 0] = np.exp(walks[..., 0] / 50)
        data = nke.Trajectories(walks, 1.0, names=["u", "v"])
        method = Likelihood(networks=False, invariant=["u"])
        found = nke.fit(data, method, jumps=False, positive=["u"], progress=False, diagnosis=False)
        assert found.model.generator.constraint.invariant == (0,)


class TestBounds:
    def test_a_share(self):
        """dx = −x dt + dW of the logit: linear with constant noise there."""
        data = OrnsteinUhlenbeck().simulate(64, seed=0)
        share = nke.Trajectories(2 / (1 + np.exp(-np.asarray(data.states))), data.times, names=["share"])
        found = nke.fit(share, POLYNOMIAL, jumps=False, bounds={"share": (0, 2)}, progress=False, diagnosis=False)
        terms = {term.variables: term for term in found.equation.drift["logit share"]}
        slope = terms[("logit share",)]
        assert slope.coefficient == pytest.approx(-OrnsteinUhlenbeck().rate, abs=4 * slope.error)
        paths = found.model.sample([1.99], np.linspace(0, 20, 21), paths=50)
        assert ((paths > 0) & (paths < 2)).all()
        with pytest.raises(InputError, match="'share' between 0 and 1 in every row, but trajectory"):
            nke.fit(share, POLYNOMIAL, bounds={"share": (0, 1)}, diagnosis=False)


class TestAngle:
    def test_the_law_is_that_of_the_sine(self, pendulum):
        terms = {term.variables: term for term in pendulum.equation.drift["velocity"]}
        assert set(terms) == {(), ("velocity",), ("sin angle",)}
        for variables, truth in (((), 0.5), (("velocity",), -0.2), (("sin angle",), -1.0)):
            assert terms[variables].coefficient == pytest.approx(truth, abs=4 * terms[variables].error)

    def test_drift(self, pendulum):
        system = Pendulum()
        states = np.random.default_rng(0).uniform([-np.pi, -2], [np.pi, 2], (50, 2))
        np.testing.assert_allclose(pendulum.model.drift(states), system.drift(states), atol=0.15)
        turned = states + np.array([2 * np.pi, 0])
        np.testing.assert_allclose(pendulum.model.drift(turned), pendulum.model.drift(states), atol=1e-5)
        np.testing.assert_allclose(pendulum.equation(states)[:, 0], pendulum.model.drift(states)[:, 1], atol=1e-4)

    def test_paths_go_round_within_the_interval_of_the_data(self, pendulum):
        assert pendulum.model.coordinates.transforms == (Periodic(start=-np.pi), Plain())
        angle = pendulum.model.sample([0.0, 3.0], np.linspace(0, 20, 201), paths=20)[..., 0]
        assert (np.abs(angle) <= np.pi).all()
        assert (np.abs(np.diff(angle)) > np.pi).any()

    def test_storage(self, pendulum, tmp_path):
        pendulum.save(tmp_path / "pendulum.nke")
        again = nke.FitResult.load(tmp_path / "pendulum.nke")
        assert again.equation == pendulum.equation
        states = np.array([[3.0, 0.5], [9.0, 0.5]])
        np.testing.assert_array_equal(again.model.drift(states), pendulum.model.drift(states))

    @pytest.mark.validation
    def test_differences_of_angles_are_quadratic(self):
        system = PhaseOscillators(dimension=2, spread=0.5)
        data = system.simulate(128, seed=0)
        found = nke.fit(data, POLYNOMIAL, jumps=False, periodic=data.names, progress=False, diagnosis=False)
        assert found.form.degree == 2
        states = np.random.default_rng(0).uniform(-9, 9, (50, 2))
        np.testing.assert_allclose(found.model.drift(states), system.drift(states), atol=0.15)
        products = {term.variables for term in found.equation.drift["theta1"]}
        assert {("cos theta1", "sin theta2"), ("cos theta2", "sin theta1")} <= products

    def test_another_period(self):
        """Hours of a day, counted on."""
        rng = np.random.default_rng(0)
        hours = np.cumsum(rng.normal(1.0, 0.3, (32, 100, 1)), axis=1)
        data = nke.Trajectories(hours, 1.0, names=["hour"])
        found = nke.fit(data, POLYNOMIAL, jumps=False, periodic={"hour": 24.0}, progress=False, diagnosis=False)
        np.testing.assert_allclose(found.model.drift([[1.0], [25.0]]), 1.0, atol=0.05)
        assert found.equation.periods == {"hour": 24.0}
        assert (found.model.sample([1000.0], [0.0, 50.0], paths=5)[:, 1] > 1030).all()

    @pytest.mark.validation  # half a minute of compilation
    def test_networks_of_noise_and_jumps_see_it_too(self):
        data = PhaseOscillators(dimension=1).simulate(16, seed=0)
        sizes = {"width": 4, "depth": 1, "schedule": Schedule(steps=20)}
        method = Likelihood(networks=True, polish=False, noise="relative", **sizes)
        found = nke.fit(data, method, jumps=True, periodic=data.names, progress=False, diagnosis=False).model
        x = np.array([[0.3], [2.0], [-1.0]])
        for law in (found.drift, found.diffusion, found.jump_rate):
            np.testing.assert_allclose(law(x + 2 * np.pi), law(x), rtol=1e-3, atol=1e-5)

    def test_methods_that_do_not_know_angles(self):
        data = PhaseOscillators(dimension=1).simulate(4, seed=0)
        with pytest.raises(InputError, match=r"knows of angles.*got MomentMatching"):
            nke.fit(data, nke.MomentMatching(), periodic=["theta"], diagnosis=False)


class TestGrowthOfAPrice:
    """One path of ten years whose logarithm grew by just so much a year; a volatility of 0.2 is an error of 0.063."""

    METHOD = nke.Likelihood(networks=False)

    @staticmethod
    def drift(growth: float, unit: float, method: nke.Likelihood) -> tuple[nke.fitting.Term, ...]:
        noise = 0.2 / np.sqrt(252) * np.random.default_rng(0).normal(size=2520)
        path = np.append(0.0, np.cumsum(growth / 252 + noise - noise.mean()))
        data = nke.Trajectories(unit * np.exp(path), 1 / 252, names=["p"])
        result = nke.fit(data, method, positive=["p"], jumps=False, seed=0, progress=False, diagnosis=False)
        assert result.equation is not None
        return result.equation.drift["log p"]

    def test_is_a_constant_in_any_unit(self):
        """Not in proportion to the logarithm, whose zero is where the unit is."""
        first, second = (self.drift(0.28, unit, self.METHOD) for unit in (1.0, 1000.0))
        assert [term.variables for term in first] == [term.variables for term in second] == [()]
        assert first[0].coefficient == pytest.approx(second[0].coefficient, rel=1e-3)
        assert first[0].coefficient == pytest.approx(0.28, abs=2 * first[0].error)  # a tenth of the steps is held out

    def test_is_not_zero_where_some_growth_predicts_better(self):
        """About two standard errors: less than another parameter must gain, more than chance makes on average."""
        [term] = self.drift(0.14, 1.0, self.METHOD)
        assert np.sqrt(2) < term.coefficient / term.error < np.sqrt(np.log(2520))

    def test_is_zero_where_it_is_within_its_error(self):
        assert self.drift(0.0, 1.0, self.METHOD) == ()
