"""Array shapes in annotations are enforced in tests; exact comparisons run in double precision."""

import gc
import os
import re
from pathlib import Path

# Tests compile much and compute little: skip the compiler's expensive passes and the emitters that take longest, leave
# programs in one piece, which takes fewer memory maps, and share what is compiled between the test processes and with
# the next run. Must be set before JAX starts; a thread for each process, before NumPy does.
COMPILER = (
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
)
os.environ.setdefault("XLA_FLAGS", " ".join(COMPILER))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parent / ".pytest_cache" / "compiled"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")

import jax
import numpy as np
import pytest

from shapes import enforce_shapes

CHEAP = {
    "tmp_path_factory",
    "pytestconfig",
    "doctest_namespace",
    "record_testsuite_property",
    "worker_id",
    "testrun_uid",
}

enforce_shapes("nke", "benchmarks")
gc.set_threshold(50_000, 20, 50)  # each time, Python goes through all that JAX keeps: a tenth of the time of all tests


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]):
    """Tests that share a fixture run in one process, so that no fit is made twice (``--dist loadgroup``)."""
    for item in items:
        shared = _shared(item)
        if shared and hasattr(item.config, "workerinput"):
            item._nodeid = f"{item.nodeid}@{shared}"  # what the marker xdist_group would do; it has no effect here


def _shared(item: pytest.Item) -> str:
    """What a test shares with others: the widest of its fixtures, or the class or file whose fixture it uses."""
    info = getattr(item, "_fixtureinfo", None)
    found = {name: defs[-1].scope for name, defs in (info.name2fixturedefs if info else {}).items() if defs}
    found = {name: scope for name, scope in found.items() if not name.startswith("_") and name not in CHEAP}
    for name, scope in sorted(found.items()):
        if scope == "session":
            return name
    place = item.nodeid.split("::")
    return place[0] if "module" in found.values() else "::".join(place[:2]) if "class" in found.values() else ""


@pytest.fixture(autouse=True, scope="module")
def _few_programs():
    """Some thousand compiled programs in one process would end it."""
    from nke.fitting.compilation import forget_programs

    forget_programs()


@pytest.fixture(autouse=True, scope="session")
def _textbook_laws_once():
    """The textbook laws of a diagnosis depend on the data alone, which many tests share: each is fitted to it once."""
    from nke.evaluation.checks.simpler_laws import TextbookLaw

    fit, found = TextbookLaw.scores, {}

    def scores(law, x, y, step):
        key = (law, *(part.tobytes() for part in (x, y, step)))
        if key not in found:
            found[key] = fit(law, x, y, step)
        values, parameters = found[key]
        return values.copy(), parameters

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TextbookLaw, "scores", scores)
        yield


@pytest.fixture
def double_precision():
    """JAX in float64 for the length of one test."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(autouse=True)
def names_in_examples(request: pytest.FixtureRequest):
    """What the examples in docstrings may use without saying so: ``np``, ``nke`` and one small fit."""
    if not isinstance(request.node, pytest.DoctestItem):
        return
    import nke

    given = {"np": np, "nke": nke}
    source = "".join(example.source for example in request.node.dtest.examples)
    if re.search(r"(?<!\.)\b(data|result|model)\b", source):  # as a name, not as in nke.data
        given |= request.getfixturevalue("small_fit")
    request.node.dtest.globs.update(
        {name: value for name, value in given.items() if name not in request.node.dtest.globs}
    )


@pytest.fixture(scope="session")
def small_fit():
    """Recorded paths of an Ornstein–Uhlenbeck process in one dimension, and what a fit makes of them."""
    import nke

    data = nke.systems.OrnsteinUhlenbeck().simulate(32, seed=0)
    result = nke.fit(data, nke.Likelihood(networks=False), jumps=False, progress=False, diagnosis=False)
    return {"data": data, "result": result, "model": result.model}
