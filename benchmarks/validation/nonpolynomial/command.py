"""The command: which systems, seeds and method, and where the rows are kept."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.validation.nonpolynomial.experiments import EXPERIMENTS
from benchmarks.validation.nonpolynomial.measurement import METHODS, PARAMETRIC, REFERENCES, TRUTH, Sizes, measure
from benchmarks.validation.nonpolynomial.rows import Row, append, key, one_line, read, tables
from benchmarks.validation.tables import console

QUICK = Sizes(rollouts=64, replicates=2, draws=1)


def main(arguments: Sequence[str] = ()) -> None:
    """Measures the systems one seed after the other and prints the tables."""
    options = _parser().parse_args(arguments)
    if options.table is not None:
        _show(read(options.table))
        return
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    rows = read(options.output) if options.output else []
    done = {key(row) for row in rows if "error" not in row}
    methods = [REFERENCES, options.method] if options.method != REFERENCES else [REFERENCES]
    for seed in seeds:
        for name in options.systems:
            experiment = EXPERIMENTS[name].quick() if options.quick else EXPERIMENTS[name]
            experiment = replace(experiment, trajectories=options.trajectories or experiment.trajectories)
            for method in methods:
                if (name, seed, method, experiment.trajectories) in done:
                    continue
                row = measure(experiment, seed, method, QUICK if options.quick else Sizes())
                rows.append(row)
                if options.output:
                    append(options.output, row)
                console.print(one_line(row), markup=False, highlight=False, soft_wrap=True)
    _show(rows)


def _show(rows: Sequence[Row]) -> None:
    console.print(tables(rows), markup=False, highlight=False, soft_wrap=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.validation nonpolynomial",
        description="Fits systems whose laws are no polynomials and compares with the truth, with what the same data "
        "allows, and with the same-start floor. Rows already in the output are not measured again.",
    )
    parser.add_argument("--systems", type=_systems, default=list(EXPERIMENTS), help=f"some of {', '.join(EXPERIMENTS)}")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds")
    parser.add_argument("--first-seed", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="small data: does everything run?")
    parser.add_argument("--trajectories", type=int, help="of the training set, instead of each system's own number")
    parser.add_argument("--method", choices=[*METHODS, TRUTH, PARAMETRIC, REFERENCES], default="automatic")
    parser.add_argument("--output", type=Path, help="file to which each row is appended as a JSON line")
    parser.add_argument("--table", type=Path, metavar="FILE", help="print the tables of a file and measure nothing")
    return parser


def _systems(listed: str) -> list[str]:
    names = [name.strip() for name in listed.split(",") if name.strip()]
    if unknown := set(names) - set(EXPERIMENTS):
        raise argparse.ArgumentTypeError(f"expected some of {', '.join(EXPERIMENTS)}, but got {', '.join(unknown)}")
    return names
