"""Wrong command lines and bad data: one line of advice, exit code 1 or 2, and no file is touched."""

import hashlib
import shutil
from pathlib import Path

import pytest

import nke
from command_line import run

DATA = {
    "good.csv": "time,x\n" + "\n".join(f"{i / 10},{(i * 7) % 11}.5" for i in range(40)),
    "empty.csv": "",
    "top.csv": "\n# recorded\n\ntime,x\n0,1\n1,two\n2,3\n",
    "below.csv": "# recorded\n\ntime;x\n0;1\n1;2\n",
    "blank.csv": "\n\n\n",
    "header.csv": "time,x\n",
    "one.csv": "time,x\n0,1\n",
    "text.csv": "time,x\n0,1\n\n\n1,two\n2,3\n",
    "short.csv": "time,x,y\n0,1,2\n1,2\n2,3,4\n",
    "long.csv": "time,x\n0,1\n1,2,3\n2,3\n",
    "twice.csv": "time,x\n0,1\n0,2\n1,3\n",
    "infinite.csv": "time,x\n0,1\n1,inf\n2,3\n",
    "huge.csv": "time,x\n0,1\n1,1e999\n2,3\n",
    "no-times.csv": "x,y\n0,1\n1,2\n2,3\n",
    "only-times.csv": "time\n0\n1\n2\n",
    "same-names.csv": "time,x,x\n0,1,1\n1,2,1\n2,3,1\n",
    "nothing-seen.csv": "time,x\n0,\n1,\n2,\n",
    "dates.csv": "date,x\n2024-01-01,1\n2024-01-02,2\n2024-13-01,3\n2024-01-04,4\n",
    "constant.csv": "time,x\n" + "\n".join(f"{i},5" for i in range(40)),
    "sum.csv": "time,x,y\n" + "\n".join(f"{i},{(i * 7) % 11},{2 * ((i * 7) % 11)}" for i in range(40)),
    "quotes.csv": 'time,x\n0,1\n1,"2\n2,3\n',
    "semicolons.csv": "time;x\n0;1\n1;2\n",
    "commas.csv": "time,x\n0,1\n",
    "utf16.csv": "time,x\n0,1\n1,2\n".encode("utf-16"),
    "latin.csv": "time,größe\n0,1\n1,2\n".encode("latin-1"),
    "binary.csv": bytes(range(256)) * 8,
    "not.npz": b"PK\x03\x04 and no more",
    "not.npy": b"\x93NUMPY\x01\x00v\x00{'descr'",
    "not.h5": b"\x89HDF\r\n\x1a\n and no more",
    "not.nc": b"CDF\x01 and no more",
    "not.parquet": b"PAR1 and no more",
    "not.nke": b"no model",
    "unknown.xyz": b"\x00\x01\x02",
}
BAD_FILES = [name for name in DATA if name not in ("good.csv", "not.nke", "twice-named")]
LINES = [
    *(f"info {name}" for name in BAD_FILES if name not in ("constant.csv", "sum.csv", "one.csv")),
    *(f"fit {name} -o law.nke" for name in BAD_FILES),
    "simulate double-well -o a.csv --seed 99999999999999999999",
    "simulate double-well -o a.csv --seed -1",
    "simulate double-well -o a.csv --seed one",
    "simulate double-well -o a.csv --duration inf",
    "simulate double-well -o a.csv --duration nan",
    "simulate double-well -o a.csv --duration -1",
    "simulate double-well -o a.csv --duration 1e300 --interval 1",
    "simulate double-well -o a.csv --interval 0",
    "simulate double-well -o a.csv --interval inf",
    "simulate double-well -o a.csv --trajectories 0",
    "simulate double-well -o a.csv --trajectories 99999999999999999999",
    "simulate double-well -o a.csv --set rate",
    "simulate double-well -o a.csv --set rate=fast",
    "simulate double-well -o a.csv --set rate=NaN",
    "simulate double-well -o a.csv --set rate=-1",
    "simulate double-well -o a.csv --set speed=1",
    "simulate double-well -o a.csv --set dimension=99999999999999999999999",
    "simulate double-well -o no/such/folder/a.csv",
    "simulate double-well -o a.doc",
    "simulate double-well -o /proc/a.csv",
    "simulate double-well -o .",
    "simulate double-well",
    "simulate triple-well -o a.csv",
    "simulate",
    "no-such-command",
    "--no-such-option",
    "fit good.csv --no-such-option",
    "fit",
    "fit no-such-file.csv",
    "fit .",
    "fit good.csv -o no/such/folder/law.nke",
    "fit good.csv -o .",
    "fit good.csv -o /proc/law.nke",
    "fit good.csv --method magic",
    "fit good.csv --step inf",
    "fit good.csv --step 0",
    "fit good.csv --step 1 --time time",
    "fit good.csv --states y",
    "fit good.csv --time clock",
    "fit good.csv --trajectory path",
    "fit good.csv --delimiter ab",
    "fit good.csv --kinetic x:",
    "fit good.csv --kinetic x:v",
    "fit good.csv --invariant y",
    "fit good.csv --positive y",
    "fit good.csv --bounds x:1:0",
    "fit good.csv --bounds x:0:nan",
    "fit good.csv --periodic x:0",
    "fit good.csv --training-steps 0",
    "fit good.csv --training-steps 99999999999999999999",
    "fit good.csv --checkpoint /proc/run",
    "fit good.csv --checkpoint good.csv",
    "sample not.nke -o a.csv --start 0 --duration 1",
    "sample good.csv -o a.csv --start 0 --duration 1",
    "sample law.nke -o a.csv --start 0 --duration 1",
    "sample not.nke -o a.csv",
    "sample not.nke -o a.csv --start 0",
    "sample not.nke -o a.csv --start 0 --duration inf",
    "sample not.nke -o a.csv --start 0 --duration 1 --paths 0",
    "plot not.nke good.csv -o pictures",
    "plot not.nke good.csv --format gif",
    "evaluate not.nke good.csv",
    "info not.nke",
    "info no-such-file.nke",
    "bench --seeds 0",
    "demo --trajectories 1",
    "demo --seed 99999999999999999999",
]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wrong")
    for name, content in DATA.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def state(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.parametrize("line", LINES)
def test_one_line_of_advice(line, files, tmp_path, monkeypatch):
    shutil.copytree(files, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    before = state(tmp_path)
    outcome = run(*line.split())
    assert outcome.exit_code in (1, 2), (outcome.exit_code, outcome.exception, outcome.stdout)
    assert isinstance(outcome.exception, SystemExit), outcome.exception
    notes = [words for words in outcome.stderr.strip().splitlines() if not words.startswith("note: ")]
    assert len(notes) == 1, outcome.stderr
    assert notes[0].startswith("nke: ")
    assert "traceback" not in notes[0].lower()
    assert state(tmp_path) == before


def test_there_are_enough_of_them():
    assert len(LINES) >= 120
    assert len(BAD_FILES) + 30 >= 50


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("text.csv", "line 5, column 2 (x): expected a number, but got 'two'"),
        ("short.csv", "line 3: expected 3 columns"),
        ("top.csv", "line 6, column 2 (x): expected a number, but got 'two'"),
        ("below.csv", "line 3: expected columns separated by ','"),
        ("infinite.csv", "line 3, column 2 (x)"),
        ("twice.csv", "line 3, column 1 (time)"),
        ("dates.csv", "line 4, column 1 (date): expected a date"),
    ],
)
def test_the_right_line_is_named(name, words, files):
    with pytest.raises(nke.errors.InputError) as caught:
        nke.read(files / name)
    assert words in str(caught.value)
