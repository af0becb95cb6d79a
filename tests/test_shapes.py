"""The checker of shapes that all tests run under refuses what it should."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from jaxtyping import Float, TypeCheckError

from shapes import checked, checked_once


def enforced(decorated):
    return checked_once(typechecker=checked)(decorated)


@enforced
def product(left: Float[np.ndarray, "n k"], right: Float[np.ndarray, "k m"]) -> Float[np.ndarray, "n m"]:
    return left @ right if left.any() else np.zeros((1, 1))


@enforced
@dataclass
class Pair:
    x: Float[np.ndarray, " n"]
    y: Float[np.ndarray, " n"]


class Methods:
    @enforced
    def own(self, x: Float[np.ndarray, ""]) -> float:
        return float(x)

    @staticmethod
    @enforced
    def static(x: "Float[np.ndarray, ' 2']"):
        return x

    @enforced
    @classmethod
    def of(cls, x: Float[np.ndarray, " 2"]) -> "Methods":
        return cls()

    @property
    @enforced
    def wrong(self) -> Float[np.ndarray, " 2"]:
        return np.ones(3)


@enforced
def rows(x: Float[np.ndarray, "n 2"]) -> Iterator[np.ndarray]:
    yield from x


def test_one_letter_is_one_length_within_a_call():
    assert product(np.ones((2, 3)), np.ones((3, 4))).shape == (2, 4)
    assert product(np.ones((5, 1)), np.ones((1, 1))).shape == (5, 1)
    with pytest.raises(TypeCheckError, match="right"):
        product(np.ones((2, 3)), np.ones((2, 4)))


def test_results_are_checked_against_the_arguments():
    with pytest.raises(TypeCheckError, match="return"):
        product(np.zeros((2, 3)), np.ones((3, 4)))


def test_kinds_of_numbers_are_checked():
    with pytest.raises(TypeCheckError):
        product(np.ones((2, 3)), np.ones((3, 4), int))


def test_dataclasses():
    assert Pair(np.ones(2), y=np.ones(2)).x.shape == (2,)
    with pytest.raises(TypeCheckError):
        Pair(np.ones(2), y=np.ones(3))


@pytest.mark.parametrize(
    "call",
    [
        lambda: Methods().own(np.ones(1)),
        lambda: Methods.static(np.ones(3)),
        lambda: Methods.of(np.ones(3)),
        lambda: Methods().wrong,
        lambda: rows(np.ones((2, 3))),
    ],
)
def test_methods_and_generators(call):
    with pytest.raises(TypeCheckError):
        call()


def test_right_methods_and_generators_work():
    assert Methods().own(np.ones(())) == 1.0
    assert isinstance(Methods.of(np.ones(2)), Methods)
    assert len(list(rows(np.ones((3, 2))))) == 3


def test_the_package_is_under_it():
    from nke.arrays.linear_algebra import log_normal_density

    assert log_normal_density.shapes_checked
