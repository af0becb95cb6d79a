"""What a step of the likelihood costs, and how soon the default fit is as good as Euler–Maruyama ever gets."""

import time

import equinox as eqx
import jax
import numpy as np

from benchmarks.validation.tables import console
from nke.data import Coordinates
from nke.evaluation import recovery
from nke.fitting import CHUNK, FitRun, Likelihood
from nke.model import Model
from nke.operators import EulerMaruyamaRule, Generator
from nke.systems import DoubleWell, Lorenz, System

TRAIN, TEST, SEED = 1024, 256, 5
RULES = {
    "Euler–Maruyama": Likelihood(networks=True, noise="plain", rule=EulerMaruyamaRule()),
    "likelihood": Likelihood(networks=True, noise="plain"),
}


def main() -> None:
    """Both methods one after the other in one process; compilation is not counted."""
    for name, system in {"Lorenz (0.3)": Lorenz(noise=0.3), "double well": DoubleWell()}.items():
        runs = {rule: _run(system, method) for rule, method in RULES.items()}
        steps = {rule: 1e3 * np.median(np.diff(seconds)) / CHUNK for rule, (seconds, _) in runs.items()}
        for rule, (seconds, errors) in runs.items():
            console.print(
                f"{name}, {rule}: {steps[rule]:.1f} ms a step, drift error {errors.min():.4f} at best, "
                f"{errors[-1]:.4f} at the end, {seconds[-1]:.1f} s without compilation"
            )
        (whole, saturated), (seconds, errors) = runs["Euler–Maruyama"], runs["likelihood"]
        reached = seconds[errors <= saturated.min()]
        when = f"after {reached[0]:.1f} s" if len(reached) else "never"
        console.print(
            f"{name}: a step costs {steps['likelihood'] / steps['Euler–Maruyama']:.2f} times Euler–Maruyama's "
            f"(target ≤ 3); the best drift error of Euler–Maruyama is reached {when} (its whole fit {whole[-1]:.1f} s)"
        )


def _run(system: System, method: Likelihood) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of training and drift error after every chunk; the first chunk, which compiles, counts as the second."""
    data, test = system.simulate(TRAIN, SEED), system.simulate(TEST, SEED + 1000)
    coordinates = Coordinates.zscore(data)
    clock, seconds, errors = [0.0], [], []

    def watch(generator: Generator) -> None:
        jax.block_until_ready(eqx.filter(generator, eqx.is_array))
        seconds.append(time.perf_counter() - clock[0])
        model = Model(generator, coordinates, system.interval, data.names, data.units)
        errors.append(recovery(model, system, test.states).drift.relative)
        clock[0] = time.perf_counter()

    clock[0] = time.perf_counter()
    method.fit(data, coordinates, system.has_jumps, FitRun(SEED, watch=watch))
    seconds[0] = seconds[1]
    return np.cumsum(seconds), np.array(errors)
