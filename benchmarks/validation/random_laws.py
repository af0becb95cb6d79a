"""Laws drawn at random: cases that nobody chose, each from its number."""

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import nke
from benchmarks.validation.further import UNKNOWN
from benchmarks.validation.law import Array, Field, Law
from benchmarks.validation.nonpolynomial.experiments import Experiment
from benchmarks.validation.nonpolynomial.measurement import Learned, Sizes, coefficient_figures, rollout_figures
from benchmarks.validation.nonpolynomial.regression import Inputs, tuned_regression
from benchmarks.validation.tables import console
from nke.mixtures import GaussianMixture

ROLLOUTS, LENGTHS = 512, (0.35, 0.7, 1.4, 3.0)
SHOWN = (
    "drift",
    "reference",
    "a",
    "rate",
    "mean rate",
    "mean_mse over floor",
    "covariance_mse over floor",
    "wasserstein over floor",
    "lost",
)
SHAPES: tuple[Callable[[Array], Array], ...] = (
    np.tanh,
    np.sin,
    lambda u: np.exp(-u * u),
    lambda u: u / (1 + u * u),
    lambda u: np.maximum(u, 0) / (1 + np.maximum(u, 0)),
    np.arctan,
    lambda u: u * np.exp(-u * u / 2),
)


def random_law(number: int) -> Law:
    """A law of one to four coordinates on the whole line, or positive: drift, noise, jumps, step and size at random."""
    rng = np.random.default_rng([number, 20])
    return _positive(rng) if rng.random() < 0.35 else _line(rng)


