"""Small arrays of states and times that the tests of ``nke.data`` share."""

import numpy as np


def random_states(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def pieces(value) -> list[np.ndarray]:
    """Trajectories one by one, whether stored as an array or as a list."""
    return list(value)


class Column:
    """Stands for a pandas column or frame: an object that NumPy can read."""

    def __init__(self, values):
        self.values = np.asarray(values)
        self.ndim = self.values.ndim

    def __array__(self, dtype=None, copy=None):
        return self.values.astype(dtype) if dtype else self.values


X1, X2, X3 = random_states(5), random_states(5, 2), random_states(3, 5, 2)
T1 = np.array([0.0, 1.0, 1.5, 4.0, 4.5])
T2 = T1 + np.arange(3)[:, None]
