"""The three losses against literal loops over packets and members, and the bias of the first one."""

import math
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nke.fitting import packet_losses
from nke.fitting.packet_losses import (
    AdvectionLoss,
    DiffusionLoss,
    JumpLoss,
    Particles,
    covariance_growth,
    evaluate,
    jump_clouds,
    linear_drift,
    mean_growth,
    mean_square_velocity,
)
from nke.operators import Advection, Diffusion, Fixed, MixtureDensityNetwork
from nke.operators.networks import JumpMixture
from nke.packets import build_packets
from nke.systems import OrnsteinUhlenbeck

RESOLUTION = np.full(2, 1e-6)  # of packets that are far wider
BLOCKS, PARTICLES, PACKETS, NEIGHBOURS, TRANSITIONS, D = 3, 11, 5, 4, 40, 2


class Swirl(eqx.Module):
    """A drift of one state with everything a loss needs; ``sin`` marks its evaluations in a jaxpr."""

    scale: Fixed

    def __call__(self, x):
        return jnp.sin(x) + jnp.stack([x[1], -x[0] * x[1]])


def swirl(x):
    """The same drift for the loops in NumPy."""
    return np.sin(x) + np.array([x[1], -x[0] * x[1]])


class Spread(eqx.Module):
    """A noise factor of one state; ``cos`` marks its evaluations."""

    def __call__(self, x):
        return jnp.array([[1.0, 0.0], [0.3, 0.5]]) * (1 + 0.3 * jnp.cos(x[0]))


def spread(x):
    g = np.array([[1.0, 0.0], [0.3, 0.5]]) * (1 + 0.3 * np.cos(x[0]))
    return g @ g.T


