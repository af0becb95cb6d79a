"""A law as typeset equations."""

from xml.etree import ElementTree

import numpy as np

from drawn_models import linear
from hostile_names import HOSTILE
from nke.fitting import FitResult
from nke.fitting.equation import Equation, JumpComponent, JumpLaw, NoiseLaw, Term
from nke.reporting.equation import coefficient_rows, typeset


def law(names, kind="constant"):
    """dx = (0.5 − 2 (x − 3) y²) dt + 0.3 dW + dJ in the first coordinate, nothing but noise in the second."""
    x, y = names
    terms = (Term(0.5, 0.1), Term(-2.0, 0.04, (x, y, y), "1/s"))
    noise = NoiseLaw(kind, ((0.09, 0.0), (0.0, 0.25)), ((0.006, 0.0), (0.0, 0.01)))
    jumps = JumpLaw(1.0, 0.1, (JumpComponent(1.0, (0.0, 0.0), (0.0, 0.0), (1.0, 0.0), (0.1, 0.0)),))
    return Equation(names, ("", ""), "", {x: terms, y: ()}, (3.0, 0.0), noise, jumps)


def words(parts):
    return ["".join("".join(ElementTree.fromstring(part).itertext()).split()) for part in parts]


def test_terms_errors_noise_and_jumps():
    first, second = typeset(FitResult(linear(2), {}, {}, equation=law(("x", "y"))))
    assert words(first) == ["dx=", "(0.5(0.1)", "−2(0.04)(x−3)y2)dt", "+0.3(0.01)dWx", "+dJx"]
    assert words(second) == ["dy=", "+0.5(0.01)dWy"]


def test_noise_in_proportion_to_the_state():
    [first, _] = typeset(FitResult(linear(2), {}, {}, equation=law(("x", "y"), "relative")))
    assert "+0.3(0.01)|x|dWx" in words(first)


def test_hostile_names_are_text():
    for parts in typeset(FitResult(linear(2), {}, {}, equation=law(HOSTILE))):
        for part in parts:
            assert {element.tag for element in ElementTree.fromstring(part).iter()} <= {
                "math", "mrow", "mi", "mn", "mo", "msup", "msub", "mtext", "mspace"
            }  # fmt: skip


def test_coefficients_as_a_table():
    rows = coefficient_rows(law(("x", "y")))
    assert rows[1] == ("x", "x · y^2", "−2", "0.04", "1/s")
    assert np.shape(rows) == (2, 5)
