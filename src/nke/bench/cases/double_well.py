"""The paper's double well with jumps along its axis."""

from nke.bench.parametric import fit_double_well
from nke.bench.protocol import Case, Printed
from nke.systems import DoubleWell

PAPER = {
    "trajectory-flow-matching": Printed("0.0063 ± 0.0034", "0.0276 ± 0.0036", "0.1809 ± 0.0083", "1525 ± 63"),
    "sde-gan": Printed("0.8334 ± 0.8334", "0.6720 ± 0.0360", "0.4091 ± 0.1244", "--"),
    "euler-maruyama": Printed("0.0113 ± 0.0057", "0.0160 ± 0.0021", "0.1907 ± 0.0155", "1152 ± 47"),
    "likelihood": Printed("0.0062 ± 0.0021", "0.0085 ± 0.0057", "0.109 ± 0.0084", "1545 ± 11"),
}
CASES = [Case("double-well", "Double well with jumps", 3, DoubleWell(), fit_double_well, paper=PAPER)]
