"""Time steps and packets against brute force."""

import math

import numpy as np
import pytest

from nke.packets import PACKETS_PER_PARTICLE, Packets, build_packets, group_by_time
from nke.packets.neighbours import PACKETS_PER_TIME_STEP, PARTICLES_PER_BLOCK
from packet_lists import packets_of


def transitions_at(times):
    """Starts and steps of the transitions of trajectories observed at ``times`` (M, N)."""
    times = np.asarray(times)
    return times[:, :-1].ravel(), np.diff(times, axis=1).ravel()


def same(group):
    """Which transitions share a time step: independent of how the groups are numbered."""
    return group[:, None] == group


class TestGroupByTime:
    def test_shared_times(self):
        time, step = transitions_at(np.tile(np.arange(5) * 0.1, (3, 1)))
        assert group_by_time(time, step).tolist() == [0, 1, 2, 3] * 3

    @pytest.mark.parametrize("offset", [0.0, -3.7, 1e6, 1.7e9])
    def test_rounding_of_large_times_is_not_a_difference(self, offset):
        """Times since 1970 are rounded to 2e-7; 1e-6 of a step of one second is coarser."""
        rng = np.random.default_rng(0)
        times = offset + np.arange(6.0) + rng.uniform(-1, 1, (4, 6)) * np.spacing(abs(offset))
        assert group_by_time(*transitions_at(times)).tolist() == [0, 1, 2, 3, 4] * 4

    def test_shifted_times_are_other_steps(self):
        times = np.arange(4.0) + np.array([[0.0], [0.5], [0.0]])
        group = group_by_time(*transitions_at(times))
        assert (same(group) == same(times[:, :-1].ravel())).all()

    def test_irregular_times(self):
        rng = np.random.default_rng(3)
        shared = np.cumsum(rng.exponential(size=8))
        own = np.cumsum(rng.exponential(size=8))
        group = group_by_time(*transitions_at([shared, shared, own]))
        assert (same(group) == same(np.concatenate([shared[:-1], shared[:-1], own[:-1]]))).all()

    def test_numbers_follow_time(self):
        time = np.array([3.0, 1.0, 2.0, 1.0])
        assert group_by_time(time, np.ones(4)).tolist() == [2, 0, 1, 0]


def assert_nearest(states, packet, candidates):
    """The packet is the nearest of the candidates to its own first member, found by brute force."""
    centre = states[packet[0]]
    brute = np.sort([math.dist(centre, states[c]) for c in candidates])[: len(packet)]
    own = np.sort([math.dist(centre, states[p]) for p in packet])
    assert own[0] == 0.0
    np.testing.assert_allclose(own, brute, rtol=1e-12, atol=1e-300)
    assert len(set(packet.tolist())) == len(packet)
    assert set(packet.tolist()) <= set(candidates)


