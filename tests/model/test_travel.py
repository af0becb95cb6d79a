"""Models go to other processes and threads, and sample the same there."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor

import cloudpickle
import equinox as eqx
import numpy as np
import pytest

from stored_models import EXAMPLES

TIMES = np.array([0.0, 0.05, 0.2])


def sampled(model) -> bytes:
    """Everything that a few paths of a model are, as bytes."""
    start = np.full((3, len(model.names)), 0.5)
    return model.sample(start, TIMES, seed=3).tobytes() + model.drift(start).tobytes()


def same(a, b) -> bool:
    """Whether two models have the same parts, options and bytes of arrays."""
    sides = ("shift", "scale")
    arrays = all(np.array_equal(getattr(a.coordinates, side), getattr(b.coordinates, side)) for side in sides)
    options = (a.rule, a.splitting, a.step, a.names, a.borders) == (b.rule, b.splitting, b.step, b.names, b.borders)
    return bool(eqx.tree_equal(a.generator, b.generator)) and arrays and options


@pytest.fixture(scope="module")
def model():
    return EXAMPLES["networks"]()


@pytest.mark.parametrize("name", EXAMPLES)
def test_through_pickles_and_copies(name):
    """Also through those of cloudpickle, which joblib takes, and the serialisation of Dask."""
    model, dask = EXAMPLES[name](), pytest.importorskip("distributed.protocol")
    assert same(pickle.loads(pickle.dumps(model)), model)
    assert same(pickle.loads(cloudpickle.dumps(model)), model)
    assert same(dask.deserialize(*dask.serialize(model)), model)
    assert same(copy.copy(model), model)
    assert same(copy.deepcopy(model), model)


def test_8_threads(model):
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(sampled, [model] * 16)) == {sampled(model)}


@pytest.mark.parametrize("processes", [1, pytest.param(4, marks=pytest.mark.validation)])
def test_spawned_processes(model, processes):
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        assert set(pool.map(sampled, [model] * processes, chunksize=1)) == {sampled(model)}


@pytest.mark.validation
def test_joblib_and_dask():
    joblib, distributed = pytest.importorskip("joblib"), pytest.importorskip("distributed")
    models = [make() for make in EXAMPLES.values()]
    expected = [sampled(model) for model in models]
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(sampled)(model) for model in models) == expected
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        assert client.gather(client.map(sampled, models)) == expected
