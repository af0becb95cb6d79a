"""The SDE-GAN: what it learns, where it starts, when it stops and how it goes on."""

import sys

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import nke
from fitted_baselines import GAN, STEPS, Motionless
from known_paths import falling
from nke.baselines import SDEGAN, sde_gan
from nke.data import Coordinates
from nke.evaluation import ensemble_metrics
from nke.model import Model


def test_a_trained_generator_is_closer_than_an_untrained_one(fitted):
    data, test, model = falling(), falling(512, seed=5), fitted("sde_gan").model
    untrained = Model(
        Motionless(**GAN).generator(data, model.coordinates, seed=0),
        *(model.coordinates, model.step, model.names, model.units, model.rule, model.splitting),
    )
    before, after = (
        ensemble_metrics(m.sample(test.initial, test.times[0], seed=1), test.states).wasserstein
        for m in (untrained, model)
    )
    assert after < 0.5 * before


def test_a_fit_stops_when_its_seconds_are_over():
    """After one chunk at least; the same updates as in the fixture, so nothing compiles anew."""
    capped = Motionless(steps=10**6, seconds=1e-3, **GAN)
    result = nke.fit(falling(), capped, seed=0, diagnosis=False)
    assert result.history["sde-gan"].steps.tolist() == [sde_gan.CHUNK]
    assert result.decision("stopped").answer == "when the time was over"
    assert result.decision("stopped").evidence == {"steps": 200, "steps at most": 1000000, "seconds at most": 0.001}
    assert np.isfinite(result.model.sample(np.array([2.0]), [0, 1], paths=4)).all()


def test_all_steps(fitted):
    assert fitted("sde_gan").decision("stopped").answer == "after all steps"
    assert fitted("sde_gan").history["sde-gan"].steps[-1] == STEPS


def test_an_interrupted_fit_goes_on_to_the_same_model(fitted, tmp_path):
    method, chunks = Motionless(steps=STEPS, **GAN), []

    def interrupting(name, total):
        def advance(amount):
            chunks.append(amount)
            if len(chunks) == 3:
                raise KeyboardInterrupt

        return advance

    with pytest.raises(KeyboardInterrupt):
        nke.fit(falling(), method, seed=0, checkpoint=tmp_path, progress=interrupting, diagnosis=False)
    resumed = nke.fit(falling(), method, seed=0, checkpoint=tmp_path, progress=False, diagnosis=False).model
    assert eqx.tree_equal(fitted("sde_gan").model.generator, resumed.generator)


def test_starts_at_the_least_squares_drift():
    data = falling()
    coordinates, seen = Coordinates.zscore(data), data.transitions()
    generator = SDEGAN(**GAN).generator(data, coordinates, seed=0)
    model = Model(generator, coordinates, 0.1, data.names, data.units)
    slope, constant = np.polyfit(seen.x[:, 0], seen.displacement[:, 0] / seen.step, 1)
    x = np.array([[0.5], [1.0], [2.0]])
    np.testing.assert_allclose(model.drift(x), constant + slope * x, rtol=1e-3)  # a ridge of 1e-4


def test_rates_fall():
    method = SDEGAN(steps=100, generator_rate=0.1, critic_rate=0.3)
    rates = method.rates(0, 100)
    np.testing.assert_allclose(rates[0], [0.1, 0.3], rtol=1e-3)
    np.testing.assert_allclose(rates[-1], [0.001, 0.003], rtol=0.05)


def test_an_update_that_is_not_finite_is_left_out():
    player, part = SDEGAN().optimiser(), jnp.array([1.0, 2.0])
    memory = player.init(part)
    change, memory = player.update(jnp.array([jnp.nan, 1.0]), memory, part)
    np.testing.assert_array_equal(change, 0)
    change, _ = player.update(jnp.array([1.0, 1.0]), memory, part)
    assert (np.asarray(change) > 0).all()


def test_without_diffrax(monkeypatch):
    monkeypatch.setitem(sys.modules, "diffrax", None)
    monkeypatch.delitem(sys.modules, "nke.baselines.adversaries", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'nke\[baselines\]'"):
        nke.fit(falling(4), SDEGAN(), diagnosis=False)
