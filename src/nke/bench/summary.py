"""From records to tables: mean and spread over seeds, ratios to the floor, what is best."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from nke.bench.measure import Status
from nke.bench.methods import KOLMOGOROV, METHODS, ORACLE, PARAMETRIC, REFERENCE
from nke.bench.protocol import Case
from nke.bench.results import Key

SUSPICIOUS_RATIO = 0.9  # to the floor; below it a model may have too little noise
PAPER_METRICS = {"mean_mse": "Mean MSE", "covariance_mse": "Covariance MSE", "wasserstein": "Wasserstein"}
JOINT_METRICS = {"sliced_wasserstein": "Sliced W1", "increment_wasserstein": "Increment W1"}
Records = dict[Key, dict[str, Any]]
BySeed = dict[int, dict[str, Any]]


@dataclass(frozen=True)
class Cell:
    """``mean`` ± ``spread``, and beside it a ratio ± its standard error. ``text`` stands where there is no figure."""

    mean: float | None = None
    spread: float | None = None
    ratio: float | None = None
    ratio_error: float | None = None
    seeds: int = 0
    best: bool = False
    suspicious: bool = False
    text: str = ""


@dataclass(frozen=True)
class TieRule:
    """When a method is as good as the best one: not told apart over the seeds, and of the same size.

    The standard error alone does not do: one seed that diverged makes the mean and its standard error equally large,
    so that any figure would be within two of them.

    Attributes:
        standard_errors: Most that the difference may be, in standard errors of the paired differences.
        factor: Most that the mean may be, as a multiple of the best one; of log densities, the density itself.
    """

    standard_errors: float = 2.0
    factor: float = 2.0

    def holds(
        self, values: Float[np.ndarray, " seeds"], best: Float[np.ndarray, " seeds"], logarithms: bool = False
    ) -> bool:
        """Whether figures that belong to the same seeds as the best ones are tied with them.

        Example:
            >>> import numpy as np
            >>> best, close, far = np.array([1.0, 1.2, 1.1]), np.array([1.3, 1.1, 1.4]), np.array([1.1, 1.2, 1e24])
            >>> TieRule().holds(close, best), TieRule().holds(far, best)
            (True, False)
        """
        error = _error(values - best)
        if error is None or abs((values - best).mean()) > self.standard_errors * error:
            return False
        if logarithms:
            return bool(abs((values - best).mean()) <= np.log(self.factor))
        small, large = sorted((float(values.mean()), float(best.mean())))
        return large <= self.factor * small

    def __str__(self) -> str:
        return (
            f"the paired difference is within {self.standard_errors:g} standard errors and the mean within a factor "
            f"of {self.factor:g}"
        )


@dataclass(frozen=True)
class Table:
    """One table of one system: a row of cells for each method."""

    name: str
    system: str
    title: str
    headings: tuple[str, ...]
    rows: dict[str, tuple[Cell, ...]]  # by method
    notes: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)  # of methods that are called otherwise here

    def label(self, method: str) -> str:
        """What a method is called in this table."""
        return self.labels.get(method, METHODS[method].label)


@dataclass(frozen=True)
class Column:
    """A figure of a record under a heading."""

    heading: str
    figure: Callable[[dict[str, Any]], float | None]  # of one record
    better: int = 0  # −1: the lower the better, 1: the higher (log densities), 0: neither
    over_floor: bool = False


def metric(name: str, heading: str, better: int = -1, over_floor: bool = False) -> Column:
    """The column of a metric, with an arrow that says which way is better."""
    arrow = {-1: " ↓", 0: "", 1: " ↑"}[better]
    return Column(heading + arrow, lambda record: record.get("metrics", {}).get(name), better, over_floor)


def seconds(part: str, heading: str, better: int = 0) -> Column:
    """The column of a part of the training time."""
    arrow = " ↓" if better else ""
    return Column(heading + arrow, lambda record: record.get("times", {}).get(part), better)


def _layouts(case: Case) -> dict[str, tuple[str, list[Column]]]:
    """Title and columns of each table that holds the figures themselves, by its name."""
    both = PAPER_METRICS | JOINT_METRICS
    return {
        "paper": (
            "the paper's protocol",
            [*(metric(*item, over_floor=True) for item in PAPER_METRICS.items()), seconds("total", "TT (s)", -1)],
        ),
        "large": (
            "the larger protocol",
            [metric(f"large_{name}", heading, over_floor=True) for name, heading in both.items()],
        ),
        "law": (
            "increments, joint law and held-out score",
            [
                *(metric(*item, over_floor=True) for item in JOINT_METRICS.items()),
                metric("increment_kurtosis", "Increment excess kurtosis", 0),
                metric("kurtosis_error", "Kurtosis error", over_floor=True),
                metric("score", "Log-likelihood", 1),
            ],
        ),
        "coefficients": (
            "relative errors of the coefficients",
            [
                metric("drift_error", "f"),
                metric("drift_median_error", "f, median"),
                metric("diffusion_error", "a"),
                metric("diffusion_median_error", "a, median"),
                metric("jump_rate_error", "λ"),
                metric("jump_law_error", "Jump law"),
            ],
        ),
        "statistics": ("physics", [metric(*item, better=0) for item in case.statistics.items()]),
    }


def tables(case: Case, records: Records) -> list[Table]:
    """Makes all tables of one system from its records."""
    by_method = {m: {k[2]: r for k, r in records.items() if k[:2] == (case.name, m)} for m in METHODS}
    by_method = {method: found for method, found in by_method.items() if found}
    made = [_table(name, case, by_method, *layout) for name, layout in _layouts(case).items()]
    made += [_excess(case, by_method), _paired(case, by_method), _times(case, by_method)]
    return [replace(table, labels=case.labels) for table in made]


def _table(name: str, case: Case, by_method: dict[str, BySeed], title: str, columns: Sequence[Column]) -> Table:
    floor = by_method.get(ORACLE, {})
    cells = {method: [_cell(column, method, found, floor) for column in columns] for method, found in by_method.items()}
    for i, column in enumerate(columns):
        _mark_best(cells, i, column, by_method)
    kept = [i for i in range(len(columns)) if any(row[i] != Cell() for row in cells.values())]
    return Table(
        name,
        case.name,
        f"{case.label}: {title}",
        tuple(columns[i].heading for i in kept),
        {m: tuple(row[i] for i in kept) for m, row in cells.items() if any(cell != Cell() for cell in row)},
        tuple(_notes(case, cells, by_method)),
    )


def _cell(column: Column, method: str, found: BySeed, floor: BySeed) -> Cell:
    values = _values(column, found)
    if isinstance(values, str):
        return Cell(text=values)
    if method == ORACLE and column.over_floor:
        return Cell(float(values.mean()), _floor_spread(column, found), seeds=len(values))
    cell = Cell(float(values.mean()), _deviation(values), seeds=len(values))
    if not column.over_floor or set(found) - set(floor):
        return cell
    ratios = values / np.array([column.figure(floor[seed]) for seed in sorted(found)])
    suspicious = bool(ratios.mean() < SUSPICIOUS_RATIO)
    return replace(cell, ratio=float(ratios.mean()), ratio_error=_error(ratios), suspicious=suspicious)


def _values(column: Column, found: BySeed) -> Float[np.ndarray, " seeds"] | str:
    """One number for each seed, or what stands instead: "--" where a seed did not converge, nothing if undefined."""
    values = [column.figure(found[seed]) for seed in sorted(found)]
    if all(value is not None for value in values):
        return np.array(values, float)
    return "--" if any(r["status"] != Status.DONE for r in found.values()) else ""


def _floor_spread(column: Column, found: BySeed) -> float:
    """Standard deviation over the replicates of one seed, averaged over seeds."""
    spreads = [column.figure({"metrics": record["spread"]}) for record in found.values()]
    return float(np.mean(np.array(spreads, float)))


def _deviation(values: Float[np.ndarray, " seeds"]) -> float | None:
    return float(values.std(ddof=1)) if len(values) > 1 else None


def _error(values: Float[np.ndarray, " seeds"]) -> float | None:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def _mark_best(cells: dict[str, list[Cell]], i: int, column: Column, by_method: dict[str, BySeed]) -> None:
    """Marks the best of the methods that learn and those tied with it; the references know the equations."""
    rivals = {m: row[i] for m, row in cells.items() if m not in (ORACLE, PARAMETRIC) and row[i].mean is not None}
    if column.better == 0 or len(rivals) < 2:
        return
    first = max(rivals, key=lambda m: column.better * (rivals[m].mean or 0.0))
    for method in rivals:
        pairs = _pairs(column, by_method[method], by_method[first])
        if method == first or (pairs is not None and TieRule().holds(*pairs, logarithms=column.better > 0)):
            cells[method][i] = replace(cells[method][i], best=True)


def _pairs(column: Column, a: BySeed, b: BySeed) -> Float[np.ndarray, "2 seeds"] | None:
    """Figures of both on the seeds that both have; None where one has no figure."""
    common = sorted(set(a) & set(b))
    pairs = [(column.figure(a[seed]), column.figure(b[seed])) for seed in common]
    return None if not pairs or any(None in pair for pair in pairs) else np.array(pairs, float).T


def _gap(column: Column, a: BySeed, b: BySeed) -> Float[np.ndarray, " seeds"] | None:
    """Differences on the seeds that both have; None where one has no figure."""
    pairs = _pairs(column, a, b)
    return None if pairs is None else pairs[0] - pairs[1]


def _notes(case: Case, cells: dict[str, list[Cell]], by_method: dict[str, BySeed]) -> list[str]:
    notes, labels = [], {method: case.labels.get(method, METHODS[method].label) for method in by_method}
    for method, found in by_method.items():
        for status in sorted({record["status"] for record in found.values()} - {Status.DONE}):
            seeds = sorted(seed for seed, record in found.items() if record["status"] == status)
            cap = f" (cap {found[seeds[0]]['configuration']['cap']:g} s)" if status == "capped" else ""
            notes.append(f"{labels[method]}: {status}{cap} with seed {', '.join(map(str, seeds))}")
    low = [labels[method] for method, row in cells.items() if any(cell.suspicious for cell in row)]
    if low:
        notes.append(
            f"‡ below {SUSPICIOUS_RATIO:g} of the floor ({', '.join(low)}): no merit, but chance or too little noise"
        )
    return notes


def _excess(case: Case, by_method: dict[str, BySeed]) -> Table:
    """Value minus floor in the larger protocol, and its ratio to the parametric fit's."""
    columns = [metric(f"large_{name}", heading) for name, heading in (PAPER_METRICS | JOINT_METRICS).items()]
    floor = by_method.get(ORACLE, {})
    rows: dict[str, tuple[Cell, ...]] = {}
    for method, found in by_method.items():
        if method == ORACLE or not floor:
            continue
        cells = []
        for column in columns:
            gap, reference = (_gap(column, part, floor) for part in (found, by_method.get(PARAMETRIC, {})))
            if gap is None:
                cells.append(Cell(text="--"))
                continue
            ratio = None if reference is None or reference.mean() <= 0 else float(gap.mean() / reference.mean())
            cells.append(Cell(float(gap.mean()), _error(gap), None if method == PARAMETRIC else ratio, seeds=len(gap)))
        rows[method] = tuple(cells)
    title = f"{case.label}: excess over the floor ± standard error, larger protocol (times the parametric fit's)"
    return Table("excess", case.name, title, tuple(c.heading for c in columns), rows)