def _line(rng: np.random.Generator) -> Law:
    """−Kx + cubic + a sum of ridge functions; noise constant, coupled or of the state; jumps now and then."""
    d = int(rng.choice([1, 1, 2, 2, 2, 3, 3, 4]))
    turn = np.triu(rng.normal(size=(d, d)), 1)
    linear = np.diag(rng.uniform(0.5, 1.5, d)) + rng.uniform(0, 1.5) * (turn - turn.T)
    cubic = rng.uniform(0, 0.5, d) * (rng.random() < 0.3)
    ridges = [_ridge(rng, d) for _ in range(int(rng.integers(0, 3)) + 1 + d // 2)]
    tilt = rng.normal(size=d) * 0.3

    def drift(x: Array) -> Array:
        return tilt - x @ linear.T - cubic * x**3 + sum((ridge(x) for ridge in ridges), np.zeros_like(x))

    spread = rng.uniform(0.3, 0.8, d)
    noise = _noise(rng, d, spread)
    step = float(rng.choice([0.02, 0.05, 0.1]))
    rate, jump = _jumps(rng, d, spread * np.sqrt(step)) if rng.random() < 0.3 else (None, None)
    names = tuple("xyzw"[:d])
    start = lambda r, m: r.normal(size=(m, d)) * 0.8  # noqa: E731
    return Law(names, drift, noise, start, step, rate, jump, dt=step / 20, **_size(rng, d))


def _positive(rng: np.random.Generator) -> Law:
    """Birth by Hill functions, death in proportion; noise of demography or in proportion to the state."""
    d = int(rng.choice([1, 2, 2, 3]))
    base, strength = rng.uniform(0.05, 0.4, d), rng.uniform(1, 4, d)
    power, half = rng.choice([1.0, 2.0, 4.0], d), rng.uniform(0.5, 1.5, d)
    source, up, death = rng.integers(0, d, d), rng.random(d) < 0.4, rng.uniform(0.5, 1.5, d)
    size, demographic = rng.uniform(0.08, 0.3, d), rng.random() < 0.5

    def born(x: Array) -> Array:
        level = (np.maximum(x, 0)[:, source] / half) ** power
        return base + strength * np.where(up, level / (1 + level), 1 / (1 + level))

    def noise(x: Array) -> Array:
        x = np.maximum(x, 0)
        deviation = np.sqrt(born(x) + death * x) / 2 if demographic else x
        return (size * deviation)[..., None] * np.eye(d)

    within: Field = np.abs if demographic else (lambda x: np.maximum(x, 1e-9))
    step = float(rng.choice([0.05, 0.1, 0.2]))
    start = lambda r, m: r.uniform(0.2, 3, (m, d))  # noqa: E731
    drift: Field = lambda x: born(x) - death * x  # noqa: E731
    return Law(tuple("abc"[:d]), drift, noise, start, step, within=within, dt=step / 20, **_size(rng, d))


def _ridge(rng: np.random.Generator, d: int) -> Field:
    shape = SHAPES[rng.integers(len(SHAPES))]
    direction, shift = rng.normal(size=d) * rng.uniform(0.7, 2.0), rng.normal() * 0.7
    into = rng.normal(size=d) * rng.uniform(0.5, 1.5)
    return lambda x: shape(x @ direction + shift)[:, None] * into


def _noise(rng: np.random.Generator, d: int, spread: Array) -> Field:
    mixed = np.linalg.qr(rng.normal(size=(d, d)))[0] if rng.random() < 0.5 else np.eye(d)
    matrix, kind = mixed * spread, int(rng.integers(4))
    direction = rng.normal(size=d)
    if kind < 2:  # constant
        return lambda x: matrix
    if kind == 2:  # between half and twice
        return lambda x: matrix * np.exp(0.7 * np.tanh(x @ direction))[:, None, None]
    return lambda x: matrix * np.sqrt(0.5 + (x @ direction) ** 2 / 2)[:, None, None]


def _jumps(rng: np.random.Generator, d: int, widths: Array) -> tuple[Field, Callable[[Array], GaussianMixture]]:
    """Jumps of 5 to 15 widths of the noise of a step, rate constant or set by the state."""
    mean = rng.normal(size=d)
    mean *= rng.uniform(5, 15) * np.linalg.norm(widths) / np.linalg.norm(mean) * (rng.random() < 0.7)
    deviation, level = rng.uniform(2, 6) * np.linalg.norm(widths), rng.uniform(0.3, 1.0)
    direction = rng.normal(size=d) * (rng.random() < 0.5)

    def law(x: Array) -> GaussianMixture:
        one = np.ones((*x.shape[:-1], 1))
        return GaussianMixture(one, mean * one[..., None], deviation**2 * one[..., None, None] * np.eye(d))

    return lambda x: level * 2 / (1 + np.exp(-2 * x @ direction)), law


def _size(rng: np.random.Generator, d: int) -> dict[str, Any]:
    transitions = 10 ** rng.uniform(3.7, 4.7) * (1 + d / 4)
    trajectories = int(rng.choice([1, 20, 200]))
    return {"trajectories": trajectories, "rows": int(transitions / trajectories) + 1}


def main(arguments: Sequence[str] = ()) -> None:
    """Fits laws drawn at random with nothing said; prints errors, roll-outs over the floor, times, verdicts."""
    parser = argparse.ArgumentParser("python -m benchmarks.validation random", description=__doc__)
    parser.add_argument("--first", type=int, default=100, help="number of the first law, which is its seed too")
    parser.add_argument("--laws", type=int, default=20, help="how many")
    parser.add_argument("--no-reference", action="store_true", help="without the regression tuned with the truth")
    options = parser.parse_args(arguments)
    for number in range(options.first, options.first + options.laws):
        line = _measured(number, not options.no_reference)
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _measured(number: int, reference: bool) -> str:
    """A fit of one law: roll-outs of 200 steps from recorded states."""
    law = random_law(number)
    training = Experiment(str(number), law, UNKNOWN, trajectories=law.trajectories, times=tuple(law.times))
    data, short = training.training_set(number), tuple(law.times[:201])
    compared = Experiment(str(number), law, UNKNOWN, trajectories=ROLLOUTS, times=short)
    seen = data.observed_states
    start = seen[np.random.default_rng(number).integers(0, len(seen), ROLLOUTS)]
    test = law.simulate(ROLLOUTS, seed=number + 10**6, times=short, initial=start)
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = nke.fit(data, seed=number, progress=False)
    seconds = time.process_time() - begin
    figures = coefficient_figures(result.model, compared, data, test)
    figures |= rollout_figures(Learned(result.model, {}), compared, data, test, number, Sizes(ROLLOUTS, 2, 2))
    if reference:
        few = data.transitions().take(slice(0, 20_000))
        figures["reference"] = tuned_regression(few, law, compared.points(test)[::5], Inputs(), LENGTHS).error
    words = ", ".join(f"{name} {figures[name]:.3g}" for name in SHOWN if name in figures)
    assert result.diagnosis is not None
    kind = (
        f"{law.dimension}-D{', jumps' if law.has_jumps else ''}{'' if not result.model.has_jumps else ', jumps found'}"
    )
    return f"law {number} ({kind}): {words}; {seconds:.0f} processor s; {result.form}; {result.diagnosis.verdict}"
