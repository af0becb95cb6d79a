"""What a whole automatic fit costs beside the Euler–Maruyama baseline's: 10⁵ transitions in two dimensions."""

import argparse
import json
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.validation.tables import console
from nke.baselines import EulerMaruyama
from nke.bench.measure import nothing_compiled_before
from nke.data import Trajectories
from nke.evaluation import recovery
from nke.fitting import fit
from nke.systems import PredatorPrey

TRANSITIONS = 100_000
SEED = 200


def main(arguments: Sequence[str] = ()) -> None:
    """Fits both to the same data in one process, one after the other, compilation included in both."""
    parser = argparse.ArgumentParser("python -m benchmarks.validation budget", description=__doc__)
    parser.add_argument("--transitions", type=int, default=TRANSITIONS)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args(arguments)
    system = PredatorPrey()
    data = system.simulate(-(-options.transitions // (len(system.times) - 1)), options.seed)
    test = system.simulate(256, options.seed + 1000)
    spent = {}
    for name, method in {"automatic": None, "Euler–Maruyama": EulerMaruyama()}.items():
        spent[name], result = _timed(data, method, options.seed)
        error = recovery(result.model, system, test.states).drift.relative
        timings = json.dumps({part: round(seconds, 2) for part, seconds in result.timings.items()})
        console.print(
            f"{name}: {spent[name]:.1f} s of processor, drift error {error:.3f}, {result.form}; {timings}",
            highlight=False,
            soft_wrap=True,
        )
    ratio = spent["automatic"] / spent["Euler–Maruyama"]
    console.print(f"{len(data.transitions())} transitions: {ratio:.2f} times Euler–Maruyama's processor seconds (≤ 3)")


def _timed(data: Trajectories, method: Any, seed: int) -> tuple[float, Any]:
    with nothing_compiled_before():
        began = time.process_time()
        result = fit(data, method, seed=seed, progress=False)
        return time.process_time() - began, result