def make_particles(seed=0):
    """Random transitions of unequal steps in random packets, in double precision."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((TRANSITIONS, D))
    displacement = 0.3 * rng.standard_normal((TRANSITIONS, D))
    members = [
        [rng.permutation(PARTICLES)[:NEIGHBOURS] for _ in range(PACKETS)] for _ in range(BLOCKS)
    ]  # without repeats within a packet
    return Particles(
        x=jnp.asarray(x),
        y=jnp.asarray(x + displacement),
        free=jnp.asarray(x),
        displacement=jnp.asarray(displacement),
        step=jnp.asarray(rng.uniform(0.05, 0.2, TRANSITIONS)),
        jumped=jnp.asarray(rng.random(TRANSITIONS) < 0.3),
        particles=jnp.asarray(np.stack([rng.permutation(TRANSITIONS)[:PARTICLES] for _ in range(BLOCKS)])),
        members=jnp.asarray(np.array(members)),
    )


def packets_in(data, block):
    """The transitions in each packet of a block."""
    particles, members = np.asarray(data.particles[block]), np.asarray(data.members[block])
    return [[int(particles[m]) for m in packet] for packet in members]


def mean_over(packet, value):
    """⟨φ, G̃⟩ with the 1/κ that the print lacks."""
    return sum(value(m) for m in packet) / len(packet)


def covariance_over(packet, left, right):
    """Covariance with κ − 1."""
    mean_left, mean_right = mean_over(packet, left), mean_over(packet, right)
    terms = [np.outer(left(m) - mean_left, right(m) - mean_right) for m in packet]
    return sum(terms) / (len(packet) - 1)


@pytest.fixture
def data(double_precision):
    return make_particles()


@pytest.fixture
def drift(double_precision):
    return Swirl(Fixed(jnp.array([1.5, 0.7])))


class TestAdvectionLoss:
    def test_equals_the_printed_sum(self, data, drift):
        x, y, s = (np.asarray(v) for v in (data.x, data.y, data.step))
        for block in range(BLOCKS):
            total = 0.0
            for packet in packets_in(data, block):
                mean_now, mean_next = mean_over(packet, lambda m: x[m]), mean_over(packet, lambda m: y[m])
                trapezoid = mean_over(packet, lambda m: s[m] / 2 * (swirl(x[m]) + swirl(y[m])))
                residual = mean_next - mean_now - trapezoid
                unit = np.array([1.5, 0.7]) * s.mean()  # the loss is stated in units of the drift
                total += float(np.sum((residual / unit) ** 2))
            loss = eqx.filter_jit(AdvectionLoss())(drift, data, jnp.asarray(block))
            assert float(loss) == pytest.approx(total / PACKETS, rel=1e-12)

    def test_zero_for_the_exact_trapezoid(self, data, drift):
        """Displacements that are the trapezoid of the drift itself leave no residual."""
        f = jax.vmap(drift)
        displacement = data.step[:, None] / 2 * (f(data.x) + f(data.y))
        loss = AdvectionLoss()(drift, data._replace(displacement=displacement), jnp.asarray(0))
        assert float(loss) == pytest.approx(0.0, abs=1e-28)

    def test_mean_square_velocity_of_packets(self, data):
        moved, s = np.asarray(data.displacement), np.asarray(data.step)
        packets = [packet for block in range(BLOCKS) for packet in packets_in(data, block)]
        squares = [mean_over(packet, lambda m: moved[m] / s[m]) ** 2 for packet in packets]
        np.testing.assert_allclose(mean_square_velocity(data), np.mean(squares, axis=0), rtol=1e-12)


def growth_by_loop(data, packet):
    """Σ̃_{n+1} − Σ̃_n − s/2 (Δ^A Σ̃_n + Δ^A Σ̃_{n+1}) with Δ^A Σ̃ = ⟨(x−μ) fᵀ + f (x−μ)ᵀ, G̃⟩.

    Steps differ here, so each member carries its own s inside the product.
    """
    x, y, s = (np.asarray(v) for v in (data.x, data.y, data.step))
    change = covariance_over(packet, lambda m: y[m], lambda m: y[m])
    change = change - covariance_over(packet, lambda m: x[m], lambda m: x[m])
    for position in (x, y):
        mean = mean_over(packet, lambda m, position=position: position[m])
        for m in packet:
            product = np.outer(position[m] - mean, s[m] * swirl(position[m]))
            change = change - (product + product.T) / 2 / (len(packet) - 1)
    return change


class TestDiffusionLoss:
    def test_covariance_growth_equals_the_printed_difference(self, data, drift):
        growth = covariance_growth(Advection(drift), data).growth
        assert growth.shape == (BLOCKS, PACKETS, D, D)
        for block in range(BLOCKS):
            expected = [growth_by_loop(data, packet) for packet in packets_in(data, block)]
            np.testing.assert_allclose(growth[block], expected, rtol=1e-10, atol=1e-14)

    def test_equals_the_printed_sum(self, data, drift):
        unit = np.array([[0.2, 0.3], [0.3, 0.4]])
        growth = covariance_growth(Advection(drift), data)
        x, y, s = (np.asarray(v) for v in (data.x, data.y, data.step))
        for block in range(BLOCKS):
            total = 0.0
            for packet in packets_in(data, block):
                diffused = mean_over(packet, lambda m: s[m] / 2 * (spread(x[m]) + spread(y[m])))
                total += float(np.sum(((growth_by_loop(data, packet) - diffused) / unit) ** 2))
            loss = DiffusionLoss(jnp.asarray(unit))(Spread(), growth, jnp.asarray(block))
            assert float(loss) == pytest.approx(total / PACKETS, rel=1e-10)

    def test_mean_spread(self, data, drift):
        growth = covariance_growth(Advection(drift), data)
        packets = [packet for block in range(BLOCKS) for packet in packets_in(data, block)]
        expected = np.mean([growth_by_loop(data, packet) for packet in packets], axis=0) / np.mean(data.step)
        np.testing.assert_allclose(mean_growth(growth), (expected + expected.T) / 2, rtol=1e-10)

    def test_unbiased_for_small_packets(self, double_precision):
        """Pure noise of a = 0.5 I from points far apart: with κ − 1 even κ = 2 gives a, not a/2.

        Cov(y) − Cov(x) of one packet has the variance of its noise-noise part, 2 (s a)²/(κ − 1), plus the
        cross part 4 s a Cov(x)/(κ − 1); over n independent packets the mean has 1/n of it.
        """
        rng = np.random.default_rng(0)
        n, a, s = 20_000, 0.5, 0.1
        x = rng.standard_normal((2 * n, 1))
        moved = math.sqrt(s * a) * rng.standard_normal((2 * n, 1))
        data = Particles(
            *map(jnp.asarray, (x, x + moved, x, moved, np.full(2 * n, s), np.zeros(2 * n, bool))),
            particles=jnp.arange(2 * n)[None],
            members=jnp.arange(2 * n).reshape(1, n, 2),
        )
        growth = covariance_growth(Advection(jnp.zeros_like), data)
        error = math.sqrt((2 * (s * a) ** 2 + 4 * s * a) / n) / s
        assert error < a / 8  # so that a/2 would be refused
        assert abs(float(mean_growth(growth)[0, 0]) - a) < 4 * error


def silu(u):
    return u / (1 + np.exp(-u))


def silu_slope(u):
    sigma = 1 / (1 + np.exp(-u))
    return sigma * (1 + u * (1 - sigma))


def normal_density(r, covariance):
    power = -0.5 * r @ np.linalg.inv(covariance) @ r
    return math.exp(power) / math.sqrt((2 * math.pi) ** len(r) * np.linalg.det(covariance))


@pytest.fixture
def jump_network(double_precision):
    """One hidden layer with random numbers everywhere, also in the head that starts at zero."""
    network = MixtureDensityNetwork(jnp.array([1.2, 0.6]), 0.2, 2, 6, 1, key=jax.random.key(1))
    rng = np.random.default_rng(1)
    arrays, rest = eqx.partition(network, eqx.is_inexact_array)
    arrays = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf) + 0.4 * rng.standard_normal(leaf.shape)), arrays)
    return eqx.tree_at(lambda n: n.scale, eqx.combine(arrays, rest), Fixed(jnp.array([1.2, 0.6])))


def jump_law_by_hand(network, x):
    """α₀, then (α_k, β_k, Γ_k) of H^s(x) from the network's numbers, and its Jacobian."""
    first, last = network.mlp.layers
    hidden = np.asarray(first.weight) @ x + np.asarray(first.bias)
    raw = np.asarray(last.weight) @ silu(hidden) + np.asarray(last.bias)
    jacobian = np.asarray(last.weight) @ (silu_slope(hidden)[:, None] * np.asarray(first.weight))
    scale = np.array([1.2, 0.6])
    jump = 1 / (1 + math.exp(-raw[0]))
    rows = raw[1:].reshape(2, 6)
    shares = np.exp(rows[:, 0]) / np.exp(rows[:, 0]).sum()
    components = []
    for share, row in zip(shares, rows, strict=True):
        softplus = [math.log1p(math.exp(row[i] + math.log(math.e - 1))) + 1e-3 for i in (3, 5)]
        factor = scale[:, None] * np.array([[softplus[0], 0.0], [row[4], softplus[1]]])
        components.append((jump * share, scale * row[1:3], factor @ factor.T))
    return 1 - jump, components, jacobian


