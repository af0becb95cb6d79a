"""Right models are not accused, wrong ones are, and the cause is named."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

import nke
import recorded_failures as failures
from nke.operators import Advection, Diffusion, Generator


def topics(model, data) -> set[str]:
    return {finding.topic for finding in nke.diagnose(model, data).problems}


@pytest.fixture(scope="module")
def found():
    return nke.diagnose(failures.model(), failures.right())


class TestRightModel:
    def test_nothing_speaks_against_it(self, found):
        assert found.passed
        assert not found.severe
        assert found.verdict == "nothing speaks against it"
        assert found.lines() == []

    def test_accused_once_in_a_hundred_times(self):
        """Five data sets: one accusation has a chance of 5 %, two of a tenth of a per cent."""
        accused = [not nke.diagnose(failures.model(), failures.recorded(failures.states(s))).passed for s in range(5)]
        assert sum(accused) <= 1

    def test_same_seed_same_findings(self, found):
        assert nke.diagnose(failures.model(), failures.right()) == found
        assert nke.diagnose(failures.model(), failures.right(), seed=1) != found

    def test_one_path(self):
        path = failures.recorded(failures.states(paths=1, rows=3000))
        assert nke.diagnose(failures.model(), path).passed

    def test_irregular_steps_and_gaps(self):
        x = failures.states().copy()
        x[np.random.default_rng(0).random(x.shape[:2]) < 0.3] = np.nan
        x[:, 0] = failures.states()[:, 0]
        assert nke.diagnose(failures.model(), failures.recorded(x)).passed


@pytest.mark.parametrize(
    ("rate", "noise", "topic", "severe"),
    [
        (1.0, 2.0, "noise too large", True),
        (1.0, 0.5, "noise too small", True),
        (1.0, 1.2, "noise too large", False),
        (0.4, 1.0, "drift too weak", True),
        (2.5, 1.0, "drift too strong", True),
    ],
)
def test_wrong_coefficients(rate, noise, topic, severe):
    found = nke.diagnose(failures.model(rate, noise), failures.right())
    assert topic in {finding.topic for finding in found.problems}
    assert found.severe or not severe


class TestWrongRecordings:
    def test_measurement_noise(self):
        """A ruler whose noise is that of a step: its size is told, to a fifth of it."""
        x = failures.states()
        ruler = 0.6 * np.sqrt(failures.STEP)
        noisy = failures.recorded(x + ruler * np.random.default_rng(1).standard_normal(x.shape))
        with pytest.warns(UserWarning, match="the law is not to be trusted: measurement noise"):
            fitted = nke.fit(noisy, nke.Likelihood(networks=False), positive=[], progress=False)
        assert any("not to be trusted" in words for words in fitted.warnings)
        assert "diagnosis     not to be trusted: measurement noise" in fitted.summary()
        named = [f for f in fitted.diagnosis.problems if f.topic == "measurement noise" and " u " in f.meaning]
        assert len(named) == 1
        told = float(named[0].advice.split("about ")[1].split(":")[0])
        assert abs(told / ruler - 1) < 0.2

    def test_hidden_velocity(self):
        integrated = np.cumsum(failures.states(), axis=1) * failures.STEP
        assert "hidden velocity" in topics(failures.model(0.0, 0.4), failures.recorded(integrated))

    def test_increments(self):
        """Neither the drift nor the noise of a model matters: states that forget are no states."""
        increments = failures.recorded(np.diff(failures.states(), axis=1))
        found = nke.diagnose(failures.model(), increments)
        assert "no memory of the state" in {finding.topic for finding in found.problems}
        assert found.severe
        assert "cumsum" in str(found)

    def test_change_of_regime(self):
        changed = failures.recorded(failures.states(noise=lambda row: 1.0 if row < 50 else 1.5))
        assert "noise changes" in topics(failures.model(), changed)

    def test_times_in_another_unit(self):
        assert "step wrong" in topics(failures.model(), failures.recorded(failures.states(), 2 * failures.STEP))

    def test_noise_that_depends_on_the_state(self):
        still = Generator(
            Advection(lambda x: -x), Diffusion(lambda x: jnp.asarray(failures.FACTOR) * (1 + 0.8 * jnp.tanh(3 * x[0])))
        )
        wrong = replace(failures.model(), generator=still)
        assert "noise depends on the state" in topics(wrong, failures.right())


class TestLongRun:
    def test_a_law_that_lets_go(self):
        """Right within the data and free beyond 1.2: simulated paths leave the range."""
        free = Advection(lambda x: jnp.where(jnp.abs(x) < 1.2, -x, 3 * x))
        escaping = replace(failures.model(), generator=Generator(free, failures.model().generator.diffusion))
        found = topics(escaping, failures.right())
        assert {"leaves the range", "paths diverge"} & found

    def test_lost_paths_are_severe(self):
        wild = replace(
            failures.model(),
            generator=Generator(Advection(lambda x: -x + 20 * x**3), failures.model().generator.diffusion),
        )
        found = nke.diagnose(wild, failures.right())
        assert found.severe
        assert "paths diverge" in {finding.topic for finding in found.problems}

    def test_states_of_any_size_are_severe(self):
        """In a logarithm a path may go far without becoming infinite."""
        x = np.exp(failures.states(paths=30)[..., :1])
        explosive = Generator(
            Advection(lambda z: jnp.where(z > 1.0, 20.0, -z)), Diffusion(lambda z: jnp.full((1, 1), 0.6)), None
        )
        log = nke.Coordinates([0.0], [1.0], 1.0, [nke.transforms.Log()])
        law = replace(failures.model(), generator=explosive, coordinates=log, names=("u",), units=("",))
        found = nke.diagnose(law, nke.Trajectories(x, failures.STEP, names=["u"]))
        assert found.severe
        assert "paths diverge" in {finding.topic for finding in found.problems}


class TestWords:
    def test_severe_ones_come_first_and_the_rest_is_counted(self):
        found = nke.diagnose(failures.model(3.0, 3.0), failures.right())
        assert found.verdict.startswith("not to be trusted: ")
        severe = [finding.severe for finding in found.problems]
        assert severe == sorted(severe, reverse=True)
        assert len(found.lines(most=2)) == 2

    def test_plain_values_and_back(self, found):
        assert nke.Diagnosis.from_dict(found.to_dict()) == found


def test_a_constant_column_is_left_out():
    both = failures.states(paths=20).copy()
    both[..., 1] = 1.0
    slow = replace(
        failures.model(),
        generator=Generator(
            Advection(lambda x: -x * jnp.array([1.0, 0.0])), Diffusion(lambda x: jnp.diag(jnp.array([0.6, 1e-6])))
        ),
    )
    assert nke.diagnose(slow, failures.recorded(both)).passed


def test_another_number_of_coordinates_is_refused():
    with pytest.raises(nke.errors.InputError, match=r"2 coordinates \(u, v\), but got 1"):
        nke.diagnose(failures.model(), nke.Trajectories([0.0, 0.1, 0.2], 0.1))


def test_little_data():
    """Three transitions cannot speak against anything but the impossible."""
    few = failures.recorded(failures.states(paths=1, rows=4))
    assert nke.diagnose(failures.model(), few).passed
