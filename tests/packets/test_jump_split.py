"""The jump split against slow, literal transcriptions of the paper, and the excess kurtosis that tells jumps."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from nke.packets import GAUSSIAN_CONSISTENCY, build_packets, excess_kurtosis, jump_flags, jump_flags_by_time
from nke.systems import DoubleWell
from packet_lists import packets_of


def median(values):
    """By its definition: the middle value, or the mean of the two middle ones."""
    ordered = sorted(values)
    n = len(ordered)
    return ordered[n // 2] if n % 2 else (ordered[n // 2 - 1] + ordered[n // 2]) / 2


def chi(sizes, sensitivity):
    """χ as printed: 1{Δx − med Δx > κ_sens κ_Gaussian med|Δx − med Δx|}, one particle at a time."""
    kappa_gaussian = 1 / ndtri(0.75)
    flags = []
    for size in sizes:
        centre = median(sizes)
        deviation = median([abs(other - median(sizes)) for other in sizes])
        flags.append(size - centre > sensitivity * kappa_gaussian * deviation)
    return flags


# Quarters are exact in binary, so that ties are ties in any order of the arithmetic.
tied = st.integers(0, 12).map(lambda k: k / 4)
heavy = st.floats(-6, 6).map(lambda e: 10.0**e)
sizes = st.lists(tied, min_size=1, max_size=24) | st.lists(heavy, min_size=1, max_size=24)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(sizes, st.sampled_from([0.5, 2.0, 3.0, 5.0]))
def test_flags_follow_the_printed_formula(sizes, sensitivity):
    assert jump_flags(np.array(sizes), sensitivity).tolist() == chi(sizes, sensitivity)


@pytest.mark.parametrize("count", [50, 51])
def test_flags_of_heavy_tails(count):
    sizes = np.abs(np.random.default_rng(0).standard_cauchy(count))
    flags = jump_flags(sizes, 3.0)
    assert flags.tolist() == chi(sizes.tolist(), 3.0)
    assert 0 < flags.sum() < count / 2


@pytest.mark.parametrize("count", [1, 2, 7])
def test_equal_sizes_have_no_jumps(count):
    assert not jump_flags(np.full(count, 0.3), 3.0).any()


def test_any_excess_is_flagged_where_most_sizes_are_equal():
    """A median absolute deviation of zero leaves 1{Δ > med Δ}: strictly larger, never smaller."""
    assert jump_flags(np.array([1.0, 1.0, 1.0, 1.0, 0.5, 1.5]), 3.0).tolist() == [False] * 5 + [True]


def test_gaussian_consistency():
    """κ_Gaussian makes the MAD of a normal law its standard deviation: Φ(1/κ) = 3/4."""
    assert 0.5 * math.erfc(-1 / GAUSSIAN_CONSISTENCY / math.sqrt(2)) == pytest.approx(0.75, abs=1e-15)
    assert pytest.approx(1.4826, abs=5e-5) == GAUSSIAN_CONSISTENCY


def test_sensitivity_counts_standard_deviations():
    """For sizes that are themselves normal, κ_sens = 2 flags the upper tail Φ(−2) = 2.275 %."""
    count = 40_000
    flags = jump_flags(np.random.default_rng(1).standard_normal(count), 2.0)
    tail = 0.5 * math.erfc(2 / math.sqrt(2))
    # The threshold is estimated: sd of median 1.25/√n and of the MAD 1.17/√n, times density φ(2) and κ.
    threshold_error = math.exp(-2) / math.sqrt(2 * math.pi) * math.hypot(1.25, 2 * 1.17) / math.sqrt(count)
    standard_error = math.hypot(math.sqrt(tail * (1 - tail) / count), threshold_error)
    assert abs(flags.mean() - tail) < 4 * standard_error


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(1, 3), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_peers_are_of_the_same_time_step(d, count, seed):
    rng = np.random.default_rng(seed)
    displacement = rng.standard_normal((count, d)) * 10.0 ** rng.integers(-2, 3, (count, 1))
    group = rng.integers(0, 4, count)
    flags = jump_flags_by_time(displacement, group, 3.0)
    for step in range(4):
        own = [i for i in range(count) if group[i] == step]
        norms = [float(np.sqrt(sum(displacement[i] ** 2))) for i in own]
        close = any(abs(a - b) < 1e-12 for a, b in itertools.combinations(norms, 2))
        if not close:  # a tie broken by rounding of the norm is not a difference
            assert [bool(flags[i]) for i in own] == chi(norms, 3.0)


def test_a_loud_time_step_does_not_hide_a_quiet_ones_jump():
    rng = np.random.default_rng(2)
    quiet, loud = 0.01 * rng.standard_normal((100, 2)), 10 * rng.standard_normal((100, 2))
    quiet[7] = [0.5, 0.0]
    displacement, group = np.concatenate([quiet, loud]), np.repeat([0, 1], 100)
    shuffle = rng.permutation(200)
    apart = np.empty(200, bool)
    apart[shuffle] = jump_flags_by_time(displacement[shuffle], group[shuffle], 3.0)
    pooled = jump_flags_by_time(displacement, np.zeros(200, int), 3.0)
    assert apart[7]
    assert not pooled[7]


# Excess kurtosis of locally standardised increments


def standard_error_of_kurtosis(packets, count):
    """The kurtosis of n normal numbers has variance 24/n around 3.

    Packets overlap: n is the number of particles, reduced by the unevenness of how often each is held.
    """
    held = np.zeros(count)
    for packet in packets_of(packets):
        held[packet] += 1
    return math.sqrt(24 / (held.sum() ** 2 / (held**2).sum())) / 3


def noise_that_varies_slowly(x, step, rng):
    """Drift −x³ and a full noise matrix that grows over the states: sd ∝ 1 + tanh(x₁)/2."""
    d = x.shape[1]
    g = 0.3 * (1 + 0.5 * np.tanh(x[:, :1, None])) * (np.eye(d) + 0.4 * np.tril(np.ones((d, d)), -1))
    kicks = np.einsum("tij,tj->ti", g, rng.standard_normal(x.shape))
    return -(x**3) * step + np.sqrt(step) * kicks


class TestExcessKurtosis:
    @pytest.mark.parametrize("neighbours", [8, 32])
    @pytest.mark.parametrize("d", [1, 2])
    def test_zero_for_gaussian_increments(self, d, neighbours):
        """The value in a packet of κ, 3 (κ − 1)/(κ + 1), is exact: a small κ shows no bias either."""
        rng = np.random.default_rng(10)
        x = rng.uniform(-1, 1, (20_000, d))
        displacement = noise_that_varies_slowly(x, 0.01, rng)
        packets = build_packets(x, None, neighbours, rng)
        # Noise of relative variance 1 ± v over a packet has relative excess kurtosis Var(v). Over a packet
        # of width w the log-variance changes by at most w·max 2·0.5 sech²/(1 + tanh/2) < 1.2 w, uniformly.
        width = 2 * (neighbours / len(x)) ** (1 / d)
        mixing = (1.2 * width) ** 2 / 12
        excess = excess_kurtosis(displacement, packets)
        assert excess.shape == (d,)
        assert (np.abs(excess) < 4 * standard_error_of_kurtosis(packets, len(x)) + mixing).all()

    def test_equals_a_loop_over_packets(self):
        rng = np.random.default_rng(13)
        x, displacement = rng.standard_normal((300, 2)), rng.standard_t(3, (300, 2))
        packets = build_packets(x, None, 8, rng)
        for i, value in enumerate(excess_kurtosis(displacement, packets)):
            ratios = []
            for packet in packets_of(packets):
                moved = [displacement[p, i] for p in packet]
                mean = sum(moved) / 8
                variance = sum((m - mean) ** 2 for m in moved) / 8
                ratios.append(sum((m - mean) ** 4 for m in moved) / 8 / variance**2)
            # E Σ(m − m̄)⁴/κ / σ̂⁴ = 3 (κ − 1)/(κ + 1) for normal increments (Fisher).
            assert value == pytest.approx(np.mean(ratios) / (3 * 7 / 9) - 1, rel=1e-12)

    def test_units_do_not_matter(self):
        rng = np.random.default_rng(11)
        x = rng.uniform(-1, 1, (2000, 2))
        displacement = noise_that_varies_slowly(x, 0.01, rng)
        packets = build_packets(x, None, 16, rng)
        value = excess_kurtosis(displacement, packets)
        np.testing.assert_allclose(excess_kurtosis(displacement * [1e-12, 1e12], packets), value, rtol=1e-9)

    def test_large_for_jumps_in_their_own_coordinate(self):
        """Normal increments of sd 1, in x₁ with probability p = 0.01 of sd 10.

        The kurtosis of the mixture over the Gaussian one is (1 − p + 10⁴p)/(1 − p + 10²p)² − 1 = 24.5, an
        upper bound: packets standardise the scale away. A packet of κ = 32 holds a jump with probability
        0.28; one of size 10 beside 31 of size 1 has Σm⁴/κ/σ̂⁴ ≈ (10⁴/32)/(131/32)² = 18.6, six times the
        Gaussian value, so an average of 0.28·5 is typical; half of it is asked for.
        """
        rng = np.random.default_rng(12)
        x, displacement = rng.uniform(-1, 1, (8000, 2)), rng.standard_normal((8000, 2))
        displacement[:, 0] *= np.where(rng.random(8000) < 0.01, 10, 1)
        packets = build_packets(x, None, 32, rng)
        excess = excess_kurtosis(displacement, packets)
        assert 0.7 < excess[0] < 24.5
        assert abs(excess[1]) < 4 * standard_error_of_kurtosis(packets, 8000)

    def test_a_coordinate_that_does_not_move(self):
        x, rng = np.random.default_rng(14).standard_normal((300, 2)), np.random.default_rng(15)
        displacement = np.stack([rng.standard_normal(300), np.zeros(300)], axis=1)
        excess = excess_kurtosis(displacement, build_packets(x, None, 16, rng))
        assert np.isfinite(excess).all()
        assert excess[1] <= 0

    def test_double_well_jumps_stand_out(self):
        """The same system with and without its jumps, which go along x₁ only."""
        for rate in (0.0, 1.0):
            part = DoubleWell(rate=rate).simulate(256, 0, times=np.arange(21) * 0.05).transitions()
            packets = build_packets(part.x, None, 32, np.random.default_rng(0))
            excess = excess_kurtosis(part.displacement, packets)
            error = standard_error_of_kurtosis(packets, len(part))
            assert (np.abs(excess[1:]) < 4 * error).all()
            assert abs(excess[0]) < 4 * error if rate == 0 else excess[0] > 10 * error