class TestJumpLoss:
    def test_equals_the_printed_likelihood(self, data, drift, jump_network):
        """−log [H^s(·|μ̃) * G̃](y), where the jumped components carry s·f and s·a of the step besides."""
        x, moved, jumped = (np.asarray(v) for v in (data.x, data.displacement, data.jumped))
        step = float(np.mean(data.step))
        clouds = jump_clouds(Advection(drift), Diffusion(Spread()), data, RESOLUTION)
        smoothness, weights = 0.05, weights_by_loop(data)
        compiled = eqx.filter_jit(JumpLoss(smoothness))
        for block in range(BLOCKS):
            score, roughness = 0.0, 0.0
            for packet in packets_in(data, block):
                centre = mean_over(packet, lambda m: x[m])
                width = covariance_over(packet, lambda m: x[m], lambda m: x[m]) * (1 - 1 / NEIGHBOURS)
                stay, components, jacobian = jump_law_by_hand(jump_network, centre)
                for m in packet:
                    # δ₀ leaves a particle where it is; only the Gaussians are convolved with the packet's.
                    density = stay
                    if jumped[m]:
                        y = x[m] + moved[m]
                        density = 0.0
                        for weight, mean, covariance in components:
                            landing = centre + mean + step * swirl(centre)
                            spread_out = covariance + width + step * spread(centre)
                            density += weight * normal_density(y - landing, spread_out)
                    score -= weights[m] * math.log(density)
                roughness += float(np.sum(jacobian**2))
            expected = score / (PACKETS * NEIGHBOURS) + smoothness * roughness / PACKETS
            loss = compiled(jump_network, clouds, jnp.asarray(block))
            assert float(loss) == pytest.approx(expected, rel=1e-6)  # room for a regularised width

    def test_packets_without_width(self, data, drift, jump_network):
        """Trajectories released at one place make packets of equal states, of zero covariance: no NaN from them."""
        nowhere = jnp.zeros_like(data.x)
        released = data._replace(x=nowhere, free=nowhere, y=data.displacement)
        clouds = jump_clouds(Advection(drift), Diffusion(Spread()), released, RESOLUTION)
        compiled = eqx.filter_jit(eqx.filter_value_and_grad(JumpLoss(0.05)))
        value, gradient = compiled(jump_network, clouds, jnp.asarray(0))
        assert np.isfinite(float(value))
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))

    def test_packets_without_width_in_one_coordinate(self, data, drift, jump_network):
        """A coordinate that is constant in the data makes every packet flat."""
        flat = jnp.array([1.0, 0.0])
        released = data._replace(
            x=flat * data.x, free=flat * data.x, y=flat * data.y, displacement=flat * data.displacement
        )
        clouds = jump_clouds(Advection(drift), Diffusion(Spread()), released, RESOLUTION)
        assert np.isfinite(float(eqx.filter_jit(JumpLoss(0.05))(jump_network, clouds, jnp.asarray(0))))

    def test_flat_packets_do_not_bias(self, double_precision):
        """Half of the packets have no width along (1, 1), and all jump by N(b, g): the slope of the loss is zero there.

        Zero within four standard errors over 40 blocks. Packets of variance 0.09 and 16,000 jumps know the entries of g
        to √(2/16000)·0.45 = 0.005, so that g too large by 0.05 is ten of them away.
        """
        rng = np.random.default_rng(0)
        blocks, packets, neighbours = 40, 20, 20
        x = 0.3 * rng.standard_normal((blocks * packets, neighbours, 2))
        x[::2] = x[::2, :, :1] * np.array([1.0, -1.0])
        b, g = np.array([0.5, -0.2]), np.array([[0.36, 0.18], [0.18, 0.25]])
        x = x.reshape(-1, 2)
        moved = b + rng.standard_normal(x.shape) @ np.linalg.cholesky(g).T
        n = len(x)
        arrays = (x, x + moved, x, moved, np.full(n, 0.1), np.ones(n, bool))
        members = np.broadcast_to(
            np.arange(packets * neighbours).reshape(packets, neighbours), (blocks, packets, neighbours)
        )
        data = Particles(*map(jnp.asarray, arrays), jnp.arange(n).reshape(blocks, -1), jnp.asarray(members))
        still = Advection(jnp.zeros_like), Diffusion(lambda x: jnp.zeros((2, 2)))
        clouds = jump_clouds(*still, data, np.full(2, 1e-3))

        def loss(mean, covariance, block):
            law = JumpMixture(jnp.log(0.5), jnp.ones(1), mean[None], covariance[None])
            return JumpLoss(0.0)(ConstantLaw(law), clouds, block)

        @jax.jit
        def deviations(covariance):
            slopes = jax.lax.map(lambda block: jax.grad(loss, (0, 1))(b, covariance, block), jnp.arange(blocks))
            flat = jnp.concatenate([slopes[0], slopes[1].reshape(blocks, -1)], axis=1)
            return flat.mean(axis=0) / flat.std(axis=0) * jnp.sqrt(blocks)

        assert float(jnp.abs(deviations(jnp.asarray(g))).max()) < 4
        assert float(jnp.abs(deviations(jnp.asarray(g) + 0.05 * jnp.eye(2))).max()) > 8

    def test_clouds(self, data, drift):
        """Centres, units and targets x' of what jumped, by loops; each transition counts once."""
        x, moved, jumped = (np.asarray(v) for v in (data.x, data.displacement, data.jumped))
        clouds = jump_clouds(Advection(drift), Diffusion(Spread()), data, RESOLUTION)
        weights = weights_by_loop(data)
        assert 0 < jumped.sum() < TRANSITIONS
        for block in range(BLOCKS):
            for c, packet in enumerate(packets_in(data, block)):
                centre = mean_over(packet, lambda m: x[m])
                width = covariance_over(packet, lambda m: x[m], lambda m: x[m]) * (1 - 1 / NEIGHBOURS)
                unit = np.asarray(clouds.unit[block, c])
                np.testing.assert_allclose(clouds.centre[block, c], centre, rtol=1e-12)
                np.testing.assert_allclose(unit @ width @ unit.T, np.eye(D), atol=1e-8)
                assert float(clouds.log_unit[block, c]) == pytest.approx(np.linalg.slogdet(unit)[1])
                there = [m for m in packet if jumped[m]]
                target = np.reshape([unit @ (x[m] + moved[m] - centre) for m in there], (-1, D))
                np.testing.assert_allclose(clouds.target[block, c, : len(there)], target, rtol=1e-8)
                weight = np.zeros(clouds.weight.shape[-1])
                weight[: len(there)] = [weights[m] / NEIGHBOURS for m in there]
                np.testing.assert_allclose(clouds.weight[block, c], weight, rtol=1e-12)
                stay = sum(weights[m] for m in packet if not jumped[m]) / NEIGHBOURS
                assert float(clouds.stay[block, c]) == pytest.approx(stay, rel=1e-12)

    def test_each_transition_counts_once(self, data, drift):
        """The weights of all members together give the data's own share of jumps, over the transitions held."""
        clouds = jump_clouds(Advection(drift), Diffusion(Spread()), data, RESOLUTION)
        held = sorted({m for block in range(BLOCKS) for packet in packets_in(data, block) for m in packet})
        assert len(held) < TRANSITIONS
        share = float(clouds.weight.sum() / (clouds.weight.sum() + clouds.stay.sum()))
        assert share == pytest.approx(np.asarray(data.jumped)[held].mean(), rel=1e-12)


