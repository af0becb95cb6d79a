"""A law as typeset equations: MathML, which browsers draw without any package.

All text of the user goes through ``Markup``'s formatting, which escapes it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from markupsafe import Markup

from nke.fitting import FitResult
from nke.fitting.equation import Equation, Term
from nke.model import Model
from nke.model.words import figure
from nke.plots.style import clipped
from nke.reporting.labels import shortened

GENERAL = Markup(
    "<math display='block'><mi>d</mi><mi>X</mi><mo>=</mo><mi>f</mi><mo>(</mo><mi>X</mi><mo>)</mo><mi>d</mi><mi>t</mi>"
    "<mo>+</mo><mi>g</mi><mo>(</mo><mi>X</mi><mo>)</mo><mi>d</mi><mi>W</mi>{jumps}</math>"
)
JUMPS = Markup("<mo>+</mo><mi>d</mi><mi>J</mi>")


def general(model: Model) -> Markup:
    """The form of the law: drift, noise, and jumps if it has any."""
    return GENERAL.format(jumps=JUMPS if model.has_jumps else Markup(""))


def typeset(result: FitResult) -> list[list[Markup]]:
    """Writes the law of each learned coordinate as parts of an equation, each of which stays on one line.

    Args:
        result: Of a fit.

    Returns:
        A list of parts for each coordinate; none where the drift has no short equation.

    Example:
        >>> from nke.reporting.equation import typeset
        >>> [parts] = typeset(result)
        >>> "<mi mathvariant='normal'>x</mi>" in parts[0]
        True
    """
    if result.equation is None:
        return []
    equation = with_short_names(result.equation)
    rows = []
    for name, terms in equation.drift.items():
        i = equation.names.index(name)
        parts = [_row(_differential(_name(name)), _operator("=")), *_drift(equation, terms), *_noise(equation, i)]
        if equation.jumps is not None and any(c.mean[i] or c.deviation[i] for c in equation.jumps.components):
            parts.append(_row(_operator("+"), Markup("<mi>d</mi><msub><mi>J</mi>{}</msub>").format(_name(name))))
        rows.append([Markup("<math>{}</math>").format(part) for part in parts])
    return rows


def with_short_names(equation: Equation) -> Equation:
    """The same equation, in which long names do not hide the law."""
    short = dict(zip(equation.names, shortened(equation.names), strict=True))

    def shorter(term: Term) -> Term:
        return replace(term, variables=tuple(short.get(name, clipped(name)) for name in term.variables))

    drift = {short[name]: tuple(map(shorter, terms)) for name, terms in equation.drift.items()}
    periods = {short[name]: period for name, period in equation.periods.items()}
    return replace(equation, names=tuple(short.values()), drift=drift, periods=periods)


def _drift(equation: Equation, terms: Sequence[Term]) -> list[Markup]:
    """The terms of the drift in brackets, times dt."""
    if not terms:
        return []
    parts = [_term(equation, term, later=k > 0) for k, term in enumerate(terms)]
    if len(terms) > 1:
        parts[0], parts[-1] = _row(_bracket("("), parts[0]), _row(parts[-1], _bracket(")"))
    parts[-1] = _row(parts[-1], _differential(Markup("<mi>t</mi>")))
    return parts


def _term(equation: Equation, term: Term, later: bool) -> Markup:
    sign = _operator("−" if term.coefficient < 0 else "+") if later else _bracket("−" * (term.coefficient < 0))
    factors = [_power(equation, name, power) for name, power in Counter(term.variables).items()]
    return _row(sign, _number(abs(term.coefficient), term.error), *factors)


def _number(value: float, error: float) -> Markup:
    """A number with its standard error in brackets."""
    error_part = Markup("<mtext class='error'> ({})</mtext>").format(figure(error, 1)) if error else Markup("")
    return _row(Markup("<mn>{}</mn>").format(figure(value, 4)), error_part)


def _power(equation: Equation, name: str, power: int) -> Markup:
    known = name in equation.names
    origin = equation.origin[equation.names.index(name)] if known else 0.0
    base = _name(name)
    if origin:
        sign, value = ("−", origin) if origin > 0 else ("+", -origin)
        base = _row(_bracket("("), base, _operator(sign), _number(value, 0.0), _bracket(")"))
    gap = Markup("<mspace width='0.15em'/>")
    return _row(gap, base if power == 1 else Markup("<msup>{}<mn>{}</mn></msup>").format(base, power))


def _noise(equation: Equation, i: int) -> list[Markup]:
    """Volatility of a coordinate times its Wiener process."""
    name = _name(equation.names[i])
    wiener = _differential(Markup("<msub><mi>W</mi>{}</msub>").format(name))
    if equation.noise is None:
        return [_row(_operator("+"), Markup("<mi>g</mi><mo>(</mo><mi>X</mi><mo>)</mo>"), wiener)]
    a, error = np.array(equation.noise.diffusion)[i, i], np.array(equation.noise.error)[i, i]
    if a <= 0:
        return []
    volatility = float(np.sqrt(a))
    relative = equation.noise.kind == "relative" and equation.names[i] not in equation.periods
    size = _row(_bracket("|"), name, _bracket("|")) if relative else Markup("")
    return [_row(_operator("+"), _number(volatility, float(error / volatility / 2)), size, wiener)]


def _differential(of: Markup) -> Markup:
    return Markup("<mspace width='0.3em'/><mi>d</mi>{}").format(of)


def _name(name: str) -> Markup:
    return Markup("<mi mathvariant='normal'>{}</mi>").format(name)


def _operator(sign: str) -> Markup:
    """A sign between two parts, which may stand at the beginning of a line."""
    return Markup("<mo form='infix'>{}</mo>").format(sign)


def _bracket(sign: str) -> Markup:
    """A bracket, or the sign of a single number; nothing where there is none."""
    return Markup("<mo lspace='0' rspace='0'>{}</mo>").format(sign) if sign else Markup("")


def _row(*parts: Markup | str) -> Markup:
    return Markup("<mrow>{}</mrow>").format(Markup("").join(parts))


def coefficient_rows(equation: Equation | None) -> Sequence[tuple[str, str, str, str, str]]:
    """Lists the coefficients of the drift: coordinate, term, value, standard error and unit, as text."""
    if equation is None:
        return []
    rows = []
    for name, terms in equation.drift.items():
        for term in terms:
            powers = [f"{v}^{power}" if power > 1 else v for v, power in Counter(term.variables).items()]
            product = " · ".join(powers) or "1"
            rows.append((name, product, figure(term.coefficient, 4), figure(term.error, 2), term.unit))
    return rows
