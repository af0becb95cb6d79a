"""``python -m benchmarks.validation [name ...]``: measures what the documentation states (``make verify``: all)."""

import argparse
import sys
from collections.abc import Callable, Mapping

from benchmarks.validation import (
    biases,
    budget,
    cost,
    coverage,
    decisions,
    diagnosis,
    forecast,
    forms,
    further,
    gas,
    gas_learned,
    jump_rule,
    long_path,
    networks,
    nonpolynomial,
    random_laws,
    reading,
    recordings,
    recovery,
)
from benchmarks.validation.tables import console

PARTS: Mapping[str, tuple[Callable[[], None], str]] = {
    "double-well": (lambda: recovery.compare("double well"), "every method on the double well"),
    "lorenz": (lambda: recovery.compare("Lorenz (0.3)"), "every method on Lorenz with noise 0.3"),
    "black-scholes": (lambda: recovery.compare("Black–Scholes"), "every method on Black–Scholes"),
    "half": (recovery.half_of_the_rows, "double well with half of its rows removed"),
    "jump-rule": (jump_rule.main, "the decision whether there are jumps, on systems with and without them"),
    "heavy-noise": (decisions.heavy_noise, "Lorenz with noise 3"),
    "state-dependent-jumps": (decisions.state_dependent_jumps, "jumps of two kinds whose rate depends on the state"),
    "simple-drifts": (decisions.simple_drifts, "straight drifts beside noise or jumps that need networks"),
    "sizes": (decisions.sizes, "double well from 32 to 1024 trajectories"),
    "slopes": (biases.slopes, "the bias of trapezoidal least squares"),
    "thresholds": (biases.thresholds, "the share of the jumps that the MAD split finds"),
    "forms": (forms.main, "the forward packet beside the trapezoidal change of variables"),
    "cost": (cost.main, "what a step of the likelihood costs"),
    "path": (long_path.main, "one path of ten million rows"),
    "gas": (gas.main, "the rarefied gas against its physics, one simulator against another"),
    "gas-learned": (gas_learned.main, "the rarefied gas as it is learned"),
    "reading": (reading.main, "how long nke.read takes beside pandas"),
    "nonpolynomial": (nonpolynomial.main, "systems whose laws are no polynomials; has options, see its --help"),
    "further": (further.main, "laws of many kinds that no choice was made for; has options, see its --help"),
    "random": (random_laws.main, "laws drawn at random, each from its number; has options, see its --help"),
    "recordings": (recordings.main, "made-up recordings that are no clean data of a law of the state; has options"),
    "diagnosis": (diagnosis.main, "right models and made-up failures; has options, see its --help"),
    "coverage": (coverage.main, "how often intervals hold the truth; has options, see its --help"),
    "networks": (networks.main, "networks on the paper's systems; has options, see its --help"),
    "forecast": (forecast.main, "forecast densities against grids and simulation; has options, see its --help"),
    "budget": (budget.main, "what a fit costs beside Euler–Maruyama's; has options, see its --help"),
}
WITH_OPTIONS: Mapping[str, Callable[[list[str]], None]] = {
    "nonpolynomial": nonpolynomial.main,
    "further": further.main,
    "random": random_laws.main,
    "recordings": recordings.main,
    "diagnosis": diagnosis.main,
    "coverage": coverage.main,
    "networks": networks.main,
    "forecast": forecast.main,
    "budget": budget.main,
}


def main(arguments: list[str]) -> None:
    """Runs the parts that were named, or all of them; a part with options takes all that follows its name."""
    if arguments and arguments[0] in WITH_OPTIONS:
        WITH_OPTIONS[arguments[0]](arguments[1:])
        return
    width = max(map(len, PARTS))
    parser = argparse.ArgumentParser(
        "python -m benchmarks.validation",
        description="Measures what the documentation states and prints it beside what it is to be.",
        epilog="names:\n" + "\n".join(f"  {name:<{width}}  {words}" for name, (_, words) in PARTS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="name", help="what to measure (default: everything, some hours)")
    asked = parser.parse_args(arguments).names
    if unknown := set(asked) - set(PARTS):
        parser.error(f"expected some of {', '.join(PARTS)}, but got {', '.join(sorted(unknown))}")
    for name in asked or PARTS:
        console.rule(name)
        PARTS[name][0]()


if __name__ == "__main__":
    main(sys.argv[1:])