class ConstantLaw(eqx.Module):
    """The same jump law everywhere, for ``JumpLoss`` without its roughness."""

    law: JumpMixture

    def __call__(self, x):
        return self.law

    def mlp(self, x):
        return 0.0 * x


def weights_by_loop(data):
    """One over the number of packets that hold a transition, one in the mean over all members."""
    members = [m for block in range(BLOCKS) for packet in packets_in(data, block) for m in packet]
    held = {m: members.count(m) for m in members}
    return {m: len(members) / len(held) / count for m, count in held.items()}


class TestLinearDrift:
    def test_without_noise_it_is_exact(self, data):
        """Displacements by the trapezoid of a straight line give the line."""
        constant, slopes = np.array([0.3, -0.1]), np.array([[-1.0, 0.5], [0.2, -2.0]])
        ends = (np.asarray(data.x) + np.asarray(data.y)) / 2
        moved = np.asarray(data.step)[:, None] * (constant + ends @ slopes.T)
        found = linear_drift(data._replace(displacement=jnp.asarray(moved)))
        np.testing.assert_allclose(found[0], constant, atol=1e-10)
        np.testing.assert_allclose(found[1], slopes, atol=1e-10)

    def test_a_column_that_never_changes_gets_no_slope(self, data):
        flat = data._replace(x=data.x.at[:, 1].set(0.0), y=data.y.at[:, 1].set(0.0))
        constant, slopes = linear_drift(flat)
        assert np.isfinite(constant).all()
        np.testing.assert_allclose(slopes[:, 1], 0.0, atol=1e-12)


