from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vantage
from vantage.corpora.readers import files
from vantage.corpora.readers.files import find, read_csv, read_json, read_jsonl, read_table
from vantage.corpora.readers.table_file import FileTable
from vantage.errors import InputError


def written(folder: Path, name: str, data: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@pytest.mark.parametrize(
    "data",
    [
        b"a,b\n1,x\n2,y\n",
        b"\xef\xbb\xbfa,b\r\n1,x\r\n2,y\r\n",
        b"a,b\r1,x\r2,y",
        "a,b\n1,x\n2,y\n".encode("utf-16"),
        b" a ,b\n1,x\n2,y",
        b'"a","b"\n"1","x"\n"2","y"\n',
    ],
)
def test_marks_line_ends_and_quotes_are_accepted(tmp_path: Path, data: bytes) -> None:
    table = read_csv(written(tmp_path, "t.csv", data))
    assert table.frame.to_dict(as_series=False) == {"a": ["1", "2"], "b": ["x", "y"]}
    assert table.row(1) == 3


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found(tmp_path: Path, separator: str) -> None:
    data = f"a{separator}b\n1{separator}x, y; z\n".replace("x, y; z", '"x, y; z"')
    table = read_table(written(tmp_path, "t.csv", data))
    assert table.frame.to_dict(as_series=False) == {"a": ["1"], "b": ["x, y; z"]}


def test_cells_with_commas_quotes_and_line_ends_stay_whole(tmp_path: Path) -> None:
    table = read_csv(written(tmp_path, "t.csv", 'a,b\n1,"x, ""y""\nz"\n'))
    assert table.frame["b"].to_list() == ['x, "y"\nz']


def test_a_stray_quotation_mark_is_understood(tmp_path: Path) -> None:
    table = read_csv(written(tmp_path, "t.csv", 'a,b\n1,5" screen\n2,"fine"\n'))
    assert table.frame["b"].to_list() == ['5" screen', "fine"]


def test_blank_lines_are_passed_over_and_rows_keep_their_numbers(tmp_path: Path) -> None:
    table = read_csv(written(tmp_path, "t.csv", "a,b\n\n1,x\n\n\n2,y\n"))
    assert table.frame.height == 2
    assert [table.row(0), table.row(1)] == [3, 6]


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("t.csv", b"", "t.csv: the file is empty"),
        ("t.csv", b"\xef\xbb\xbf\r\n", "the file is empty"),
        ("t.csv", b"a,b\n", "a header but no rows"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n", "row 3: there are 3 cells under 2 column names"),
        ("t.csv", b"a,a\n1,2\n", "two columns are named 'a'"),
        ("t.csv", b"a,b\n1,caf\xe9\n", "row 2: the text is not UTF-8; pass --encoding cp1252"),
        ("t.csv", b"a,caf\xe9\n1,2\n", "row 1: the text is not UTF-8"),
        ("t.json", b'[{"a": 1}, {"a"', "row 1: the JSON ends too early"),
        ("t.json", b'[{"a": 1},\n {"a": oops}]', "row 2: this is not JSON"),
        ("t.json", b"{}", "not a list of row objects"),
        ("t.json", b'[{"a": 1}, {"a": "x"}]', "row 2, column 'a': the column mixes numbers and text"),
        ("t.jsonl", b'{"a": 1}\n{"a": \n', "row 2: this is not JSON"),
        ("t.jsonl", b"[1]\n", "row 1: this is not a JSON object"),
        ("t.jsonl", b"\n\n", "the file is empty"),
        ("t.jsonl", b'{"a": "\\ud800"}\n', "row 1: a text has half a character"),
        ("t.json", b'[{"a": "\\ud800"}]', "a text has half a character"),
        ("t.parquet", b"PAR1nothingPAR1", "not a readable Parquet file"),
        ("t.xlsx", b"x", "this is not a spreadsheet that can be read"),
        ("t.docx", b"x", "files named '.docx' are not known"),
    ],
)
def test_each_fault_of_a_file_gets_one_sentence(tmp_path: Path, name: str, data: bytes, sentence: str) -> None:
    path = written(tmp_path, name, data)
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert sentence in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_encoding_can_be_named(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", "a\ncafé\n".encode("latin-1"))
    assert read_csv(path, encoding="latin-1").frame["a"].to_list() == ["café"]
    with pytest.raises(InputError, match="no encoding 'latin-one'"):
        read_csv(path, encoding="latin-one")


def test_numbers_are_read_and_the_first_cell_that_is_none_is_named(tmp_path: Path) -> None:
    table = FileTable(tmp_path / "t.csv", pl.DataFrame({"v": ["1", " 2.5 ", None, ""], "w": ["1", "two", "3", "4"]}), 2)
    assert table.numbers("v").to_list() == [1, 2.5, None, None]
    with pytest.raises(InputError, match=r"row 3, column 'w': 'two' is not a number"):
        table.numbers("w")
    with pytest.raises(InputError, match="are no columns 'x', 'y'"):
        table.require("v", "x", "y")


def test_finding_looks_into_folders(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    path = written(tmp_path, "deep/data_long.csv", "a\n1\n")
    assert find(tmp_path, "*long*.csv") == path
    assert find(path) == path
    with pytest.raises(InputError, match=r"the folder has no file \*wide\*"):
        find(tmp_path, "*wide*")
    with pytest.raises(InputError, match="no such file or folder"):
        find(tmp_path / "absent", "x")


@given(st.binary(max_size=200), st.sampled_from(["csv", "tsv", "json", "jsonl", "parquet"]))
def test_no_bytes_escape_as_a_traceback(tmp_path: Path, data: bytes, suffix: str) -> None:
    path = written(tmp_path, f"t.{suffix}", data)
    try:
        table = read_table(path)
    except InputError as error:
        assert str(error)
    else:
        assert table.frame.height > 0


csv_like = st.text(st.sampled_from('ab1,"\n\r\t ;é\x00'), max_size=60)


@given(csv_like)
def test_nothing_that_looks_like_csv_escapes_either(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, "t.csv", text)
    try:
        table = read_csv(path)
    except InputError as error:
        assert str(error)
    else:
        assert table.frame.height > 0


def test_json_readers_give_plain_data(tmp_path: Path) -> None:
    assert read_json(written(tmp_path, "a.json", b'\xef\xbb\xbf{"a": [1]}')) == {"a": [1]}
    assert list(read_jsonl(written(tmp_path, "a.jsonl", b'{"a": 1}\r\n\r\n{"a": 2}'))) == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize("name", ["t.csv.gz", "t.xlsx", "t.zip"])
def test_a_file_that_unpacks_to_more_than_tables_do_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGE", 2**16)
    path, zeros = tmp_path / name, b"item,rater,value\n" + b"0" * 20_000_000
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(zeros, 9))
    else:
        member = {"t.xlsx": "xl/worksheets/sheet1.xml", "t.zip": "c/items.parquet"}[name]
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            archive.writestr("c/corpus.yaml", "name: x")
            archive.writestr(member, zeros)
    with pytest.raises(InputError, match=r"unpacks to more than \d+ MiB.*unpack it yourself"):
        vantage.read(path)