class TestPerTimeStep:
    STATES = np.random.default_rng(4).standard_normal((150, 2))
    GROUP = np.random.default_rng(5).integers(0, 4, 150)

    @pytest.mark.parametrize("neighbours", [1, 2, 9])
    def test_neighbours_equal_brute_force(self, neighbours):
        packets = build_packets(self.STATES, self.GROUP, neighbours, np.random.default_rng(0))
        assert packets.members.shape == (4, PACKETS_PER_TIME_STEP, neighbours)
        for step, (particles, members) in enumerate(zip(*packets, strict=True)):
            peers = np.flatnonzero(step == self.GROUP).tolist()
            assert sorted(set(particles.tolist())) == peers
            assert members.max() < len(peers), "a packet refers to the padding"
            for packet in members:
                assert_nearest(self.STATES, particles[packet], peers)

    def test_no_packet_mixes_time_steps(self):
        """All time steps hold the same states, so that any neighbour of another one would be as near."""
        states = np.tile(self.STATES[:50], (3, 1))
        group = np.repeat([0, 1, 2], 50)
        packets = build_packets(states, group, 8, np.random.default_rng(0))
        for packet in packets_of(packets):
            assert len(set(group[packet])) == 1

    def test_small_time_steps_are_left_out(self):
        group = np.concatenate([np.zeros(6, int), np.ones(5, int), np.full(20, 2)])
        packets = build_packets(self.STATES[:31], group, 6, np.random.default_rng(0))
        held = [set(group[particles]) for particles in packets.particles]
        assert held == [{0}, {2}]

    def test_centres_are_drawn_without_replacement(self):
        states = np.random.default_rng(6).standard_normal((PACKETS_PER_TIME_STEP + 1, 1))
        packets = build_packets(states, np.zeros(len(states), int), 3, np.random.default_rng(0))
        assert len(set(packets.members[0, :, 0].tolist())) == PACKETS_PER_TIME_STEP

    def test_too_few_at_every_time(self):
        with pytest.raises(ValueError, match=r"at least 8 trajectories observed at the same time.*pool"):
            build_packets(self.STATES[:20], np.arange(20) // 7, 8, np.random.default_rng(0))


class TestPooled:
    @pytest.mark.parametrize(("count", "d", "neighbours"), [(400, 2, 16), (90, 3, 32), (300, 1, 4), (20, 1, 1)])
    def test_neighbours_equal_brute_force(self, count, d, neighbours):
        states = np.random.default_rng(7).standard_normal((count, d))
        packets = build_packets(states, None, neighbours, np.random.default_rng(0))
        for packet in packets_of(packets):
            assert_nearest(states, packet, range(count))

    def test_layout_of_blocks(self):
        count, neighbours = 3000, 16
        states = np.random.default_rng(8).standard_normal((count, 2))
        packets = build_packets(states, None, neighbours, np.random.default_rng(0))
        assert packets.members.shape[1:] == (PARTICLES_PER_BLOCK // neighbours, neighbours)
        assert packets.members.size == pytest.approx(PACKETS_PER_PARTICLE * count, rel=0.05)
        for particles, members in zip(*packets, strict=True):
            assert sorted(members.ravel().tolist()) == list(range(len(particles)))
        assert packets.particles.min() >= 0
        assert packets.particles.max() < count

    def test_packets_of_a_block_come_from_anywhere(self):
        """Their centres spread as the states do: a batch of neighbours would say nothing of the rest."""
        states = np.random.default_rng(8).standard_normal((3000, 2))
        packets = build_packets(states, None, 16, np.random.default_rng(0))
        for particles in packets.particles:
            centres = states[particles].reshape(-1, 16, 2).mean(axis=1)
            assert (centres.std(axis=0) > 0.5).all()

    @pytest.mark.parametrize("most", [1, 40, 10**6])
    def test_listed_in_parts(self, most, monkeypatch):
        monkeypatch.setattr("nke.packets.neighbours.LISTED", most)
        rng = np.random.default_rng(0)
        packets = Packets(rng.integers(0, 50, (7, 6)), rng.integers(0, 6, (7, 3, 4)))
        expected = [packets.particles[b][packets.members[b, c]].tolist() for b in range(7) for c in range(3)]
        assert np.concatenate(list(packets.listed())).tolist() == expected

    def test_duplicates_of_a_state(self):
        """Trajectories that start at one place: a packet of any of them has width zero."""
        states = np.concatenate([np.zeros((50, 2)), 1 + np.arange(40.0)[:, None] * np.ones(2)])
        packets = build_packets(states, None, 8, np.random.default_rng(0))
        for packet in packets_of(packets):
            assert len(set(packet.tolist())) == 8
            if (states[packet[0]] == 0).all():
                assert (states[packet] == 0).all()

    def test_same_generator_same_packets(self):
        states = np.random.default_rng(9).standard_normal((300, 2))
        first, second, other = (build_packets(states, None, 8, np.random.default_rng(s)) for s in (1, 1, 2))
        assert (first.members == second.members).all()
        assert (first.particles == second.particles).all()
        assert first.particles.shape != other.particles.shape or (first.particles != other.particles).any()

    def test_too_few(self):
        with pytest.raises(ValueError, match="at least 8 transitions to form a packet, but got 7"):
            build_packets(np.zeros((7, 1)), None, 8, np.random.default_rng(0))