# Cost: how often a network is evaluated


def evaluations(function, primitive, *arguments):
    """Numbers that a primitive computes in one call of the function, loops unrolled."""
    return sum(_count(jax.make_jaxpr(function)(*arguments).jaxpr, primitive))


def _count(jaxpr, primitive, repeats=1):
    for equation in jaxpr.eqns:
        if equation.primitive.name == primitive:
            yield repeats * math.prod(equation.outvars[0].aval.shape)
        inside = repeats * (equation.params["length"] if equation.primitive.name == "scan" else 1)
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                yield from _count(inner, primitive, inside)


class TestEachParticleOnce:
    """A packet-by-packet loss would evaluate a network 2·PACKETS·NEIGHBOURS = 40 times for a block of 11."""

    def test_counting_by_a_primitive(self):
        assert evaluations(lambda x: jax.lax.map(jnp.sin, x), "sin", jnp.zeros((3, 2))) == 6
        assert evaluations(jax.jit(lambda x: jnp.sin(x) + jnp.sin(2 * x)), "sin", jnp.zeros(5)) == 10

    def test_drift_at_both_ends_of_each_transition(self, data, drift):
        count = evaluations(lambda block: AdvectionLoss()(drift, data, block), "sin", jnp.asarray(0))
        assert count == 2 * PARTICLES * D

    def test_drift_for_the_growth(self, data, drift, monkeypatch):
        """Both ends of every transition, however many packets hold it."""
        seen = []
        monkeypatch.setattr(packet_losses, "evaluate", lambda of, x: seen.append(len(x)) or evaluate(of, x))
        covariance_growth(Advection(drift), data)
        assert sum(seen) == 2 * TRANSITIONS

    def test_noise_at_both_ends_of_each_transition(self, data, drift):
        growth = covariance_growth(Advection(drift), data)
        loss = DiffusionLoss(jnp.ones((D, D)))
        count = evaluations(lambda block: loss(Spread(), growth, block), "cos", jnp.asarray(0))
        assert count == 2 * PARTICLES

    def test_jump_law_once_per_packet(self, data, drift, jump_network):
        clouds = jump_clouds(Advection(drift), Diffusion(Spread()), data, RESOLUTION)
        function = lambda block: JumpLoss(0.0)(jump_network, clouds, block)  # noqa: E731
        # The hidden layer's sigmoid: once in the law and once, with its derivative, in the roughness.
        assert evaluations(function, "logistic", jnp.asarray(0)) == 2 * PACKETS * 6


