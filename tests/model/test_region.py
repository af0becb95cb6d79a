"""How well data covers a state: nearly all of the data, nothing far from it, nothing in its holes."""

from dataclasses import replace

import numpy as np
import pytest

import nke
from nke.model.region import DataRegion


def sphere(rng, count, dimension, radius):
    directions = rng.normal(size=(count, dimension))
    return radius * directions / np.linalg.norm(directions, axis=1, keepdims=True)


@pytest.mark.parametrize("count", [300, 5000])
@pytest.mark.parametrize("dimension", [1, 2, 3, 5, 10])
def test_states_of_the_same_law_are_seen_and_far_ones_are_not(dimension, count):
    rng = np.random.default_rng(dimension)
    region = DataRegion.of(rng.normal(size=(count, dimension)))
    held_out = region.covers(rng.normal(size=(2000, dimension)))
    assert (held_out > 0.5).mean() > 0.95
    assert (held_out == 1).mean() > 0.9
    assert region.covers(sphere(rng, 200, dimension, 8 * np.sqrt(max(1, dimension / 3)))).max() < 0.1


@pytest.mark.parametrize("count", [300, 5000])
def test_the_hole_of_a_ring_is_not_seen(count):
    rng = np.random.default_rng(0)

    def ring(n):
        return sphere(rng, n, 2, 1.0) * (1 + 0.1 * rng.normal(size=(n, 1)))

    region = DataRegion.of(ring(count))
    assert (region.covers(ring(2000)) > 0.5).mean() > 0.95
    assert region.covers(sphere(rng, 200, 2, 0.3)).max() < 0.1
    assert region.covers(np.zeros((1, 2)))[0] < 0.1


def test_it_falls_with_the_distance():
    region = DataRegion.of(np.random.default_rng(0).normal(size=(5000, 1)))
    covered = region.covers(np.linspace(0, 10, 200)[:, None])
    beyond = covered[np.argmax(covered < 1) :]
    assert (np.diff(beyond[beyond > 1e-6]) < 0).all()
    assert beyond[-1] < 1e-6


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_few_states(rows):
    x = np.arange(rows, dtype=float)[:, None]
    region = DataRegion.of(x)
    assert np.isfinite(region.covers(x)).all()
    assert region.covers(np.array([[1000.0]]))[0] < 0.1


def test_rounded_states():
    """Many copies of the same state do not make a ball of no size."""
    rng = np.random.default_rng(0)
    region = DataRegion.of(np.round(rng.normal(size=(5000, 1)), 1))
    assert (region.covers(np.round(rng.normal(size=(1000, 1)), 1)) > 0.5).mean() > 0.95
    assert region.covers(np.array([[8.0]]))[0] < 0.1


class TestModel:
    def test_a_fit_knows_its_data(self, small_fit):
        model = small_fit["model"]
        held_out = nke.systems.OrnsteinUhlenbeck().simulate(16, seed=5).observed_states
        assert (model.seen(held_out) > 0.5).mean() > 0.95
        assert model.seen([100.0]).shape == ()
        assert model.seen([[100.0], [-100.0]]).max() < 1e-6

    def test_copies_keep_it(self, small_fit):
        assert replace(small_fit["model"], step=0.1).seen([[0.0]]) == 1
