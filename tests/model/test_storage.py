"""Models as files: what is written comes back bit for bit, and nothing else is accepted."""

import itertools
import json
import os
import pickle
import struct
import subprocess
import sys
import zipfile
from importlib.metadata import version

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load as parse_tensors
from safetensors.numpy import save as pack_tensors
from safetensors.numpy import save_file

import nke
from nke.data import Coordinates
from nke.errors import DamagedFileError, InputError, InputTypeError
from nke.files.sealed import Sealed, pack
from nke.model import Model, load
from nke.model.storage import digest_before_7
from nke.operators import (
    Advection,
    ConstantFactor,
    DiagonalFactor,
    Diffusion,
    DriftNetwork,
    FiniteTimeJump,
    FullFactor,
    Generator,
    MixtureDensityNetwork,
    PoissonJump,
    RelativeFactor,
    ScalarFactor,
)
from nke.systems import BimodalJumps


def relative_factor(start, width, depth, *, key):
    return RelativeFactor(start, width, depth, jnp.array([0.1, 0.2]), jnp.array([0.3, 0.4]), key=key)


FACTORS = (FullFactor, DiagonalFactor, ScalarFactor, ConstantFactor, relative_factor)
KINDS = list(itertools.product(FACTORS, (False, True)))
COMPUTED = ("FullFactor-True", "DiagonalFactor-False")  # whose outputs are compared as well
STATES = np.array([[0.1, 30.0], [-2.0, 11.0], [3.5, 25.5]])
TIMES = np.array([0.0, 0.07, 0.3])


def shaken(network, seed):
    """The network with random numbers in every array, so that no two could be exchanged unnoticed."""
    rng = np.random.default_rng(seed)
    move = lambda leaf: jnp.asarray(leaf + 0.3 * rng.standard_normal(leaf.shape), jnp.float32)  # noqa: E731
    return jax.tree.map(lambda leaf: move(leaf) if eqx.is_inexact_array(leaf) else leaf, network)


def make_model(factor=FullFactor, jumps=True):
    keys = jax.random.split(jax.random.key(0), 3)
    drift = shaken(DriftNetwork(jnp.array([1.3, 0.4]), 5, 1, key=keys[0]), 0)
    noise = shaken(factor(jnp.array([[0.5, 0.0], [0.2, 0.7]]), 4, 1, key=keys[1]), 1)
    jump = None
    if jumps:
        network = shaken(MixtureDensityNetwork(jnp.array([1.0, 0.5]), 0.1, 2, 3, 1, key=keys[2]), 2)
        jump = FiniteTimeJump(network, 0.1 + 0.2)  # a number without a short decimal form
    return Model(
        Generator(Advection(drift), Diffusion(noise), jump),
        Coordinates(np.array([1 / 3, 20.0]), np.array([np.pi, 10.0]), 1 / 7),
        1 / 30,
        ("höhe", 'a "quoted" name'),
        ("m", "°C"),
    )


def outputs(model):
    """Everything that a model computes, as bytes."""
    values = [model.drift(STATES), model.diffusion(STATES), model.jump_rate(STATES)]
    values.append(model.sample(STATES, TIMES, seed=3))
    return b"".join(np.ascontiguousarray(value).tobytes() for value in values)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """One file of each kind, written once."""
    folder = tmp_path_factory.mktemp("models")
    files = {}
    for factor, jumps in KINDS:
        path = folder / f"{factor.__name__}-{jumps}.nke"
        model = make_model(factor, jumps)
        model.save(path)
        files[path] = model
    return files


@pytest.fixture(scope="module")
def payload(saved):
    """The bytes of the file with every part in it."""
    return next(path for path in saved if path.stem == "FullFactor-True").read_bytes()


def header_length(payload):
    return 8 + struct.unpack("<Q", payload[:8])[0]


def header_of(payload):
    return json.loads(payload[8 : header_length(payload)])


# There and back