# The bias of the trapezoidal least squares (DESIGN 4.2), without a network


class Line(eqx.Module):
    slope: jax.Array
    scale: Fixed = Fixed(jnp.ones(1))

    def __call__(self, x):
        return self.slope * x


RATE, STEP, TRAJECTORIES, STEPS = 1.0, 0.02, 2048, 300


@pytest.fixture(scope="module")
def stationary():
    return OrnsteinUhlenbeck(rate=RATE).simulate(TRAJECTORIES, 0, times=STEP * np.arange(STEPS + 1)).transitions()


@pytest.fixture(scope="module")
def packed(stationary):
    """Per-time packets of so many neighbours, each built once."""
    return cache(lambda neighbours: packets_of(stationary, neighbours))


def packets_of(part, neighbours):
    """Per-time packets; for κ = 1 each particle is its own packet."""
    if neighbours == 1:
        particles, members = np.arange(len(part))[None], np.arange(len(part))[None, :, None]
    else:
        group = np.rint(part.time / STEP).astype(int)
        particles, members = build_packets(part.x, group, neighbours, np.random.default_rng(0))
    moved = part.displacement
    arrays = (part.x, part.y, part.x, moved, part.step, np.zeros(len(part), bool), particles, members)
    return Particles(*map(jnp.asarray, arrays))


def fitted_slope(data):
    """argmin over b of L_adv for f(x) = b x: the loss is a parabola, so three values give its minimum."""

    @jax.jit
    def loss(slope):
        drift, blocks = Line(slope), jnp.arange(len(data.particles))
        return jnp.mean(jax.lax.map(lambda block: AdvectionLoss()(drift, data, block), blocks))

    left, middle, right = (float(loss(jnp.asarray(b))) for b in (-1.0, 0.0, 1.0))
    return (left - right) / (2 * (left - 2 * middle + right))


