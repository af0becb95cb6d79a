"""``make verify``: what the documentation claims, measured, beside what it is to be.

``python -m nke.bench.verify slopes cost`` runs some of the parts.
"""

import sys

from nke.bench import biases, cost, decisions, forms, gas, gas_learned, jump_rule, long_path, reading, recovery
from nke.bench.tables import console

PARTS = {
    "double-well": lambda: recovery.compare("double well"),
    "lorenz": lambda: recovery.compare("Lorenz (0.3)"),
    "black-scholes": lambda: recovery.compare("Black–Scholes"),
    "half": recovery.half_of_the_rows,
    "jump-rule": jump_rule.main,
    "heavy-noise": decisions.heavy_noise,
    "state-dependent-jumps": decisions.state_dependent_jumps,
    "simple-drifts": decisions.simple_drifts,
    "sizes": decisions.sizes,
    "slopes": biases.slopes,
    "thresholds": biases.thresholds,
    "forms": forms.main,
    "cost": cost.main,
    "path": long_path.main,
    "gas": gas.main,
    "gas-learned": gas_learned.main,
    "reading": reading.main,
}


def main(chosen: list[str]) -> int:
    if unknown := set(chosen) - set(PARTS):
        console.print(f"expected some of {', '.join(PARTS)}, but got {', '.join(sorted(unknown))}")
        return 2
    for part in chosen or PARTS:
        console.rule(part)
        PARTS[part]()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