class TestRoundTrip:
    def test_every_number(self, saved):
        """Arrays, their types, structure and settings, of every kind of model."""
        for path, model in saved.items():
            loaded = load(path)
            assert eqx.tree_equal(loaded.generator, model.generator), path.stem
            ours, theirs = (jax.tree.leaves(eqx.filter(m.generator, eqx.is_array)) for m in (model, loaded))
            assert len(ours) == len(theirs) > 0
            for a, b in zip(ours, theirs, strict=True):
                assert a.dtype == b.dtype
                assert a.shape == b.shape
                assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
            assert (loaded.names, loaded.units, loaded.step) == (model.names, model.units, model.step)
            for name in ("shift", "scale", "time_unit"):
                np.testing.assert_array_equal(getattr(loaded.coordinates, name), getattr(model.coordinates, name))

    def test_everything_computed(self, saved):
        """Drift, diffusion, jump rate and simulated paths of a loaded model, byte for byte."""
        for path, model in saved.items():
            if path.stem in COMPUTED:
                assert outputs(load(path)) == outputs(model), path.stem

    def test_in_a_new_process(self, saved, tmp_path):
        """A process that never saw the model computes the same bytes from the file alone."""
        program = f"""
import sys
import numpy as np
import nke
STATES, TIMES = np.array({STATES.tolist()}), np.array({TIMES.tolist()})
for i, path in enumerate(sys.argv[2:]):
    model = nke.load(path)
    values = [model.drift(STATES), model.diffusion(STATES), model.jump_rate(STATES)]
    values.append(model.sample(STATES, TIMES, seed=3))
    np.save(f"{{sys.argv[1]}}/{{i}}.npy", np.concatenate([value.ravel() for value in values]))
"""
        chosen = [path for path in saved if path.stem in COMPUTED]
        assert len(chosen) == len(COMPUTED)
        command = [sys.executable, "-c", program, str(tmp_path), *map(str, chosen)]
        subprocess.run(command, check=True, timeout=300)
        for i, path in enumerate(chosen):
            assert np.load(tmp_path / f"{i}.npy").tobytes() == outputs(saved[path])

    def test_pruned_jump_network(self, tmp_path):
        model = make_model()
        network = model.generator.jump.network.prune([1])
        generator = eqx.tree_at(lambda g: g.jump, model.generator, FiniteTimeJump(network, 0.3))
        pruned = Model(generator, model.coordinates, model.step, model.names, model.units)
        pruned.save(tmp_path / "pruned.nke")
        assert eqx.tree_equal(load(tmp_path / "pruned.nke").generator, generator)

    def test_accuracy_of_the_flow_is_kept(self, tmp_path):
        """Runge–Kutta steps per application belong to the law that is simulated."""
        model = make_model(ConstantFactor, jumps=False)
        drift = eqx.tree_at(
            lambda n: n.body.skip.weight, model.generator.advection.drift, jnp.array([[0.0, 9.0], [-9.0, 0.0]])
        )
        generator = Generator(Advection(drift, flow_steps=8), model.generator.diffusion)
        turning = Model(generator, model.coordinates, 0.1, model.names, model.units)
        turning.save(tmp_path / "turning.nke")
        assert outputs(load(tmp_path / "turning.nke")) == outputs(turning)

    def test_names_at_the_top(self, saved):
        path, model = next((path, model) for path, model in saved.items() if path.stem in COMPUTED)
        assert outputs(nke.load(str(path))) == outputs(model)


# The file


class TestFile:
    def test_header_is_json_with_versions_and_configuration(self, payload):
        metadata = header_of(payload)["__metadata__"]
        assert metadata["format"] == "nke-model"
        assert metadata["format_version"] == "8"
        assert metadata["nke_version"] == version("nke")
        config = json.loads(metadata["config"])
        assert config["names"] == ["höhe", 'a "quoted" name']
        assert config["units"] == ["m", "°C"]
        assert config["step"] == 1 / 30
        generator = config["generator"]
        assert generator["drift"] == {"kind": "polynomial-plus-mlp", "width": 5, "depth": 1, "degree": 1}
        assert generator["diffusion"] == {"kind": "full", "width": 4, "depth": 1}
        law = {"kind": "mixture-density-network", "components": 2, "width": 3, "depth": 1}
        assert generator["jump"] == {"kind": "finite-time", "step": 0.1 + 0.2, "law": law}
        assert generator["constraint"] is None
        assert config["splitting"] == {"kind": "strang"}

    def test_any_safetensors_reader_finds_the_arrays(self, payload):
        tensors = parse_tensors(payload)
        np.testing.assert_array_equal(tensors["coordinates.scale"], [np.pi, 10.0])
        drift = make_model().generator.advection.drift
        np.testing.assert_array_equal(tensors["advection.drift.body.skip.weight"], drift.body.skip.weight)

    def test_format_5_had_no_transforms(self, payload, tmp_path):
        metadata, tensors = header_of(payload)["__metadata__"], parse_tensors(payload)
        config = json.loads(metadata["config"])
        assert config.pop("transforms") == [{"kind": "plain"}] * 2
        metadata |= {"format_version": "5", "config": json.dumps(config)}
        del metadata["digest"]
        metadata["digest"] = digest_before_7(metadata, tensors)
        (tmp_path / "older.nke").write_bytes(pack_tensors(tensors, metadata))
        assert outputs(load(tmp_path / "older.nke")) == outputs(make_model())

    def test_no_pickle(self, saved, monkeypatch):
        def refuse(*arguments, **options):
            raise AssertionError("pickle was used")

        for name in ("load", "loads", "dump", "dumps", "Unpickler", "Pickler"):
            monkeypatch.setattr(pickle, name, refuse)
        for path in saved:
            load(path).save(path.with_suffix(".copy"))

    def test_permissions_follow_the_umask(self, tmp_path):
        previous = os.umask(0o027)
        try:
            make_model().save(tmp_path / "model.nke")
        finally:
            os.umask(previous)
        assert (tmp_path / "model.nke").stat().st_mode & 0o777 == 0o640


