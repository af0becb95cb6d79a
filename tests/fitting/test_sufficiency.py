"""Data that cannot carry a law is refused with advice, before anything is learned; the rest goes through."""

import numpy as np
import pytest

import nke
from nke.errors import InputError
from nke.fitting.sufficiency import require_a_law
from recorded_failures import recorded, states

X = states(paths=20, rows=21)
RNG = np.random.default_rng(0)


def told(x, step=0.1, names=None):
    return nke.Trajectories(x, step, names=names)


def columns(*parts):
    return np.stack(parts, axis=-1)


U, V = X[..., 0], X[..., 1]
REFUSED = {
    "two trajectories of two rows": (RNG.normal(size=(2, 2, 1)), "at least 6 transitions.*got 2"),
    "as many rows as coordinates": (RNG.normal(size=(4, 4)), "at least 15 transitions.*got 3; record.*fewer coord"),
    "12 coordinates, 20 rows": (RNG.normal(size=(20, 12)), "at least 39 transitions.*234 parameters, but got 19"),
    "a constant": (np.full((50, 1), 7.0), "'x1' is 7 always.*record what moves"),
    "a constant zero": (np.zeros((50, 1)), "'x1' is 0 always"),
    "a constant but for rounding": (0.3 + 1e-17 * RNG.normal(size=(50, 1)), "'x1' is 0.3 always"),
    "a constant beside others": (columns(U, V, 0 * U + 1), "'x3' is 1 always.*fit the others: x1, x2"),
    "two states": (RNG.integers(0, 2, (5, 60, 1)).astype(float), "only the values 0 and 1"),
    "two states beside others": (columns(U, 1.0 * (V > 0)), "'x2' has only the values 0 and 1"),
    "the same twice": (columns(U, U), "'x2' = x1; fit the others: x1"),
    "in two units": (columns(U, 1000 * U + 3), r"'x2' = 1000 x1 \+ 3; fit"),
    "in units far apart": (columns(U, -1e-200 * V, 1e-200 * V), r"'x3' = − x2; fit the others: x1, x2"),
    "a sum": (columns(U, V, U + V), r"'x3' = x1 \+ x2; fit the others: x1, x2"),
    "a difference with an offset": (columns(U, V, U - 2 * V - 5), r"'x3' = x1 − 2 x2 − 5;"),
    "shares that add up": (columns(U, V, 1 - U - V), r"'x3' = − x1 − x2 \+ 1;"),
    "a sum in between": (columns(U, U, V), "'x2' = x1; fit the others: x1, x3"),
    "a sum after single precision": (columns(U, np.float32(U)), "'x2' = x1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused(name):
    x, message = REFUSED[name]
    with pytest.raises(InputError, match=message) as caught:
        nke.fit(told(x), progress=False)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("scale", [1e300, 1e-300, 1e160, 1e-160])
def test_squares_that_are_no_numbers(scale):
    with pytest.raises(InputError, match=r"but 'u' has size .*; change its unit or that of time"):
        nke.fit(nke.Trajectories(scale * X, 0.1, names=["u", "v"]), progress=False)


def test_steps_that_are_no_numbers():
    with pytest.raises(InputError, match="change its unit or that of time"):
        nke.fit(told(X, 1e-308), progress=False)


def test_counts_are_warned_of():
    with pytest.warns(UserWarning, match="'x1' is recorded in steps of 1 and typically moves by"):
        require_a_law(told(np.round(3 * X[..., :1])))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "x",
    [
        X,
        1e100 * X,
        columns(U, V, U * V),
        columns(U, V, U + V + 1e-4 * RNG.normal(size=U.shape)),
        columns(U, np.cumsum(U, axis=1)),  # a position and its velocity
        columns(U, 0 * U + V[:, :1]),  # the same in all rows of a trajectory
        1e6 + X,
        np.round(X, 3),
    ],
)
def test_goes_through(x):
    require_a_law(told(x))


def test_rows_not_observed_do_not_count():
    x = X.copy()
    x[:, ::2] = np.nan
    require_a_law(recorded(x))
