"""Networks that start at a polynomial law have its densities."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import nke
from nke.fitting.form import ModelForm
from nke.fitting.initial_networks import InitialModel
from nke.fitting.known_start import starting_from
from nke.fitting.newton import ParameterVector
from nke.fitting.rules import SelectionRules
from nke.operators import Generator, trainable
from quick_fits import QUICK, double_well, geometric_brownian_motion


def moved(generator: Generator) -> Generator:
    """The law with all that is learned moved a little."""
    vector = ParameterVector.of(generator, trainable(generator))
    return vector.at(vector.values + 0.05).generator


def pair(data: nke.Trajectories, noise: str, of: str, jumps: bool) -> tuple[Generator, Generator]:
    """A polynomial law, and networks that start there."""
    keys = iter(jax.random.split(jax.random.key(0), 8))
    initial = InitialModel(data.transitions(), nke.Coordinates.zscore(data), jumps, QUICK, 0, SelectionRules())
    form = replace(ModelForm(of), degree=2, networks=False)
    known = moved(initial.generator(form, lambda: next(keys)))
    begin = initial.generator(replace(form, noise=noise, networks=True), lambda: next(keys))
    return known, starting_from(begin, known)


@pytest.mark.parametrize(("noise", "of"), [("constant", "constant"), ("plain", "constant"), ("relative", "relative")])
def test_drift_and_noise_are_those_of_the_polynomial(noise, of):
    known, begin = pair(geometric_brownian_motion(), noise, of, jumps=False)
    drift: Any = begin.drift_network
    assert drift.body.mlp is not None
    for x in jnp.array([[-0.7], [0.2], [1.5]]):
        np.testing.assert_allclose(begin.drift_network(x), known.drift_network(x), rtol=1e-5)
        np.testing.assert_allclose(begin.diffusion.tensor(x), known.diffusion.tensor(x), rtol=3e-3)  # a floor of 1e-3


def test_jumps_are_those_of_the_polynomial():
    known, begin = pair(double_well(), "constant", "constant", jumps=True)
    x = jnp.array([0.4])
    for found, true in zip(jax.tree.leaves(begin.jump_network(x)), jax.tree.leaves(known.jump_network(x)), strict=True):
        np.testing.assert_allclose(found, true, rtol=1e-5)
    assert begin.jump_network.mlp.depth == QUICK.depth
