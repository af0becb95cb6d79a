"""The paper's Black–Scholes model, learned in raw coordinates."""

from nke.bench.protocol import Case, Printed
from nke.systems import BlackScholes

PAPER = {
    "trajectory-flow-matching": Printed("0.0824 ± 0.0123", "1.8421 ± 0.0612", "0.2145 ± 0.0187", "41.3 ± 1.5"),
    "sde-gan": Printed("0.4873 ± 0.0211", "1.9923 ± 0.1021", "0.412 ± 0.0038", "2490 ± 70"),
    "euler-maruyama": Printed("0.1951 ± 0.0108", "0.9732 ± 0.0489", "0.2261 ± 0.0105", "35.7 ± 1.1"),
    "likelihood": Printed("0.0685 ± 0.0104", "0.0523 ± 0.0061", "0.0997 ± 0.025", "44.1 ± 0.9"),
}
CASES = [
    Case("black-scholes", "Black–Scholes", 2, BlackScholes(), BlackScholes.maximum_likelihood, raw=True, paper=PAPER)
]