def packet_means(part, data):
    particles, members = np.asarray(data.particles), np.asarray(data.members)
    inside = np.stack([p[m] for p, m in zip(particles, members, strict=True)])
    return part.x[inside, 0].mean(axis=-1).ravel(), part.y[inside, 0].mean(axis=-1).ravel()


def standard_error(data):
    """√(2θ/T) for the slope of a stationary process observed for a total time T.

    T counts each transition by how often packets hold it, (Σm)²/Σm², since overlaps repeat noise.
    """
    particles, members = np.asarray(data.particles), np.asarray(data.members)
    held = np.zeros(len(data.x))
    for p, m in zip(particles, members, strict=True):
        np.add.at(held, p[m].ravel(), 1)
    return math.sqrt(2 * RATE / (STEP * held.sum() ** 2 / (held**2).sum()))


def expected_slope(neighbours, spread_of_means):
    """Where the loss has its minimum in expectation, given Var μ̃_n.

    With q = e^{−θs} and Q = V (1 − q²): μ̃_{n+1} = q μ̃_n + noise of variance Q/κ. The minimum is
    (2/s) E[(μ̃' − μ̃)(μ̃' + μ̃)]/E[(μ̃' + μ̃)²]; its numerator E μ̃'² − E μ̃² has + Q/κ, which pushes to zero.
    """
    q, stationary_variance = math.exp(-RATE * STEP), 1 / (2 * RATE)
    noise = stationary_variance * (1 - q**2) / neighbours
    numerator = (q**2 - 1) * spread_of_means + noise
    return 2 / STEP * numerator / ((1 + q) ** 2 * spread_of_means + noise)


def instrumented_slope(now, then):
    """Σ_c μ̃_n·residual = 0 instead of the gradient of the loss: nothing there correlates with the noise."""
    return np.sum(now * (then - now)) / (STEP / 2 * np.sum(now * (then + now)))


UNBIASED = -2 / STEP * math.tanh(RATE * STEP / 2)  # −0.99997: the trapezoidal rule's own error


class TestBiasOfTheTrapezoid:
    """Stationary Ornstein–Uhlenbeck, θ = 1, s = 0.02: the true slope is −1, the loss prefers another."""

    @pytest.mark.parametrize(("neighbours", "designed"), [(1, 0.01), (8, -0.88), (32, -0.945)])
    def test_the_loss_prefers_a_smaller_slope(self, double_precision, stationary, packed, neighbours, designed):
        """The minimum of the loss is where theory puts it and where DESIGN 4.2 found it, within four standard
        errors. Its distance from the instrumented slope of the same packets shares their noise, so it is known
        far better: it is the quadratic variation Σ Δμ̃², known to √(2/n) for n = T/(s κ) separate packets.
        """
        data = packed(neighbours)
        now, then = packet_means(stationary, data)
        slope, error = fitted_slope(data), standard_error(data)
        predicted = expected_slope(neighbours, now.var())
        assert error < 0.02
        assert abs(slope - predicted) < 4 * error
        assert abs(slope - designed) < 4 * error
        packets = 2 * RATE / error**2 / STEP / neighbours
        gap = slope - instrumented_slope(now, then)
        assert abs(gap / (predicted - UNBIASED) - 1) < 4 * math.sqrt(2 / packets) + 4 * error * STEP * neighbours
        assert gap > 0.5 / neighbours

    def test_without_packets_the_slope_is_nearly_zero(self, double_precision, packed):
        """κ = 1: Σ (y − x)(y + x) = Σ y² − x² telescopes to the two ends of each trajectory, so that the slope
        is 0 with a standard deviation of only (2/s)·√(2·2V²/M)/(4 V N), whatever the drift is.
        """
        deviation = 2 / STEP * 2 / math.sqrt(TRAJECTORIES) / (4 * STEPS)
        assert deviation < 0.005
        assert abs(fitted_slope(packed(1))) < 4 * deviation

    @pytest.mark.parametrize("neighbours", [1, 8, 32])
    def test_instruments_at_the_start_remove_it(self, double_precision, stationary, packed, neighbours):
        data = packed(neighbours)
        slope = instrumented_slope(*packet_means(stationary, data))
        assert abs(slope - UNBIASED) < 4 * standard_error(data)
