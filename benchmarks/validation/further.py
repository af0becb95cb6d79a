"""Laws of many kinds that no choice was made for: what a fit with nothing said makes of each."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.validation.laws import LAWS, POSITIVE
from benchmarks.validation.nonpolynomial.experiments import Experiment
from benchmarks.validation.nonpolynomial.families import Family
from benchmarks.validation.nonpolynomial.measurement import Sizes, measure
from benchmarks.validation.nonpolynomial.rows import append, one_line
from benchmarks.validation.tables import console

UNKNOWN = Family(lambda p, x: x, [])  # there is no reference for these laws


def main(arguments: Sequence[str] = ()) -> None:
    """Fits the laws with nothing said, and prints errors, roll-outs over the floor and warnings."""
    parser = argparse.ArgumentParser("python -m benchmarks.validation further", description=__doc__)
    parser.add_argument("--laws", default=",".join(LAWS))
    parser.add_argument("--first-seed", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--trajectories", type=int, help="of the training set, instead of each law's own number")
    parser.add_argument("--output", type=Path, help="file to which each row is appended as a JSON line")
    options = parser.parse_args(arguments)
    sizes = Sizes() if options.trajectories is None else Sizes(64, 2, 1)
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for name in options.laws.split(","):
            law = LAWS[name]()
            count = options.trajectories or law.trajectories
            experiment = Experiment(name, law, UNKNOWN, trajectories=count, times=tuple(law.times))
            row = measure(replace(experiment, positive=name in POSITIVE), seed, "automatic", sizes)
            if options.output:
                append(options.output, row)
            said = "; ".join(row.get("warnings", [])) or "no warning"
            borders = row.get("decisions", {}).get("borders", "")
            console.print(one_line(row), said, borders, markup=False, highlight=False, soft_wrap=True)
