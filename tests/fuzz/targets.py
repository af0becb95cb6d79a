"""What is fuzzed: how a case is made from its number, and what may come of it."""

import json
import random
import shutil
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import equinox as eqx
import numpy as np

import nke
from nke.errors import NkeError
from nke.files.sealed import Sealed, pack
from nke.fitting.checkpoint import Checkpoint
from stored_models import EXAMPLES
from tests.fuzz.mutations import as_json, damaged, other_arrays, other_json, other_text

TREE = {"weights": np.arange(6, dtype=np.float32).reshape(2, 3), "count": np.asarray(7, np.int32)}
HISTORY = {
    "history": {"likelihood": {"steps": [200], "train": [0.5], "held_out": [0.6], "best": 0, "kind": "training"}},
    "decisions": [
        {"topic": "jumps", "question": "?", "answer": "no", "evidence": {"a": 1.0}, "rule": "", "warning": ""}
    ],
    "equation": None,
    "form": {
        "noise": "constant",
        "substeps": 1,
        "degree": 1,
        "networks": False,
        "drift_network": None,
        "basis": "powers",
    },
    "score": {"value": 1.0, "error": 0.1},
    "rules": {"most_degree": 3},
    "diagnosis": None,
}


class Corpus:
    """One good file of every kind, from which all cases are made.

    Args:
        folder: Where they are written, and the cases too.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.models = {}
        for name, make in EXAMPLES.items():
            path = folder / "good.nke"
            nke.model.storage.write(make(), path, json.dumps(HISTORY))
            self.models[name] = path.read_bytes()
        older = Path(__file__).parents[1] / "model" / "format4"
        self.models |= {path.stem: path.read_bytes() for path in sorted(older.glob("*.nke"))}
        Checkpoint(folder / "run", "this fit").save("stage", TREE, {"done": 200})
        self.checkpoint = next((folder / "run").iterdir()).read_bytes()
        data = nke.Trajectories([[[1.0, 2.0], [1.5, 2.5], [np.nan, 1.0]]] * 3, 0.5, names=["x", "y"], units=["m", ""])
        parts = [np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0])], [np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0])]
        ragged = nke.Trajectories(*parts)
        self.data = {}
        for ending in ("csv", "tsv", "npz", "npy", "parquet", "h5", "nc"):
            self.data[ending] = []
            for each in (data, ragged):
                nke.write(each, folder / f"good.{ending}")
                self.data[ending].append((folder / f"good.{ending}").read_bytes())
        nke.write(data, folder / "good.zarr")


def model(payload: bytes, corpus: Corpus, original: bytes | None) -> str:
    """Loads a model file; what loads is the model that was saved, or one that can be saved again."""
    path = corpus.folder / "case.nke"
    path.write_bytes(payload)
    loaded = nke.FitResult.load(path).model
    if original is not None:
        path.write_bytes(original)
        same = eqx.tree_equal(nke.load(path).generator, loaded.generator)
        return "same" if same is True or bool(same) else "DIFFERENT"
    if zlib.crc32(payload) % 4:  # saved again now and then, since it takes most of the time
        return "valid"
    loaded.save(path)
    again = nke.load(path)
    return "valid" if bool(eqx.tree_equal(again.generator, loaded.generator)) else "DIFFERENT"


def damaged_model(rng: random.Random, corpus: Corpus) -> str:
    name = rng.choice(sorted(corpus.models))
    original = corpus.models[name]
    return model(damaged(original, rng, corpus.models[rng.choice(sorted(corpus.models))]), corpus, original)


def crafted_model(rng: random.Random, corpus: Corpus) -> str:
    """A configuration or arrays that no model has, with the right digest."""
    file = Sealed(corpus.models[rng.choice(sorted(EXAMPLES))], "good")
    texts, arrays = dict(file.texts), file.arrays()
    if rng.random() < 0.7:
        texts["config"] = as_json(other_json(json.loads(texts["config"]), rng), rng)
    if rng.random() < 0.4:
        arrays = other_arrays(arrays, rng)
    if rng.random() < 0.1:
        texts[rng.choice(sorted(texts))] = rng.choice(["", "4", "5", "6", "7", "8", "nke-model", "null"])
    return model(pack(texts, arrays), corpus, None)


def crafted_history(rng: random.Random, corpus: Corpus) -> str:
    file = Sealed(corpus.models["polynomial"], "good")
    history = as_json(other_json(HISTORY, rng), rng)
    return model(pack(file.texts | {"history": history}, file.arrays()), corpus, None)


def tampered_header(rng: random.Random, corpus: Corpus) -> str:
    """A header of safetensors whose entries claim other things, with whatever digest."""
    original = corpus.models[rng.choice(sorted(EXAMPLES))]
    length = int.from_bytes(original[:8], "little")
    words = as_json(other_json(json.loads(original[8 : 8 + length]), rng), rng).encode("utf-8", "surrogatepass")
    return model(len(words).to_bytes(8, "little") + words + original[8 + length :], corpus, original)


def checkpoint(rng: random.Random, corpus: Corpus) -> str:
    """A checkpoint is resumed as it was written or refused."""
    path = corpus.folder / "run" / "stage.checkpoint"
    crafted = rng.random() < 0.3
    content = damaged(corpus.checkpoint, rng)
    if crafted:
        file = Sealed(corpus.checkpoint, "good")
        texts = dict(file.texts)
        if rng.random() < 0.3:
            texts[rng.choice(sorted(texts))] = rng.choice(["", "0", "null", "this fit"])
        content = pack(texts, other_arrays(file.arrays(), rng))
    path.write_bytes(content)
    tree, progress = Checkpoint(corpus.folder / "run", "this fit").load("stage", TREE)
    same = all(np.array_equal(tree[name], TREE[name]) for name in TREE) and progress == {"done": 200}
    return "same" if same else "valid" if crafted else "DIFFERENT"


def data(path: Path, rng: random.Random) -> str:
    """Reads trajectories, now and then with options."""
    options = rng.choice([{}] * 6 + [{"step": 0.5}, {"states": ["x"]}, {"states": ["states"]}, {"wide": True}])
    found = nke.read(path, **options)
    assert all(np.isfinite(np.asarray(part)).all() or np.isnan(np.asarray(part)).any() for part in found.states)
    return "valid"


def damaged_data(ending: str) -> Callable[[random.Random, Corpus], str]:
    def case(rng: random.Random, corpus: Corpus) -> str:
        path = corpus.folder / f"case.{ending}"
        good = rng.choice(corpus.data[ending])
        path.write_bytes(damaged(good, rng, rng.choice(corpus.data[rng.choice(sorted(corpus.data))])))
        return data(path, rng)

    return case


def crafted_text(rng: random.Random, corpus: Corpus) -> str:
    path = corpus.folder / f"case.{rng.choice(['csv', 'csv', 'txt', 'tsv'])}"
    path.write_bytes(other_text(rng.choice(corpus.data["csv"]), rng))
    return data(path, rng)


def odd_array(rng: random.Random):
    shape = rng.choice([(), (0,), (1,), (3,), (6,), (3, 1), (1, 3), (3, 3, 2), (2, 3, 1), (2, 2, 2, 2), (0, 3)])
    kind = rng.choice(["f8", "f4", "i8", "u1", "?", "c16", "U3", "S3", "M8[s]", "m8[s]", "f2"])
    numbers = np.arange(max(int(np.prod(shape)), 1)).astype("i8")[: int(np.prod(shape))].reshape(shape)
    array = (numbers % 2 == 0) if kind == "?" else numbers.astype(kind)
    if kind == "f8" and array.size and rng.random() < 0.3:
        array = array.copy()
        array.flat[0] = rng.choice([np.nan, np.inf, 1e308])
    return array


NAMES = ["states", "times", "lengths", "names", "units", "unit_of_time", "x", "t", "time", "data", "other", "arr_0"]


def crafted_archive(rng: random.Random, corpus: Corpus) -> str:
    """An npz of arrays that no one would write, or whose members are no arrays or claim what they have not."""
    path = corpus.folder / "case.npz"
    arrays = {name: odd_array(rng) for name in rng.sample(NAMES, rng.randrange(5))}
    if rng.random() < 0.5:
        arrays |= {"states": np.arange(6.0).reshape(3, 2), "times": np.arange(3.0)}
        arrays |= {name: odd_array(rng) for name in rng.sample(NAMES, 1)}
    rng.choice([np.savez, np.savez_compressed])(path, **arrays)
    if rng.random() < 0.3:
        with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            member = corpus.data["npy"][0] if rng.random() < 0.5 else rng.randbytes(100)
            archive.writestr(rng.choice(["states.npy", "times.npy", "x", "../x.npy"]), damaged(member, rng))
    return data(path, rng)


def crafted_hdf5(rng: random.Random, corpus: Corpus) -> str:
    """An HDF5 of odd arrays, links, groups, chunks and claims."""
    import h5py

    path = corpus.folder / f"case.{rng.choice(['h5', 'h5', 'nc'])}"
    with h5py.File(path, "w") as file:
        for name in rng.sample(NAMES, rng.randrange(1, 5)):
            array = odd_array(rng)
            match rng.randrange(8):
                case 0:
                    file[name] = h5py.SoftLink(rng.choice(["/gone", "/states", f"/{name}", "/"]))
                case 1:
                    file[name] = h5py.ExternalLink("good.h5", "/states")
                case 2:
                    file.create_group(name)
                case 3:
                    size = rng.choice([10, 10**6, 10**9, 10**12])
                    file.create_dataset(
                        name, (size,), "f8", chunks=(min(size, 1000),), compression=rng.choice([None, "gzip"])
                    )
                case _ if array.dtype.kind in "fiub":
                    file[name] = array
                case _:
                    file[name] = rng.choice([b"text", "text", 1.0, h5py.Empty("f8")])
    return data(path, rng)


def store(rng: random.Random, corpus: Corpus) -> str:
    """A zarr store with other metadata or other chunks."""
    path = corpus.folder / "case.zarr"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(corpus.folder / "good.zarr", path)
    part = rng.choice(sorted(each for each in path.rglob("*") if each.is_file()))
    content = part.read_bytes()
    if part.name == "zarr.json" and rng.random() < 0.7:
        content = as_json(other_json(json.loads(content), rng), rng).encode("utf-8", "surrogatepass")
    else:
        content = damaged(content, rng)
    part.unlink() if rng.random() < 0.05 else part.write_bytes(content)
    return data(path, rng)


TARGETS: dict[str, tuple[float, Callable[[random.Random, Corpus], str]]] = {  # with how many of a hundred cases
    "model, damaged": (12, damaged_model),
    "model, header": (10, tampered_header),
    "model, crafted": (22, crafted_model),
    "model, history": (6, crafted_history),
    "checkpoint": (10, checkpoint),
    "csv, damaged": (4, damaged_data("csv")),
    "text, crafted": (15, crafted_text),
    "npz, damaged": (4, damaged_data("npz")),
    "npz, crafted": (6, crafted_archive),
    "npy, damaged": (3, damaged_data("npy")),
    "parquet, damaged": (4, damaged_data("parquet")),
    "hdf5, damaged": (1, damaged_data("h5")),
    "hdf5, crafted": (0.7, crafted_hdf5),
    "netcdf, damaged": (0.3, damaged_data("nc")),
    "zarr": (1, store),
}


def run(number: int, corpus: Corpus) -> tuple[str, str]:
    """Makes a case of its number and gives target and outcome: in capitals where it is not what is promised."""
    rng = random.Random(number)
    name = rng.choices(list(TARGETS), [weight for weight, _ in TARGETS.values()])[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return name, TARGETS[name][1](rng, corpus)
        except NkeError as error:
            told = str(error)
            if name.startswith("model") and "case.nke" not in told:
                return name, "NO PATH"
            return name, "refused"
        except OSError:
            return name, "refused"
        except MemoryError:
            return name, "OUT OF MEMORY"
        except Exception as error:
            return name, f"{type(error).__name__.upper()}"


def new_corpus() -> Corpus:
    return Corpus(Path(tempfile.mkdtemp(prefix="nke-fuzz-")))
