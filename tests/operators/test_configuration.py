"""Every part that can be stored comes back from its configuration with the same structure."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from nke.errors import InputError, InputTypeError
from nke.operators import (
    Advection,
    ConstantFactor,
    Cubature,
    DiagonalFactor,
    Diffusion,
    DriftNetwork,
    Euler,
    EulerMaruyamaRule,
    FiniteTimeJump,
    Fixed,
    ForwardPacket,
    FullFactor,
    GaussHermite,
    Generator,
    JumpNetwork,
    KinematicConstraint,
    LieTrotter,
    MixtureDensityNetwork,
    PoissonJump,
    RelativeFactor,
    ScalarFactor,
    Simplex,
    Strang,
)
from nke.operators.jump import JUMPS
from nke.operators.networks.diffusion_factors import FACTORS
from nke.operators.networks.drift import DRIFTS
from nke.operators.quadrature import QUADRATURES
from nke.operators.splitting import SPLITTINGS
from nke.operators.transition_rule import RULES

KEY = jax.random.key(1)
SCALE, START = jnp.array([1.0, 2.0]), 0.5 * jnp.eye(2)
RELATIVE = {"origin": jnp.zeros(2), "size": jnp.ones(2)}
CONSTRAINT = KinematicConstraint((0,), (1,), (0,), 3, Fixed(jnp.ones(1)), Fixed(jnp.zeros(1)))


def through_json(registry, part, *context):
    """The part built from its configuration, which went through JSON text."""
    return registry.build(json.loads(json.dumps(registry.describe(part))), *context)


def same_structure(a, b):
    """Same classes, options, and shapes and types of all arrays."""
    shapes = [jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), eqx.filter(part, eqx.is_array)) for part in (a, b)]
    static = [eqx.partition(part, eqx.is_array)[1] for part in (a, b)]
    return shapes[0] == shapes[1] and eqx.tree_equal(*static)


@pytest.mark.parametrize(
    ("registry", "part"),
    [
        (DRIFTS, DriftNetwork(SCALE, 4, 2, degree=2, key=KEY)),
        (DRIFTS, DriftNetwork(SCALE, 4, 0, degree=3, key=KEY)),
        (FACTORS, FullFactor(START, 4, 1, key=KEY)),
        (FACTORS, DiagonalFactor(START, 4, 1, key=KEY)),
        (FACTORS, ScalarFactor(START, 4, 1, key=KEY)),
        (FACTORS, ConstantFactor(START, key=KEY)),
        (FACTORS, RelativeFactor(START, 4, 1, **RELATIVE, key=KEY)),
        (FACTORS, RelativeFactor(START, 4, 0, **RELATIVE, noisy=(1, 0), key=KEY)),
        (JUMPS, FiniteTimeJump(MixtureDensityNetwork(SCALE, 0.1, 2, 4, 1, key=KEY), 0.1 + 0.2)),
        (JUMPS, PoissonJump(JumpNetwork(SCALE, START, 1.0, 2, 4, 1, key=KEY), order=3)),
        (JUMPS, PoissonJump(JumpNetwork(SCALE, START, 1.0, 1, 4, 0, True, key=KEY))),
    ],
    ids=lambda part: type(part).__name__,
)
def test_networks(registry, part):
    assert same_structure(through_json(registry, part, 2, 2), part)


@pytest.mark.parametrize(
    ("registry", "part"),
    [
        *((SPLITTINGS, part) for part in (Strang(), LieTrotter(), Euler())),
        *((QUADRATURES, part) for part in (Simplex(), Cubature(), GaussHermite(7))),
        *((RULES, part) for part in (EulerMaruyamaRule(), ForwardPacket())),
        (RULES, ForwardPacket(Cubature(), 2, (0.1 + 0.2, 0.0))),
    ],
    ids=lambda part: type(part).__name__,
)
def test_rules(registry, part):
    assert through_json(registry, part) == part


@pytest.mark.parametrize("constraint", [None, CONSTRAINT], ids=["plain", "constrained"])
def test_generators(constraint):
    sizes = {"inputs": 3, "key": KEY}
    r = 3 if constraint is None else 2
    generator = Generator.of_free(
        Advection(DriftNetwork(jnp.ones(r), 4, 1, **sizes), flow_steps=2),
        Diffusion(FullFactor(jnp.eye(r), 4, 1, **sizes)),
        PoissonJump(JumpNetwork(jnp.ones(r), jnp.eye(r), 1.0, 2, 4, 1, **sizes)),
        constraint,
    )
    again = Generator.from_configuration(json.loads(json.dumps(generator.configuration())), 3)
    assert same_structure(again, generator)


def test_kinds_are_told_apart():
    for registry in (DRIFTS, FACTORS, JUMPS, QUADRATURES, SPLITTINGS, RULES):
        with pytest.raises(InputError, match=f"expected a {registry.role} of kind .* but got 'os.system'"):
            registry.build({"kind": "os.system"})
    with pytest.raises(InputError, match="expected a drift"):
        DRIFTS.build({"kind": Strang.kind})


def test_other_classes_are_refused():
    class OwnDrift(DriftNetwork):
        """Inherits a kind that would come back as another class."""

    for drift in (OwnDrift(SCALE, 4, 1, key=KEY), lambda x: -x):
        with pytest.raises(InputTypeError, match="can be saved; a drift of type"):
            DRIFTS.describe(drift)
