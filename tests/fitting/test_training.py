"""The trainings of one fit: their keys, histories, progress and times."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nke.fitting import Blocks, FitRun, Schedule, Trainer


class Number(eqx.Module):
    value: jax.Array


def squared_distance(number: Number, data: jax.Array, i: jax.Array) -> jax.Array:
    return (number.value - data[i]) ** 2


DATA = 2 * (Blocks(jnp.ones(50), 50, 1),)


@pytest.fixture
def begun() -> list[tuple[str, int]]:
    return []


@pytest.fixture
def trainer(begun) -> Trainer:
    def progress(name, total):
        begun.append((name, total))
        return lambda amount: None

    return Trainer(Schedule(steps=400, learning_rate=0.05, particles=10), FitRun(3, progress))


def test_trainings_are_kept_by_name_and_kind(trainer, begun):
    start = Number(jnp.asarray(0.0))
    short = trainer.train("short", squared_distance, start, DATA, trial=200)
    whole = trainer.train("whole", squared_distance, start, DATA)
    assert begun == [("short", 200), ("whole", 400)]
    assert {name: curve.kind for name, curve in trainer.history.items()} == {"short": "trial", "whole": "training"}
    assert trainer.history["whole"].steps.tolist() == [200, 400]
    assert float(short.value) == pytest.approx(1, abs=1e-3)
    assert float(whole.value) == pytest.approx(1, abs=1e-4)
    with trainer.clock("thinking"):
        pass
    with trainer.clock("thinking"):
        pass
    assert list(trainer.timings()) == ["thinking", "short", "whole"]
    assert trainer.timings()["whole"] == trainer.history["whole"].seconds > 0


def test_keys_follow_from_the_seed(trainer):
    same, other = Trainer(Schedule(), FitRun(3)), Trainer(Schedule(), FitRun(4))
    keys = [[np.asarray(jax.random.key_data(t.key())).tolist() for _ in range(2)] for t in (trainer, same, other)]
    assert keys[0] == keys[1] != keys[2]
    assert keys[0][0] != keys[0][1]
