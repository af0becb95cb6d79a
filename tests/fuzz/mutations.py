"""Changes of bytes, of text, of JSON values and of arrays; each is decided by a random number generator alone."""

import copy
import json
import random
import struct

import numpy as np

EDGES = [0, 1, -1, 127, 128, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 10**12]
VALUES = [
    None, True, False, -1, 0, 1, 2, 3, 7, 64, 3000, 300_000, 2**31, 2**63, 10**30, 0.5, -0.5, 1e308, -1e308, 1e-320,
    float("nan"), float("inf"), "", "x", "1", "null", "\ud800", "a" * 3000, "../../etc/passwd", [], [[]], [None],
    [0, 1], [1, 0], [0, 0], [[0, 1]], [[0, 1], [1, 0]], [-1], [1e400], {}, {"a": 1}, {"kind": "plain"}, {"kind": None},
]  # fmt: skip
CELLS = [
    "", " ", "nan", "inf", "-inf", "1e999", "-1e-999", "1_000", "0x10", "1,5", '"', '""', "'", "#", "\x00", "\r", "\n",
    "\n\n", ",", ",,,,", ";", "\t", "True", "2024-01-01", "2024-13-45", "10:00", "٣", "½", "\ufeff", "a" * 5000,
    "9" * 400, "--1", "time", "x", "=1+1", "1e5e5", "null", "\x1a",
]  # fmt: skip


def damaged(content: bytes, rng: random.Random, other: bytes = b"") -> bytes:
    """Bytes as a bad disk, a cut connection or somebody with an editor leaves them."""
    result = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 16])):
        size = max(len(result), 1)
        at = min(rng.randrange(size), rng.randrange(size)) if rng.random() < 0.7 else rng.randrange(size)
        length = rng.choice([1, 2, 4, 8, 64, 1000])
        match rng.randrange(10):
            case 0 if result:
                result[at % len(result)] ^= 1 << rng.randrange(8)
            case 1 if result:
                result[at % len(result)] = rng.randrange(256)
            case 2:
                del result[at:]
            case 3:
                del result[at : at + length]
            case 4:
                result[at:at] = rng.randbytes(length)
            case 5:
                result[at : at + length] = bytes([rng.choice([0, 255])]) * length
            case 6:
                kind = rng.choice(["<i", "<q", ">i", ">q"])
                edge = rng.choice(EDGES) & (2**31 - 1 if kind[1] == "i" else 2**63 - 1)
                result[at : at + struct.calcsize(kind)] = struct.pack(kind, edge)
            case 7:
                result[at:at] = result[at : at + length]
            case 8 if other:
                start = rng.randrange(len(other))
                result[at : at + length] = other[start : start + length]
            case _:
                result[at : at + length] = rng.randbytes(length)
    return bytes(result)


def other_text(content: bytes, rng: random.Random) -> bytes:
    """A table with cells, lines and separators that do not belong there."""
    lines = [line.split(",") for line in content.decode().split("\n")]
    for _ in range(rng.choice([1, 1, 2, 5])):
        row = rng.randrange(len(lines))
        column = rng.randrange(len(lines[row])) if lines[row] else 0
        match rng.randrange(7):
            case 0 | 1 | 2 if lines[row]:
                lines[row][column] = rng.choice(CELLS)
            case 3:
                lines[row].insert(column, rng.choice(CELLS))
            case 4 if lines[row]:
                del lines[row][column]
            case 5:
                lines.insert(row, list(rng.choice(lines)))
            case _:
                lines[row] = [rng.choice(CELLS)]
    text = "\n".join(rng.choice([","] * 8 + [";", "\t", " "]).join(line) for line in lines)
    return text.encode("utf-8", "surrogatepass")


def places(value, path=()):
    """The paths to all values within a value."""
    yield path
    if isinstance(value, dict):
        for name in value:
            yield from places(value[name], (*path, name))
    elif isinstance(value, list):
        for i in range(len(value)):
            yield from places(value[i], (*path, i))


def other_json(value, rng: random.Random):
    """JSON values of which some are others, are missing or are too many."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        *_, paths = [list(places(value))]
        path = rng.choice(paths)
        if not path:
            if rng.random() < 0.05:
                return copy.deepcopy(rng.choice(VALUES))
            continue
        part = value
        for name in path[:-1]:
            part = part[name]
        match rng.randrange(6):
            case 0:
                del part[path[-1]]
            case 1 if isinstance(part, dict):
                part[rng.choice(["kind", "more", "width", "seen", "smooth", "pairs", "limits"])] = copy.deepcopy(
                    rng.choice(VALUES)
                )
            case 2 if isinstance(part[path[-1]], int | float):
                number = part[path[-1]]
                part[path[-1]] = rng.choice([number + 1, -number, number * 2, number / 2, str(number), [number]])
            case 3:
                source = value
                for name in rng.choice(paths):
                    try:
                        source = source[name]
                    except (KeyError, IndexError, TypeError):
                        break
                part[path[-1]] = copy.deepcopy(source)
            case _:
                part[path[-1]] = copy.deepcopy(rng.choice(VALUES))
    return value


def as_json(value, rng: random.Random) -> str:
    """The text of JSON values, now and then one that is none or that is very deep."""
    if rng.random() < 0.01:
        return rng.choice(["", "[" * 200_000, "{" * 999, '{"names": ' + "9" * 5000 + "}", "\x00", "[1,]", "NaN"])
    return json.dumps(value)


def other_arrays(arrays: dict, rng: random.Random) -> dict:
    """Arrays of which one has another name, shape, kind or other numbers, is missing or is too many."""
    arrays = {name: np.array(array) for name, array in arrays.items()}
    name = rng.choice(sorted(arrays))
    array = arrays[name]
    match rng.randrange(9):
        case 0:
            del arrays[name]
        case 1:
            arrays[f"{name}{rng.choice(['x', '.value', '[0]', ''])}"] = arrays.pop(name)
        case 2:
            arrays[name] = array.reshape(rng.choice([(-1,), (1, *array.shape), (*array.shape, 1)]))
        case 3:
            arrays[name] = array.astype(rng.choice([np.float64, np.float32, np.int32, np.int64, np.uint8, np.bool_]))
        case 4:
            odd = array.astype(array.dtype)
            odd.flat[: rng.randrange(odd.size + 1)] = rng.choice([-1, 0, 1, 99])
            arrays[name] = odd
        case 5 if array.dtype.kind == "f" and array.size:
            array.flat[rng.randrange(array.size)] = rng.choice([np.nan, np.inf, -np.inf, 1e30, -1e30, 0.0])
        case 6:
            arrays[name] = np.resize(array, [max(size + rng.choice([-1, 0, 1]), 0) for size in array.shape])
        case 7:
            arrays[name] = np.array(arrays[rng.choice(sorted(arrays))])
        case _:
            arrays["more"] = array
    return arrays