def _paired(case: Case, by_method: dict[str, BySeed]) -> Table:
    """Other methods minus the Kolmogorov likelihood, seed by seed: positive where it is better."""
    columns = [metric(*item) for item in PAPER_METRICS.items()]
    columns += [metric(f"large_{name}", f"{heading}, larger") for name, heading in PAPER_METRICS.items()]
    rows: dict[str, tuple[Cell, ...]] = {}
    for method, found in by_method.items():
        if method in (ORACLE, KOLMOGOROV) or KOLMOGOROV not in by_method:
            continue
        gaps = [_gap(column, found, by_method[KOLMOGOROV]) for column in columns]
        rows[method] = tuple(
            Cell(text="--") if gap is None else Cell(float(gap.mean()), _error(gap), seeds=len(gap)) for gap in gaps
        )
    title = f"{case.label}: other methods minus {METHODS[KOLMOGOROV].label}, paired over seeds ± standard error"
    return Table("paired", case.name, title, tuple(c.heading.removesuffix(" ↓") for c in columns), rows)


def _times(case: Case, by_method: dict[str, BySeed]) -> Table:
    """Seconds, compilation apart, and the ratios to Euler–Maruyama beside the paper's."""
    total, compilation = seconds("total", "Total (s)"), seconds("compilation", "Compilation (s)")
    processor = seconds("processor", "Processor (s)")
    rest = Column("Without compilation (s)", lambda r: _difference(total.figure(r), compilation.figure(r)))
    reference = by_method.get(REFERENCE, {})
    rows: dict[str, tuple[Cell, ...]] = {}
    for method, found in by_method.items():
        if method != ORACLE:
            parts = [_cell(column, method, found, {}) for column in (total, compilation, rest, processor)]
            ratios = [_time_ratio(column, found, reference) for column in (total, rest, processor)]
            rows[method] = (*parts, *ratios, _printed_ratio(case, method))
    headings = (total.heading, compilation.heading, rest.heading, processor.heading)
    headings += ("÷ Euler–Maruyama", "÷ E–M without compilation", "÷ E–M, processor", "÷ E–M in the paper")
    return Table("times", case.name, f"{case.label}: training time", headings, rows)


def _difference(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b


def _time_ratio(column: Column, found: BySeed, reference: BySeed) -> Cell:
    common = sorted(set(found) & set(reference))
    pairs = [(column.figure(found[seed]), column.figure(reference[seed])) for seed in common]
    ratios = np.array([x / y for x, y in pairs if x is not None and y])
    return Cell(float(ratios.mean()), _error(ratios), seeds=len(ratios)) if len(ratios) else Cell()


def _printed_ratio(case: Case, method: str) -> Cell:
    """From the printed training times."""
    times = [case.paper[m].seconds.split()[0] for m in (method, REFERENCE) if m in case.paper]
    return Cell() if len(times) < 2 or "--" in times else Cell(text=f"{float(times[0]) / float(times[1]):.3g}")