# What is refused


@pytest.fixture
def refused(tmp_path):
    """Checks that bytes are refused with a reason that names the file."""

    def check(content, reason="nke|damaged", error=InputError):
        path = tmp_path / "suspect.nke"
        path.write_bytes(content)
        with pytest.raises(error, match=reason) as caught:
            load(path)
        assert str(path) in str(caught.value), caught.value

    return check


class TestRefusals:
    def test_cut_short(self, payload, refused):
        for length in [*range(64), *range(64, len(payload), 997), len(payload) - 1]:
            refused(payload[:length], "not a model of nke|damaged", DamagedFileError)

    def test_longer(self, payload, refused):
        refused(payload + b"\0")

    def test_every_byte_of_the_header(self, payload, refused):
        """One bit of each byte (which one goes round), and every bit of the eight bytes of the length."""
        length = header_length(payload)
        flips = [(i, bit) for i in range(8) for bit in range(8)]
        flips += [(i, i % 8) for i in range(8, length)]
        for i, bit in flips:
            damaged = bytearray(payload)
            damaged[i] ^= 1 << bit
            refused(bytes(damaged))

    def test_bytes_of_the_data(self, payload, refused):
        start = header_length(payload)
        rng = np.random.default_rng(0)
        for i in rng.choice(np.arange(start, len(payload)), 200, replace=False):
            damaged = bytearray(payload)
            damaged[i] ^= 1 << int(rng.integers(8))
            refused(bytes(damaged), "digest", DamagedFileError)

    def test_exchanged_arrays(self, payload, refused):
        """Two arrays of one shape under each other's names: every byte is right, the file is not."""
        tensors = parse_tensors(payload)
        metadata = header_of(payload)["__metadata__"]
        tensors["coordinates.shift"], tensors["coordinates.scale"] = (
            tensors["coordinates.scale"],
            tensors["coordinates.shift"],
        )
        refused(pack_tensors(tensors, metadata), "digest", DamagedFileError)

    @pytest.mark.parametrize("format_version", ["3", "0", "5.0", "9", ""])
    def test_other_format_version(self, payload, refused, format_version):
        metadata = header_of(payload)["__metadata__"] | {"format_version": format_version, "nke_version": "9.9"}
        refused(pack_tensors(parse_tensors(payload), metadata), r"9\.9.*reads formats 4, 5, 6, 7 and 8")

    @pytest.mark.parametrize(
        ("path", "value", "error", "reason"),
        [
            (("generator", "drift", "kind"), "os.system", InputError, "expected a drift of kind .* got 'os.system'"),
            (("generator", "diffusion", "kind"), "strang", InputError, "expected a diffusion factor of kind"),
            (("generator", "jump", "law", "kind"), "", InputError, "expected a finite-time jump law of kind"),
            (("rule", "kind"), "Trapezoid", InputError, "expected a transition rule of kind"),
            (("splitting", "kind"), ["strang"], DamagedFileError, "splitting.kind as a text"),
            (("generator", "drift", "width"), None, DamagedFileError, "drift.width as a whole number"),
            (("generator", "drift", "width"), 6, DamagedFileError, "expected an array of shape"),
            (("generator", "drift", "width"), 2147483648, DamagedFileError, "whole number from 1 to"),
            (("generator", "drift", "degree"), "1", DamagedFileError, "drift.degree as a whole number"),
            (("generator", "drift", "degree"), True, DamagedFileError, "drift.degree as a whole number"),
            (("generator", "drift", "degree"), 300000, DamagedFileError, "whole number from 0 to"),
            (("generator", "drift", "degree"), 60, DamagedFileError, "expected an array of shape"),
            (("generator", "drift", "depth"), 3000, DamagedFileError, "whole number from 0 to"),
            (("generator", "drift", "depth"), 2, DamagedFileError, "there is none called"),
            (("generator", "drift", "depth"), 0, DamagedFileError, "there is one called"),
            (("generator", "drift", "pairs"), [[0, 1]], DamagedFileError, "pairs of columns"),
            (("generator", "drift", "more"), 1, DamagedFileError, "no entry 'more'"),
            (("generator", "flow_steps"), None, DamagedFileError, "flow_steps as a whole number"),
            (("generator", "jump", "law", "components"), 10**12, DamagedFileError, "whole number from 1 to"),
            (("generator", "jump", "step"), -0.1, DamagedFileError, "positive finite number"),
            (("generator", "constraint"), [], DamagedFileError, "constraint as an object"),
            (("rule", "substeps"), "", DamagedFileError, "substeps as a whole number"),
            (("rule", "resolution"), [0.1], DamagedFileError, "list of 2 finite numbers"),
            (("names",), {"a": 1}, DamagedFileError, "names as a list of texts"),
            (("names",), ["a"], DamagedFileError, "expected 1 units"),
            (("names",), ["a", "\ud800"], DamagedFileError, "names as a list of texts"),
            (("step",), "0.1", DamagedFileError, "step as a positive finite number"),
            (("step",), 1e999, DamagedFileError, "no JSON"),
            (("transforms",), [{"kind": "logit", "lower": 1, "upper": 0}] * 2, DamagedFileError, "bounds in order"),
            (("borders",), [[1, 0], [None, None]], DamagedFileError, "borders as a list of 2 pairs"),
        ],
    )
    def test_a_header_that_asks_for_something_else(self, payload, refused, path, value, error, reason):
        """Whole and with the right digest, as nobody but an ill-willed or a newer program writes it."""
        metadata, tensors = header_of(payload)["__metadata__"], parse_tensors(payload)
        config = json.loads(metadata["config"])
        part = config
        for name in path[:-1]:
            part = part[name]
        part[path[-1]] = value
        refused(pack(metadata | {"config": json.dumps(config)}, tensors), reason, error)

    @pytest.mark.parametrize("config", ["", "null", "[]", "{}", "NaN", "[" * 100_000, '{"names": ' + "9" * 5000 + "}"])
    def test_a_configuration_that_is_none(self, payload, refused, config):
        metadata = header_of(payload)["__metadata__"]
        refused(pack(metadata | {"config": config}, parse_tensors(payload)), "no JSON|expected", DamagedFileError)

    @pytest.mark.parametrize("wrong", ["nan", "double", "() and (1,)", "left over", "missing", "scale"])
    def test_arrays_that_do_not_fit(self, payload, refused, wrong):
        metadata, tensors = header_of(payload)["__metadata__"], dict(parse_tensors(payload))
        name = "advection.drift.scale.value"
        if wrong == "left over":
            tensors["more"] = np.zeros(1, np.float32)
        elif wrong == "missing":
            del tensors[name]
        elif wrong == "scale":
            tensors["coordinates.scale"] = np.array([1.0, 0.0])
        else:
            odd = {"nan": tensors[name] * np.nan, "double": np.float64(tensors[name])}
            tensors[name] = odd.get(wrong, tensors[name][:, None])
        refused(pack(metadata, tensors), "expected", DamagedFileError)

    def test_a_number_is_no_array_of_one_number(self):
        one, same = (pack({}, {"x": np.ones(shape)}) for shape in ((), (1,)))
        assert Sealed(one, "one").texts["digest"] != Sealed(same, "same").texts["digest"]

    def test_other_order_of_the_same_entries(self, payload, refused):
        """The header is covered as well: one file for one content."""
        header = header_of(payload)
        texts = header.pop("__metadata__")
        words = json.dumps({**header, "__metadata__": texts}, separators=(",", ":")).encode()
        words += b" " * (-len(words) % 8)
        refused(struct.pack("<Q", len(words)) + words + payload[header_length(payload) :], "digest")

    @pytest.mark.parametrize("shape", [[10**12], [2**62, 4], [0, 10**30], [1] * 60, [-1], [True], "3", None])
    def test_sizes_that_the_file_cannot_have(self, refused, shape):
        """No memory is taken for what a header claims."""
        entry = {"dtype": "F32", "shape": shape, "data_offsets": [0, 4]}
        words = json.dumps({"__metadata__": {"format": "nke-model", "format_version": "8"}, "x": entry}).encode()
        refused(struct.pack("<Q", len(words)) + words + b"\0" * 4, "damaged", DamagedFileError)

    def test_a_fifo_is_refused_at_once(self, tmp_path):
        os.mkfifo(tmp_path / "model.nke")
        with pytest.raises(InputError, match="FIFO"):
            load(tmp_path / "model.nke")

    def test_another_kind_of_safetensors(self, refused, tmp_path):
        save_file({"weight": np.ones(3, np.float32)}, tmp_path / "other.safetensors")
        refused((tmp_path / "other.safetensors").read_bytes(), "not a model of nke")
        save_file({"weight": np.ones(3, np.float32)}, tmp_path / "pt.safetensors", metadata={"format": "pt"})
        refused((tmp_path / "pt.safetensors").read_bytes(), "not a model of nke")

    def test_other_files(self, refused, tmp_path):
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr("model", "weights")
        refused((tmp_path / "a.zip").read_bytes(), "not a model of nke")
        refused(b"", "not a model of nke")
        refused(b"time,x,y\n0,1,2\n" * 100, "not a model of nke")
        refused(b'{"format": "nke-model"}', "not a model of nke")
        refused(pickle.dumps({"format": "nke-model"}), "not a model of nke")
        refused(struct.pack("<Q", 2) + b"[]", "not a model of nke")
        refused(struct.pack("<Q", 4) + b"null", "not a model of nke")
        for seed in range(20):
            refused(np.random.default_rng(seed).bytes(4096), "not a model of nke")

    def test_missing_file_or_directory(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            load(tmp_path / "missing.nke")
        with pytest.raises(IsADirectoryError):
            load(tmp_path)


# Saving


class TestSaving:
    def test_same_model_same_bytes(self, saved, tmp_path):
        for path, model in saved.items():
            model.save(tmp_path / "again.nke")
            load(path).save(tmp_path / "loaded.nke")
            assert (tmp_path / "again.nke").read_bytes() == path.read_bytes()
            assert (tmp_path / "loaded.nke").read_bytes() == path.read_bytes()

    def test_what_could_not_be_read_back_is_not_written(self, tmp_path):
        model = make_model()
        drift = eqx.tree_at(lambda n: n.body.skip.bias, model.generator.advection.drift, jnp.array([jnp.nan, 0.0]))
        generator = eqx.tree_at(lambda g: g.advection.drift, model.generator, drift)
        broken = Model(generator, model.coordinates, model.step, model.names, model.units)
        with pytest.raises(InputError, match=r"cannot be saved in .*skip\.bias, but some are NaN"):
            broken.save(tmp_path / "model.nke")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("function", ["replace", "fsync"])
    def test_a_failure_leaves_the_old_file(self, tmp_path, monkeypatch, function):
        path = tmp_path / "model.nke"
        make_model(ConstantFactor, jumps=False).save(path)
        before = path.read_bytes()

        def fail(*arguments):
            raise OSError("the disk is full")

        monkeypatch.setattr(os, function, fail)
        with pytest.raises(OSError, match="the disk is full"):
            make_model().save(path)
        monkeypatch.undo()
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]

    def test_an_interruption_leaves_nothing(self, tmp_path, monkeypatch):
        def interrupt(*arguments):
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            make_model().save(tmp_path / "model.nke")
        assert list(tmp_path.iterdir()) == []

    def test_the_file_appears_whole(self, tmp_path, monkeypatch):
        """Until the last moment the old content stands under the name; then the new one, complete."""
        path = tmp_path / "model.nke"
        path.write_bytes(b"old")
        seen = []
        replace = os.replace
        monkeypatch.setattr(os, "replace", lambda a, b: (seen.append(path.read_bytes()), replace(a, b)))
        model = make_model()
        model.save(path)
        assert seen == [b"old"]
        assert outputs(load(path)) == outputs(model)

    def test_missing_folder(self, tmp_path):
        with pytest.raises(OSError, match="missing"):
            make_model().save(tmp_path / "missing" / "model.nke")

    @pytest.mark.parametrize("part", ["drift", "noise", "jump"])
    def test_plain_functions_are_refused(self, tmp_path, part):
        model, system = make_model(), BimodalJumps()
        replacement = {
            "drift": {"advection": Advection(system.drift)},
            "noise": {"diffusion": Diffusion.from_tensor(system.diffusion)},
            "jump": {"jump": PoissonJump.from_functions(system.jump_rate, system.jump_law)},
        }[part]
        terms = {name: getattr(model.generator, name) for name in ("advection", "diffusion", "jump")}
        generator = Generator(**(terms | replacement))
        plain = Model(generator, model.coordinates, model.step, model.names, model.units)
        with pytest.raises(InputTypeError, match="saved"):
            plain.save(tmp_path / "model.nke")
        assert list(tmp_path.iterdir()) == []
