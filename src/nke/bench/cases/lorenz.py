"""The paper's Lorenz oscillator with the noise that it prints, and with a tenth of it."""

from nke.bench.parametric import fit_lorenz
from nke.bench.protocol import Case, Printed
from nke.systems import Lorenz

PAPER = {
    "trajectory-flow-matching": Printed("1.8111 ± 0.0401", "0.7516 ± 0.0580", "0.3294 ± 0.0454", "39.1 ± 1.3"),
    "sde-gan": Printed("2.6020 ± 0.2698", "15.7637 ± 0.0787", "0.511 ± 0.0049", "2584 ± 65"),
    "euler-maruyama": Printed("1.8027 ± 0.0113", "0.9494 ± 0.0451", "0.3065 ± 0.0066", "33.9 ± 0.9"),
    "likelihood": Printed("0.0471 ± 0.0016", "0.0755 ± 0.0089", "0.0391 ± 0.0032", "42.4 ± 0.7"),
}
CASES = [
    Case("lorenz-0.3", "Lorenz, noise 0.3", 1, Lorenz(noise=0.3), fit_lorenz, plane=(0, 2), paper=PAPER),
    Case("lorenz-3", "Lorenz, noise 3", 1, Lorenz(noise=3.0), fit_lorenz, plane=(0, 2), paper=PAPER),
]
