"""Text tables: what people record is understood, what is broken is named by line and column."""

import numpy as np
import pytest

import nke
from recorded_files import text


def test_unsorted_rows_are_sorted_with_a_note(tmp_path):
    data = nke.read(text(tmp_path, "t,x\n0,1\n2,3\n1,2\n"))
    assert np.ravel(data.states).tolist() == [1, 2, 3]
    assert data.notes == ("rows sorted by time (line 4 was the first out of order)",)
    by_time = nke.read(text(tmp_path, "id,t,x\n1,0,1\n2,0,2\n1,1,3\n2,1,4\n"))
    assert by_time.notes == ()
    assert np.asarray(by_time.states)[..., 0].tolist() == [[1, 3], [2, 4]]


def test_a_step_instead_of_times(tmp_path):
    data = nke.read(text(tmp_path, "x\n1\n\n3\n"), step=0.5)
    assert np.ravel(data.times).tolist() == [0, 0.5, 1]
    assert data.transitions().step.tolist() == [1]


def test_delimiters_and_decimals(tmp_path):
    numbers = [1.5, -2.5]
    for content, name, options in (
        ("t;x\n0;1,5\n1;-2,5\n", "a.csv", {"delimiter": ";", "decimal": ","}),
        ("t\tx\n0\t1.5\n1\t-2.5\n", "a.txt", {}),
        ("# made by hand\n# t x\n0   1.5\n1  -2.5\n", "a.dat", {}),
        ("\ufefft,x\r\n0,1.5\r\n1,-2.5\r\n", "a.csv", {}),
    ):
        assert np.ravel(nke.read(text(tmp_path, content, name), **options).states).tolist() == numbers


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("t,x\n", "header but no rows"),
        ("0,1\n1,2\n", "line 1: expected a header"),
        ("t;x\n0;1\n1;2\n", r"line 1: expected columns separated by ',', .*--delimiter ';'"),
        ("t,x\n0,1\n1,two\n2,3\n", r"line 3, column 2 \(x\): expected a number, but got 'two'"),
        ("t,x\n0,1\n1,2,9\n2,3\n", "line 3: expected 2 columns, as in the header, but got 3"),
        ("t,x\n0,1,9\n1,2,9\n2,3\n", "line 2: expected 2 columns, as in the header, but got 3"),
        ("t,x,y\n0,1,1\n1,2\n2,3,3\n", "line 3: expected 3 columns, as in the header, but got 2"),
        ("t,x,y\n0,1,\n\n1,2\n2,3,3\n", "line 4: expected 3 columns"),
        ("t,x\n0,1\n1,1\n1,2\n", r"line 4, column 1 \(t\): expected every time once .* line 3; .*--trajectory"),
        ("id,t,x\n1,0,1\n2,1,1\n1,0,2\n", r"line 4, column 2 \(t\): .* already in line 2; remove one of the rows$"),
        ("t,x\n0,1\n1,inf\n", r"line 3, column 2 \(x\): expected a finite number"),
        ("id,t,x\n1,0,1\n,1,2\n", r"line 3, column 1 \(id\): expected the trajectory"),
        ("t,x\n0,1\nsoon,2\n", r"line 3, column 1 \(t\): expected a number, but got 'soon'"),
        ("t,x\n0,1.5\n1,\"1,5\"\n", "--decimal"),
        ("t,x,x\n0,1,1\n", "columns 2 and 3 are both called 'x'"),
        ("t,x\n0,1\n", "two observed rows"),
        (b"t,x\n0,1\n1,\xff\xfe\n", "line 3: expected UTF-8"),
        (b"t,x\n" + b"0,1\n" * 2000 + b"1,1\x005\n", r"line 2002, column 2 .x.: expected a number"),
        (bytes(range(256)) * 9, "binary"),
        ("t,x\n0,1\n".encode("utf-16"), "UTF-16"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path, content, message):
    path = text(tmp_path, content)
    with pytest.raises(ValueError, match=message) as caught:
        nke.read(path)
    assert str(caught.value).startswith(str(path))


def test_a_broken_row_in_the_middle_of_many(tmp_path):
    rows = [f"{i},{i}.5" for i in range(20_000)]
    rows[12_345] = "12345,1.5.5"
    with pytest.raises(ValueError, match=r"line 12347, column 2 \(x\): expected a number, but got '1.5.5'"):
        nke.read(text(tmp_path, "t,x\n" + "\n".join(rows)))
