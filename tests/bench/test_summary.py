"""From records to tables."""

import csv

import numpy as np
import pytest

from bench_cells import record
from nke.bench import render
from nke.bench.protocol import cases
from nke.bench.summary import Cell, TieRule, tables


def test_tables_have_means_ratios_and_the_best_in_bold():
    """Two seeds made by hand: floors 1 and 2; every figure of the table is worked out here."""
    values = {
        "oracle": [1.0, 2.0],
        "parametric": [1.1, 2.2],
        "euler-maruyama": [3.0, 4.1],
        "likelihood": [0.8, 1.6],
        "moment-matching": [0.9, 1.5],
        "sde-gan": [1.0, None],
    }
    records = {}
    for method, pair in values.items():
        for seed, value in enumerate(pair):
            status = "done" if value is not None else "diverged"
            seconds = 20.0 if method == "euler-maruyama" else 30.0
            records["double-well", method, seed] = record(method, seed, value, seconds, status)
    made = {table.name: table for table in tables(cases()["double-well"], records)}
    paper = made["paper"].rows
    assert paper["oracle"][0] == Cell(1.5, 0.1, seeds=2)
    assert paper["euler-maruyama"][0].mean == pytest.approx(3.55)
    assert paper["euler-maruyama"][0].spread == pytest.approx(1.1 / np.sqrt(2))
    assert paper["euler-maruyama"][0].ratio == pytest.approx((3 + 2.05) / 2)
    assert paper["euler-maruyama"][0].ratio_error == pytest.approx(0.95 / 2)
    assert paper["sde-gan"][0].text == "--"
    assert [m for m, row in paper.items() if row[0].best] == ["moment-matching", "likelihood"]  # tied: 0.1 and −0.1
    assert paper["likelihood"][0].suspicious
    assert any("SDE-GAN: diverged with seed 1" in note for note in made["paper"].notes)
    assert made["excess"].rows["euler-maruyama"][0].ratio == pytest.approx(2.05 / 0.15)
    assert made["paired"].rows["euler-maruyama"][0].mean == pytest.approx((2.2 + 2.5) / 2)
    assert made["times"].rows["likelihood"][4].mean == pytest.approx(1.5)
    assert made["times"].rows["likelihood"][7].text == "1.34"  # the paper's
    words = render.markdown(list(made.values()))
    assert "| Oracle (floor) | 1.50 ± 0.10 |" in words
    assert "**1.20 ± 0.57 (0.800 ± 0.000‡)**" in words
    assert r"$\mathbf{1.20 \pm 0.57" in render.latex(list(made.values()))
    rows = list(csv.DictReader(render.comma_separated(list(made.values())).splitlines()))
    [cell] = [r for r in rows if (r["table"], r["method"], r["column"]) == ("paper", "parametric", "Wasserstein ↓")]
    assert float(cell["ratio"]) == pytest.approx(1.1)


class TestTieRule:
    """Figures of five seeds beside those of the best method."""

    best = np.array([1.0, 1.1, 0.9, 1.2, 0.8])

    def test_within_the_error_and_the_factor(self):
        assert TieRule().holds(np.add(self.best, [0.3, -0.2, 0.1, 0.2, -0.1]), self.best)

    def test_a_certain_difference_is_no_tie_however_small(self):
        assert not TieRule().holds(np.add(self.best, [0.01, 0.011, 0.009, 0.01, 0.01]), self.best)

    @pytest.mark.parametrize("outlier", [7.0, 1e24])
    def test_one_seed_that_diverged_is_no_tie_however_wide_the_spread(self, outlier):
        """Mean and standard error of the difference are equal here, so that the error alone would allow it."""
        values = np.add(self.best, [0.0, 0.0, 0.0, 0.0, outlier])
        assert TieRule(factor=np.inf).holds(values, self.best)
        assert not TieRule().holds(values, self.best)

    def test_log_densities_are_compared_as_densities(self):
        """Nats may be negative: −5 is within a factor of −3, but its density is not."""
        assert TieRule().holds(np.array([-5.0, -3.1]), np.array([-4.9, -3.2]), logarithms=True)
        assert TieRule(factor=np.inf).holds(np.array([-9.0, -3.0]), np.array([-3.0, -3.0]), logarithms=True)
        assert not TieRule().holds(np.array([-9.0, -3.0]), np.array([-3.0, -3.0]), logarithms=True)

    def test_one_seed_tells_nothing(self):
        assert not TieRule().holds(np.array([1.0]), np.array([1.0]))
