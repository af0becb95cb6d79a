"""What a model file may say: every entry of its configuration, and the arrays that follow from these.

A file is checked here as a whole before anything is built from it: its configuration against the names, shapes and
kinds of its arrays, sizes against the number of its numbers. Each kind of part has one function, which takes its
entries and tells its arrays; a new kind is one function and a line in a table. Further arrays of a model are told in
``expected`` in the same way.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nke.errors import DamagedFileError
from nke.model.coefficients import QUANTILES
from nke.model.entries import Entries, is_number, is_whole
from nke.model.region import PREFIX as REGION
from nke.model.uncertainty import DIRECTION, OFFSET
from nke.operators.jump import JUMPS
from nke.operators.networks.diffusion_factors import FACTORS
from nke.operators.networks.drift import DRIFTS
from nke.operators.networks.jumps import FINITE_TIME_LAWS, JUMP_MEASURES
from nke.operators.quadrature import QUADRATURES
from nke.operators.splitting import SPLITTINGS
from nke.operators.transition_rule import RULES

Shape = tuple[int, ...]
Arrays = Mapping[str, np.ndarray]
MOST_COMPUTED = 4096  # of what costs time and no arrays: sub-steps, points of a quadrature, units that are not there
MOST_ORDER = 64  # of a series of jumps, of a quadrature, of a polynomial


@dataclass(frozen=True)
class Part:
    """A part of a model whose entries are being read.

    Attributes:
        entries: What the file says of it.
        place: Where its arrays are, such as "advection.drift".
        inputs: Number of columns of the state as it sees it.
        outputs: Number of coordinates that it gives.
        pairs: Columns that are cosine and sine of one angle.
        file: What all parts share.
    """

    entries: Entries
    place: str
    inputs: int
    outputs: int
    pairs: list[list[int]]
    file: "File"

    def array(self, name: str, *shape: int, whole: bool = False) -> None:
        """Tells of an array of numbers, single precision unless they are whole."""
        self.file.expected[f"{self.place}.{name}"] = (shape, np.dtype(np.int32 if whole else np.float32))

    def within(self, name: str) -> "Part":
        """The same part with its arrays one level further in."""
        return replace(self, place=f"{self.place}.{name}")


@dataclass
class File:
    """What is known of a file: its arrays, and those that it should have.

    Attributes:
        arrays: Those that are there.
        numbers: How many numbers they have: no size can be larger.
        expected: Shapes and kinds of numbers, by name.
        checks: What must hold for the values of arrays, once their shapes are right.
    """

    arrays: Arrays
    numbers: int = 0
    expected: dict[str, tuple[Shape, np.dtype]] = field(default_factory=dict)
    checks: list[Callable[[], None]] = field(default_factory=list)

    def __post_init__(self):
        self.numbers = sum(array.size for array in self.arrays.values())


def check(config: Any, arrays: Arrays) -> None:
    """Refuses a configuration and arrays that are no model, before anything is built.

    Args:
        config: What a file says, as JSON values.
        arrays: Its arrays by name.

    Raises:
        DamagedFileError: If an entry or an array is missing, left over or not what it must be.
        InputError: If a part is of a kind that this version does not know.
    """
    file = expected(config, arrays)
    missing, more = sorted(file.expected.keys() - arrays.keys()), sorted(arrays.keys() - file.expected.keys())
    if missing or more:
        what = f"there is none called {missing[0]!r}" if missing else f"there is one called {more[0][:80]!r}"
        raise DamagedFileError(f"expected the arrays of its configuration, but {what}")
    for name, (shape, kind) in file.expected.items():
        if arrays[name].shape != shape:
            raise DamagedFileError(f"expected an array of shape {shape} for {name}, but got {arrays[name].shape}")
        if arrays[name].dtype != kind:
            raise DamagedFileError(f"expected {kind} numbers for {name}, but got {arrays[name].dtype}")
        if not np.isfinite(arrays[name]).all():
            raise DamagedFileError(f"expected finite numbers for {name}, but some are NaN or infinite")
    for holds in file.checks:
        holds()


def expected(config: Any, arrays: Arrays) -> File:
    """Reads a whole configuration and tells which arrays go with it."""
    file, entries = File(arrays), Entries(config)
    names = entries.texts("names")
    d = len(names)
    if not 1 <= d <= max(file.numbers, 1):
        raise DamagedFileError(f"expected between 1 and {file.numbers} names, but got {d}")
    for name, count in (("units", len(entries.texts("units"))), ("transforms", _transforms(entries))):
        if count != d:
            raise DamagedFileError(f"expected {d} {name}, one for each name, but got {count}")
    entries.number("step", positive=True)
    entries.number("time_unit", positive=True)
    entries.text("unit_of_time")
    if entries.has("borders"):
        ends = entries.pairs("borders", _are_borders, f"{d} pairs of a lower and a greater number, or null")
        if len(ends) != d:
            raise DamagedFileError(f"expected {d} borders, one pair for each name, but got {len(ends)}")
    if entries.has("quantiles"):
        entries.rising("quantiles", d, len(QUANTILES))
    splitting = entries.part("splitting")
    splitting.word("kind", SPLITTINGS.kinds, SPLITTINGS.role)
    splitting.end()
    visible, free = _generator(entries.part("generator"), d, file)
    _uncertainty(file)
    _region(visible, file)
    _rule(entries.part("rule"), d, free)
    for name in ("shift", "scale"):
        file.expected[f"coordinates.{name}"] = ((d,), np.dtype(np.float64))
    file.checks.append(lambda: _positive(arrays, "coordinates.scale"))
    entries.end()
    return file


def _are_borders(low: Any, high: Any) -> bool:
    ends_are_numbers = all(end is None or is_number(end) for end in (low, high))
    return ends_are_numbers and (low is None or high is None or low < high)


def _transforms(entries: Entries) -> int:
    """Reads the transforms of the columns and counts them; their options are those of ``nke.transforms``."""
    parts = entries.parts("transforms")
    for part in parts:
        kind = part.word("kind", TRANSFORMS, "transform")
        TRANSFORMS[kind](part)
        part.end()
    return len(parts)


def _logit(part: Entries) -> None:
    lower, upper = part.number("lower"), part.number("upper")
    if not lower < upper:
        raise DamagedFileError(f"expected bounds in order, but got {lower} and {upper}")


def _periodic(part: Entries) -> None:
    part.number("period", positive=True)
    if part.has("start"):
        part.number("start")


def _rule(part: Entries, d: int, free: int) -> None:
    """Reads the transition rule, which blurs the free coordinates."""
    if part.word("kind", RULES.kinds, RULES.role) != "forward-packet":
        return part.end()
    quadrature = part.part("quadrature")
    if quadrature.word("kind", QUADRATURES.kinds, QUADRATURES.role) == "gauss-hermite":
        order = quadrature.whole("order", 1, MOST_ORDER)
        if d * math.log(order) > math.log(MOST_COMPUTED**2):
            raise DamagedFileError(f"expected a quadrature of fewer points, but got {order} along {d} coordinates")
    quadrature.end()
    part.whole("substeps", 1, MOST_COMPUTED)
    if part.has("resolution", needed=True):
        part.numbers("resolution", free)
    return part.end()


def _uncertainty(file: File) -> None:
    """Directions in which arrays of the law are uncertain, as many for each; there need be none."""
    law, arrays = dict(file.expected), file.arrays
    counts = {array.shape[:1] for name, array in arrays.items() if name.startswith(DIRECTION)}
    if len(counts) > 1 or () in counts:
        raise DamagedFileError("expected as many directions for each uncertain array, but got different numbers")
    for name, (shape, kind) in law.items():
        if DIRECTION + name in arrays:
            file.expected[DIRECTION + name] = ((*next(iter(counts)), *shape), kind)
            if OFFSET + name in arrays:
                file.expected[OFFSET + name] = (shape, kind)


def _region(inputs: int, file: File) -> None:
    """Balls around states of the data, in the columns that the law sees; there need be none."""
    if REGION + "centres" not in file.arrays:
        return
    count = len(file.arrays[REGION + "centres"]) if file.arrays[REGION + "centres"].ndim else 0
    single, double = np.dtype(np.float32), np.dtype(np.float64)
    file.expected[REGION + "centres"] = ((count, inputs), single)
    file.expected[REGION + "radii"] = ((count,), single)
    file.expected[REGION + "usual"] = ((1,), double)
    file.checks += [lambda: _positive(file.arrays, REGION + "radii"), lambda: _positive(file.arrays, REGION + "usual")]


def _generator(part: Entries, d: int, file: File) -> tuple[int, int]:
    """Reads the equation and gives the numbers of columns that it sees and of its free coordinates."""
    inputs, outputs, pairs, constrained = d, d, [], part.has("constraint", needed=True)
    positions: list[int] = []
    if constrained:
        positions, periodic = _constraint(part.part("constraint"), d, file)
        inputs, outputs = d + len(periodic), d - len(positions)
        pairs = [[column, d + k] for k, column in enumerate(periodic)]
    part.whole("flow_steps", 1, MOST_COMPUTED)
    inner = ".free" if constrained else ""

    def read(name: str, place: str, kinds: Mapping[str, Callable[[Part], None]], role: str) -> None:
        entries = part.part(name)
        kind = entries.word("kind", kinds, role)
        kinds[kind](Part(entries, place, inputs, outputs, pairs, file))
        entries.end()

    read("drift", f"advection.drift{inner}", DRIFT_KINDS, DRIFTS.role)
    read("diffusion", f"diffusion.factor{inner}", FACTOR_KINDS, FACTORS.role)
    places = ["constraint", "advection.drift.constraint", "diffusion.factor.constraint"]
    if part.has("jump", needed=True):
        jump = part.part("jump")
        if jump.word("kind", JUMPS.kinds, JUMPS.role) == "poisson":
            jump.whole("order", 1, MOST_ORDER)
            measure = jump.part("measure")
            kind = measure.word("kind", MEASURE_KINDS, JUMP_MEASURES.role)
            MEASURE_KINDS[kind](Part(measure, f"jump.measure{inner}", inputs, outputs, pairs, file))
            measure.end()
            places.append("jump.measure.constraint")
        else:
            jump.number("step", positive=True)
            law = jump.part("law")
            kind = law.word("kind", LAW_KINDS, FINITE_TIME_LAWS.role)
            LAW_KINDS[kind](Part(law, f"jump.network{inner}", inputs, outputs, pairs, file))
            law.end()
            places.append("jump.network.constraint")
        jump.end()
    if constrained:
        _same_constraint(places, len(positions), len(pairs), file)
    part.end()
    return inputs, outputs


def _constraint(part: Entries, d: int, file: File) -> tuple[list[int], list[int]]:
    """Reads which coordinates are positions and which are angles."""
    positions, periodic = part.indices("positions", d), part.indices("periodic", d, default=[])
    velocities = part.indices("velocities", d, different=False)
    part.indices("invariant", d, different=False)
    part.end()
    if len(velocities) != len(positions) or len(positions) == d or any(map(int.__eq__, positions, velocities)):
        raise DamagedFileError(
            "expected another coordinate as the velocity of each position, and one that is no position, but got "
            f"positions {positions} and velocities {velocities}"
        )
    return positions, periodic


def _same_constraint(places: list[str], positions: int, angles: int, file: File) -> None:
    """The arrays of a constraint, which every term has."""
    sizes = {"slope": positions, "offset": positions} | ({"frequency": angles, "phase": angles} if angles else {})
    for name, size in sizes.items():
        alike = [f"{place}.{name}.value" for place in places]
        for each in alike:
            file.expected[each] = ((size,), np.dtype(np.float32))
        file.checks.append(lambda alike=alike: _equal(file.arrays, alike))


# Functions that are learned


def _perceptron(part: Part, inputs: int, outputs: int, width: int, depth: int) -> None:
    sizes = [inputs, *[width] * depth, outputs]
    for i in range(depth + 1):
        part.array(f"layers[{i}].weight", sizes[i + 1], sizes[i])
        part.array(f"layers[{i}].bias", sizes[i + 1])


def _width_and_depth(part: Part) -> tuple[int, int]:
    """The sizes of a perceptron, no larger than the file can hold; without hidden layers the width is not used."""
    depth = part.entries.whole("depth", 0, len(part.file.arrays))
    return part.entries.whole("width", min(depth, 1), part.file.numbers if depth else MOST_COMPUTED), depth


def _polynomial_and_perceptron(
    part: Part, inputs: int, outputs: int, degree: int | None = None, pairs: list[list[int]] | None = None
) -> None:
    """A polynomial and a perceptron; without a degree it is linear beside a perceptron and constant without one."""
    (width, depth), body, pairs = _width_and_depth(part), part.within("body"), pairs or []
    degree = min(depth, 1) if degree is None else degree
    if depth:
        _perceptron(body.within("mlp"), inputs, outputs, width, depth)
    body.array("skip.weight", outputs, _monomials(inputs, degree, len(pairs), part.file))
    body.array("skip.bias", outputs)


def _monomials(inputs: int, degree: int, angles: int, file: File) -> int:
    """How many ``monomials`` there are, refused where they are more than the numbers of the file."""
    count = sum(  # so many of the sines once, the other variables as often as one likes
        math.comb(angles, sines) * math.comb(inputs - angles + degree - sines, degree - sines)
        for sines in range(min(angles, degree) + 1)
    )
    if math.comb(inputs + degree, degree) > MOST_ORDER * (file.numbers + 1):  # those with sin² are looked at too
        raise DamagedFileError(f"expected at most {file.numbers} coefficients, but degree {degree} has {count - 1}")
    return count - 1


def _pairs(part: Part) -> list[list[int]]:
    """The angles that a polynomial knows: those of the constraint, or none."""
    pairs = part.entries.pairs("pairs", lambda i, j: is_whole(i, 0, part.inputs) and type(j) is int, "pairs", [])
    if pairs not in ([], part.pairs):
        raise DamagedFileError(f"expected the pairs of columns {part.pairs} of the angles, but got {pairs}")
    return pairs


def _drift_network(part: Part) -> None:
    degree = part.entries.whole("degree", 0, MOST_ORDER)
    _polynomial_and_perceptron(part, part.inputs, part.outputs, degree, _pairs(part))
    part.array("scale.value", part.outputs)
    _seen_states(part)


def _seen_states(part: Part) -> None:
    if not part.entries.has("seen"):
        return
    seen = part.entries.part("seen")
    part.array("seen.states.value", seen.whole("states", 1, part.file.numbers), part.inputs)
    part.array("seen.reach.value")
    part.array("seen.box.value", 2, part.inputs)
    seen.end()


def _smooth_function(part: Part, outputs: int) -> int:
    """Reads a smooth function and gives the number of its features."""
    entries, file = part.entries, part.file
    degree, pairs = entries.whole("degree", 0, MOST_ORDER), _pairs(part)
    sizes = lambda i, j: all(is_whole(size, 0, file.numbers) for size in (i, j))  # noqa: E731
    kernels = entries.pairs("kernels", sizes, "pairs of sizes")
    for i, shape in enumerate(kernels):
        part.array(f"basis.projections[{i}].value", *shape)
    for name in ("centres", "precisions"):
        part.array(f"basis.{name}.value", sum(size for size, _ in kernels), part.inputs)
    features = 1 + _monomials(part.inputs, degree, len(pairs), file) + sum(size for _, size in kernels)
    right = lambda column, exponential, zero, size, limit: (  # noqa: E731
        is_whole(column, 0, part.inputs - 1)
        and isinstance(exponential, bool)
        and all(map(is_number, (zero, size, limit)))
        and limit > 0
        and size != 0
    )
    features += len(
        entries.rows("curves", 5, right, "columns, whether exponential, with a zero, a size and a limit", [])
    )
    weights = entries.whole("weights", 0, outputs * features)
    part.array("weights", weights)
    part.array("columns", weights, whole=True)
    part.array("rows.value", outputs, weights)
    if entries.has("limits"):
        limits = entries.pairs("limits", lambda a, b: is_number(a) and is_number(b) and a <= b, "limits in order")
        if len(limits) != outputs:
            raise DamagedFileError(f"expected limits of {outputs} functions, but got {len(limits)}")
    file.checks.append(lambda: _each_weight_once(file.arrays, part.place, outputs, features))
    return features


def _smooth_drift(part: Part) -> None:
    _smooth_function(part.within("body"), part.outputs)
    part.array("scale.value", part.outputs)
    _seen_states(part)


def _smooth_factor(part: Part) -> None:
    _smooth_function(part.within("body"), _triangle(part.outputs))
    part.array("start.value", part.outputs, part.outputs)


def _triangle(d: int) -> int:
    return d * (d + 1) // 2


def _full_factor(part: Part) -> None:
    _polynomial_and_perceptron(part, part.inputs, _triangle(part.outputs), 1)
    part.array("start.value", part.outputs, part.outputs)


def _diagonal_factor(part: Part) -> None:
    _polynomial_and_perceptron(part, part.inputs, part.outputs, 1)
    part.array("start.value", part.outputs)


def _scalar_factor(part: Part) -> None:
    _polynomial_and_perceptron(part, part.outputs, 1, 1)
    if part.inputs != part.outputs:
        raise DamagedFileError("expected no angles and no positions with noise of kind 'scalar', but there are some")
    part.array("start.value")


def _constant_factor(part: Part) -> None:
    part.array("raw", _triangle(part.outputs))
    part.array("start.value", part.outputs, part.outputs)


def _relative_factor(part: Part) -> None:
    if part.entries.has("noisy", needed=True):
        noisy = part.entries.indices("noisy", part.inputs)
        if len(noisy) != part.outputs:
            raise DamagedFileError(f"expected {part.outputs} noisy coordinates, but got {noisy}")
    elif part.inputs != part.outputs:
        raise DamagedFileError("expected the noisy coordinates of a model with angles or positions, but got none")
    part.entries.indices("angles", part.inputs, default=[])
    _polynomial_and_perceptron(part, part.inputs, _triangle(part.outputs))
    part.array("start.value", part.outputs, part.outputs)
    for name in ("origin", "size"):
        part.array(f"{name}.value", part.inputs)
    part.file.checks.append(lambda: _positive(part.file.arrays, f"{part.place}.size.value"))


def _mixture_density_network(part: Part) -> None:
    d, components = part.outputs, part.entries.whole("components", 1, part.file.numbers)
    _perceptron(part.within("mlp"), part.inputs, 1 + components * (1 + d + _triangle(d)), *_width_and_depth(part))
    part.array("scale.value", d)


def _jump_network(part: Part) -> None:
    d, components = part.outputs, part.entries.whole("components", 1, part.file.numbers)
    shapes = (d + _triangle(d)) if part.entries.flag("state_dependent_shapes") else 0
    outputs = 1 + components * (1 + shapes)
    if part.entries.has("smooth"):
        smooth = replace(part.within("mlp"), entries=part.entries.part("smooth"))
        _smooth_function(smooth, outputs)
        smooth.entries.end()
        part.file.checks.append(lambda: _each_has_a_constant(part.file.arrays, smooth.place, outputs))
    else:
        width, depth = _width_and_depth(part)
        _perceptron(part.within("mlp"), part.inputs if depth else 0, outputs, width, depth)
    part.array("means", components, d)
    part.array("factors", components, _triangle(d))
    for name, shape in (("scale", (d,)), ("rate", ()), ("whiten", (d, d))):
        part.array(f"{name}.value", *shape)


TRANSFORMS: dict[str, Callable[[Entries], None]] = {
    "plain": lambda part: None,
    "log": lambda part: None,
    "logit": _logit,
    "periodic": _periodic,
}
DRIFT_KINDS: dict[str, Callable[[Part], None]] = {"polynomial-plus-mlp": _drift_network, "smooth": _smooth_drift}
FACTOR_KINDS: dict[str, Callable[[Part], None]] = {
    "full": _full_factor,
    "diagonal": _diagonal_factor,
    "scalar": _scalar_factor,
    "constant": _constant_factor,
    "relative": _relative_factor,
    "smooth": _smooth_factor,
}
LAW_KINDS: dict[str, Callable[[Part], None]] = {"mixture-density-network": _mixture_density_network}
MEASURE_KINDS: dict[str, Callable[[Part], None]] = {"jump-network": _jump_network}


# Values of arrays, whose shapes are right by now


def _positive(arrays: Arrays, name: str) -> None:
    if not (arrays[name] > 0).all():
        raise DamagedFileError(f"expected positive numbers for {name}, but got {arrays[name].min()}")


def _equal(arrays: Arrays, names: list[str]) -> None:
    for name in names[1:]:
        if not np.array_equal(arrays[names[0]], arrays[name]):
            raise DamagedFileError(f"expected the same numbers for {names[0]} and {name}, but they differ")


def _each_weight_once(arrays: Arrays, place: str, outputs: int, features: int) -> None:
    """A weight belongs to one function and one feature, and they stand in the order of both."""
    columns, rows = arrays[f"{place}.columns"], arrays[f"{place}.rows.value"]
    one_each = np.isin(rows, (0, 1)).all() and (rows.sum(axis=0) == 1).all()
    at = rows.argmax(axis=0).astype(np.int64) * features + columns if len(columns) else columns
    if not one_each or not ((columns >= 0) & (columns < features)).all() or (np.diff(at) <= 0).any():
        raise DamagedFileError(f"expected one function and one feature for each weight of {place}, but got others")


def _each_has_a_constant(arrays: Arrays, place: str, outputs: int) -> None:
    """Rate, shares and shapes of jumps start at constants, the first feature."""
    of_constants = arrays[f"{place}.rows.value"][:, arrays[f"{place}.columns"] == 0]
    if of_constants.shape[1] != outputs:
        raise DamagedFileError(f"expected a constant for each of {outputs} functions of {place}, but some have none")
