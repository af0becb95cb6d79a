"""The learned law as an equation: coefficients with standard errors, in the user's units."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from nke.arrays import as_numbers
from nke.errors import InputError


@dataclass(frozen=True)
class Term:
    """One term of a polynomial.

    Attributes:
        coefficient: In the user's units.
        error: Its standard error.
        variables: Names of the coordinates that are multiplied, repeated for powers; none for a constant.
        unit: Of the coefficient; empty where the units of the data are not known.

    Example:
        >>> print(nke.fitting.Term(-2.0, 0.1, ("x", "x"), "1/s"))
        -2 (0.1) x²
    """

    coefficient: float
    error: float
    variables: tuple[str, ...] = ()
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.coefficient:.4g} ({self.error:.1g}) {_product(self.variables)}".strip()


@dataclass(frozen=True)
class NoiseLaw:
    """Noise that few parameters describe.

    Attributes:
        kind: "constant", or "relative": in proportion to the state.
        diffusion: a = g gᵀ per unit time; for relative noise a_ij over the sizes of coordinates i and j.
        error: Standard errors of its entries.

    Example:
        >>> result.equation.noise.kind
        'constant'
    """

    kind: str
    diffusion: tuple[tuple[float, ...], ...]
    error: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class JumpComponent:
    """One Gaussian of the law of a jump.

    Attributes:
        weight: Its share of the jumps.
        mean: Of the jumps, coordinate by coordinate.
        mean_error: Standard errors of the means.
        deviation: Standard deviations of the jumps, coordinate by coordinate.
        deviation_error: Standard errors of these.

    Example:
        >>> nke.fitting.JumpComponent(1.0, (0.0,), (0.1,), (2.0,), (0.2,)).deviation
        (2.0,)
    """

    weight: float
    mean: tuple[float, ...]
    mean_error: tuple[float, ...]
    deviation: tuple[float, ...]
    deviation_error: tuple[float, ...]


@dataclass(frozen=True)
class JumpLaw:
    """Jumps that few parameters describe: the same in every state.

    Attributes:
        rate: Jumps per unit time.
        rate_error: Its standard error.
        components: The Gaussians of the law of one jump.

    Example:
        >>> result.equation.jumps is None
        True
    """

    rate: float
    rate_error: float
    components: tuple[JumpComponent, ...]


@dataclass(frozen=True)
class Equation:
    """dx = f(x) dt + g dW + jumps, as far as few parameters describe it.

    Attributes:
        names: Of the coordinates.
        units: Of the coordinates.
        unit_of_time: Of the data.
        drift: Terms of the drift for each coordinate that is learned.
        origin: What the coordinates are counted from: their means where zero is far from the data, otherwise zeros.
        noise: The noise; None where it is a network.
        jumps: The jumps; None where there are none, or where they are a network.
        periods: Periods of the coordinates that are angles; terms have their cosines and sines.

    It is the law of the columns as they were learned: where a column was transformed, its name here is that of the
    transformed one, such as "log x", and so are the states that the equation takes.

    Example:
        >>> [term.variables for term in result.equation.drift["x"]]
        [('x',)]
        >>> result.equation([[1.0]]).shape
        (1, 1)
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    unit_of_time: str
    drift: Mapping[str, tuple[Term, ...]]
    origin: tuple[float, ...]
    noise: NoiseLaw | None = None
    jumps: JumpLaw | None = None
    periods: Mapping[str, float] = field(default_factory=dict)

    def __call__(self, x: ArrayLike) -> Float[np.ndarray, "*batch r"]:
        """Computes the drift.

        Args:
            x: States (..., d).

        Returns:
            The drift of the learned coordinates, in their order.

        Raises:
            InputError: If the states have another number of coordinates.
        """
        states = np.asarray(as_numbers(x, "states"))
        if states.shape[-1:] != (len(self.names),):
            raise InputError(f"expected states of shape (..., {len(self.names)}), but got {states.shape}")
        columns = dict(zip(self.names, np.moveaxis(states - np.array(self.origin), -1, 0), strict=True))
        for name, period in self.periods.items():
            angle = 2 * np.pi / period * columns[name]
            columns[trigonometric("cos", name, period)] = np.cos(angle)
            columns[trigonometric("sin", name, period)] = np.sin(angle)
        used = {v for terms in self.drift.values() for term in terms for v in term.variables}
        for i, name in enumerate(self.names):
            for variable, side in ((itself(name), 1), (inverse_of(name), -1)):
                if variable in used and variable not in columns:
                    columns[variable] = np.exp(side * states[..., i])
        rows = [
            sum(
                (term.coefficient * np.prod([columns[v] for v in term.variables], axis=0) for term in terms),
                np.zeros(states.shape[:-1]),
            )
            for terms in self.drift.values()
        ]
        return np.stack(rows, axis=-1)

    def lines(self) -> list[str]:
        """Writes the law in plain text.

        Returns:
            A line for each coordinate of the drift, for the noise and for the jumps.

        Example:
            >>> len(result.equation.lines())
            2
        """
        noise = [] if self.noise is None else [self._noise_line(self.noise)]
        return [*self.drift_lines(), *noise, *self.jump_lines()]

    def drift_lines(self) -> list[str]:
        """Writes the drift in plain text.

        Returns:
            A line for each coordinate that is learned.

        Example:
            >>> len(result.equation.drift_lines())
            1
        """
        variables = {name: self._variable(i) for i, name in enumerate(self.names)}
        variables |= {v: v for terms in self.drift.values() for t in terms for v in t.variables if v not in variables}
        rows = []
        for name, terms in self.drift.items():
            words = [
                f"{t.coefficient:+.4g} ({t.error:.1g}) {_product([variables[v] for v in t.variables])}".strip()
                for t in terms
            ]
            rows.append(f"d{' ' * (' ' in name)}{name}/dt = {' '.join(words) or '0'}")
        return rows

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def latex(self) -> str:
        r"""Writes the drift for typesetting.

        Returns:
            An ``aligned`` environment with a row for each learned coordinate.

        Example:
            >>> print(result.equation.latex().splitlines()[0])
            \begin{aligned}
        """
        rows = []
        for name, terms in self.drift.items():
            words = [
                f"{t.coefficient:+.4g}\\,(\\pm {t.error:.1g})\\,"
                + r"\,".join(
                    self._latex_variable(v) + (f"^{{{power}}}" if power > 1 else "")
                    for v, power in Counter(t.variables).items()
                )
                for t in terms
            ]
            rows.append(f"\\dot{{{_latex_name(name)}}} &= {' '.join(words) or '0'}")
        return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"

    def to_dict(self) -> dict[str, Any]:
        """Gives the equation as plain values.

        Returns:
            The fields, ready for JSON.

        Example:
            >>> nke.fitting.Equation.from_dict(result.equation.to_dict()) == result.equation
            True
        """
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Equation":
        """Reads what ``to_dict`` gave.

        Args:
            values: The fields.

        Returns:
            The equation.

        Example:
            >>> stored = result.equation.to_dict()
            >>> nke.fitting.Equation.from_dict(stored).to_dict() == stored
            True
        """
        noise, jumps = values["noise"], values["jumps"]
        return cls(
            tuple(values["names"]),
            tuple(values["units"]),
            values["unit_of_time"],
            {name: tuple(Term(**_tuples(term)) for term in terms) for name, terms in values["drift"].items()},
            tuple(values["origin"]),
            noise and NoiseLaw(**_tuples(noise)),
            jumps
            and JumpLaw(
                jumps["rate"],
                jumps["rate_error"],
                tuple(JumpComponent(**_tuples(component)) for component in jumps["components"]),
            ),
            dict(values.get("periods", {})),
        )

    def with_jump_components(self, kept: Sequence[int]) -> "Equation":
        """Gives the same equation with some of the Gaussians of the law of a jump.

        Args:
            kept: Their indices.

        Returns:
            The equation; the weights of those that are kept sum to one.

        Example:
            >>> result.equation.with_jump_components([0]).jumps is None
            True
        """
        if self.jumps is None:
            return self
        components = [self.jumps.components[k] for k in kept]
        total = sum(component.weight for component in components)
        scaled = tuple(replace(component, weight=component.weight / total) for component in components)
        return replace(self, jumps=replace(self.jumps, components=scaled))

    def _variable(self, i: int) -> str:
        """How a coordinate is written in a product."""
        return f"({self.names[i]} − {self.origin[i]:.4g})" if self.origin[i] else self.names[i]

    def _latex_variable(self, variable: str) -> str:
        for name, period in self.periods.items():
            for function in ("cos", "sin"):
                if variable == trigonometric(function, name, period):
                    factor = "" if np.isclose(period, 2 * np.pi) else rf"\tfrac{{2\pi}}{{{period:g}}}"
                    return rf"\{function}({factor}{_latex_name(name)})"
        if variable not in self.names:
            return _latex_name(variable.removeprefix("1/")) + "^{-1}" * variable.startswith("1/")
        i, name = self.names.index(variable), _latex_name(variable)
        return f"({name} - {self.origin[i]:.4g})" if self.origin[i] else name

    def _noise_line(self, noise: NoiseLaw) -> str:
        """Volatilities √a_ii and correlations."""
        a, error = np.array(noise.diffusion), np.array(noise.error)
        volatility, learned = np.sqrt(np.diag(a)), np.flatnonzero(np.diag(a) > 0)
        words = []
        for i in learned:
            relative = noise.kind == "relative" and self.names[i] not in self.periods
            size = f"·|{self.names[i]}|" if relative else ""
            unit = _unit([] if relative else [self.units[i]], [f"√{self.unit_of_time}"])
            deviation = error[i, i] / 2 / volatility[i]
            words.append(f"{self.names[i]} {volatility[i]:.4g} ({deviation:.1g}){size}{unit and ' ' + unit}")
        for i in learned:
            for j in learned[learned < i]:
                if a[i, j] != 0:
                    correlation = a[i, j] / volatility[i] / volatility[j]
                    words.append(f"correlation of {self.names[j]} and {self.names[i]} {correlation:.3g}")
        return f"noise, standard deviation per √time: {', '.join(words)}"

    def jump_lines(self) -> list[str]:
        """Writes the jumps in plain text.

        Returns:
            A line for the rate and one for each Gaussian of the law of a jump; none where there are no jumps.

        Example:
            >>> result.equation.jump_lines()
            []
        """
        if self.jumps is None:
            return []
        jumps = self.jumps
        per = f"per {self.unit_of_time}" if self.unit_of_time else "per unit time"
        rows = [f"jumps: {jumps.rate:.4g} ({jumps.rate_error:.1g}) {per}"]
        for component in jumps.components:
            parts = [
                f"{name} mean {_figure(mean, e)}, sd {_figure(sd, f)}{unit and ' ' + unit}"
                for name, unit, mean, e, sd, f in zip(
                    self.names,
                    self.units,
                    component.mean,
                    component.mean_error,
                    component.deviation,
                    component.deviation_error,
                    strict=True,
                )
                if mean or sd
            ]
            share = f"{component.weight:.0%} of them: " if len(jumps.components) > 1 else ""
            rows.append(f"  {share}{'; '.join(parts)}")
        return rows


