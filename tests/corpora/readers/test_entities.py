from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from vantage.corpora.readers.release import codes, first_of_each, ids, notes_on, one_row_each, read_flat
from vantage.corpora.readers.table_file import FileTable
from vantage.errors import InputError


def table(**columns: list[object]) -> FileTable:
    return FileTable(Path("x.csv"), pl.DataFrame(columns), 2)


def test_the_first_known_value_of_each() -> None:
    rows = pl.DataFrame({"k": ["b", "a", "b", "a"], "x": [None, 1, 2, 1], "y": ["p", "q", "r", None]})
    each, differing = one_row_each(rows, "k")
    assert each.rows() == [("b", 2, "p"), ("a", 1, "q")]
    assert differing == 1
    assert one_row_each(rows.select("k"), "k")[1] == 0


def test_the_first_of_each_key() -> None:
    judgments = pl.DataFrame({"item": "a", "question": "q", "rater": ["x", "y", "x"], "value": [1, 2, 3]})
    kept, dropped = first_of_each(judgments)
    assert kept["value"].to_list() == [1, 2]
    assert dropped == 1


def test_ids_are_text() -> None:
    assert ids(table(id=[1.0, 2.0]), "id", "x-").to_list() == ["x-1", "x-2"]
    assert ids(table(id=["12345678901234567890", " 7.0 "]), "id").to_list() == ["12345678901234567890", "7"]
    with pytest.raises(InputError, match=r"x\.csv, row 3, column 'id': the cell is empty"):
        ids(table(id=[1.0, float("nan")]), "id")


def test_labels_are_codes() -> None:
    assert codes(table(a=["Yes", None, "", " no "]), "a", {"no": 0.0, "yes": 1.0}).to_list() == [
        1,
        None,
        None,
        0,
    ]
    with pytest.raises(InputError, match="row 2, column 'a': 'maybe' is not one of no, yes"):
        codes(table(a=["maybe"]), "a", {"no": 0.0, "yes": 1.0})


def test_nested_columns_are_refused(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1], "b": [[1, 2]]}).write_parquet(tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"column 'b': the column holds List\(Int64\), not single values"):
        read_flat(tmp_path / "x.parquet")


def test_only_what_happened_is_noted() -> None:
    assert list(notes_on(0, 0, 0)) == []
    assert len(list(notes_on(1, 2, 3))) == 3