def _figure(value: float, error: float) -> str:
    """A number with its standard error, or alone where it was set to a value that the data does not contradict."""
    return f"{value:.3g} ({error:.1g})" if error else f"{value:.3g}"


def trigonometric(function: str, name: str, period: float) -> str:
    """Names the cosine or sine of an angle.

    Args:
        function: Either "cos" or "sin".
        name: Of the angle.
        period: A whole turn.

    Returns:
        The name, such as "sin angle"; with the period where that is not 2π.
    """
    return f"{function} {name}" if np.isclose(period, 2 * np.pi) else f"{function}(2π {name}/{period:g})"


def itself(name: str) -> str:
    """Names a column whose logarithm was learned.

    Args:
        name: Of the logarithm.

    Returns:
        The name, such as "price" of "log price"; nothing where the name is of no logarithm.
    """
    return name.removeprefix("log ") if name.startswith("log ") else ""


def inverse_of(name: str) -> str:
    """Names one over a column whose logarithm was learned, as ``itself``.

    Args:
        name: Of the logarithm.
    """
    return f"1/{itself(name)}" if itself(name) else ""


def coefficient_unit(numerator: str, variables: Sequence[str], unit_of_time: str) -> str:
    """Composes the unit of a coefficient of the drift.

    Args:
        numerator: Unit of the coordinate that moves.
        variables: Units of the coordinates that are multiplied.
        unit_of_time: Of the data.

    Returns:
        The unit, equal factors cancelled; empty where a unit is not known.
    """
    if not unit_of_time or not numerator or not all(variables):
        return ""
    return _unit([numerator], [unit_of_time, *variables])


def _unit(numerator: Sequence[str], denominator: Sequence[str]) -> str:
    above, below = Counter(numerator), Counter(denominator)
    shared = above & below
    above, below = above - shared, below - shared
    if any(unit in ("", "√") for unit in (*above, *below)):
        return ""
    parts = [_product(list(side.elements())) for side in (above, below)]
    if not parts[1]:
        return parts[0]
    return f"{parts[0] or '1'}/{parts[1] if len(below) == 1 else f'({parts[1]})'}"


def _product(factors: Sequence[str]) -> str:
    powers = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    return "·".join(
        (f"({name})" if n > 1 and " " in name and not name.startswith("(") else name)
        + (str(n).translate(powers) if n > 1 else "")
        for name, n in Counter(factors).items()
    )


def _latex_name(name: str) -> str:
    """Names of several letters upright; characters that TeX reads as commands are escaped."""
    escaped = "".join(f"\\{c}" if c in "_%#&$" else c for c in name)
    return escaped if len(name) == 1 else f"\\mathrm{{{escaped}}}"


def _tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    """Lists, as JSON gives them, as tuples."""

    def one(value: Any) -> Any:
        return tuple(map(one, value)) if isinstance(value, list | tuple) else value

    return {name: one(value) for name, value in values.items()}
