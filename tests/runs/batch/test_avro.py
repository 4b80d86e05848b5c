"""Avro files are read as they were written, by two other writers; broken ones end in a sentence."""

from __future__ import annotations

import io
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runs.batch.avro import written
from vantage.runs.batch.avro import records

WORDS = {"type": "array", "items": {"type": "map", "values": ["null", "string"]}}
KINDS: dict[str, Any] = {
    "type": "record",
    "name": "All",
    "fields": [
        {"name": "long", "type": "long"},
        {"name": "double", "type": {"type": "double"}},
        {"name": "flag", "type": "boolean"},
        {"name": "raw", "type": "bytes"},
        {"name": "words", "type": WORDS},
        {"name": "colour", "type": {"type": "enum", "name": "Colour", "symbols": ["red", "blue"]}},
        {"name": "four", "type": {"type": "fixed", "name": "Four", "size": 4}},
    ],
}
SHORT = st.text(max_size=4)
VALUES = st.fixed_dictionaries(
    {
        "long": st.integers(-(2**62), 2**62),
        "double": st.floats(allow_nan=False),
        "flag": st.booleans(),
        "raw": st.binary(max_size=200),
        "words": st.lists(
            st.dictionaries(st.text(max_size=4), st.none() | st.text(max_size=4), max_size=3), max_size=3
        ),
        "colour": st.sampled_from(["red", "blue"]),
        "four": st.binary(min_size=4, max_size=4),
    }
)


@given(st.lists(VALUES, max_size=3), st.booleans())
def test_every_type_is_read_as_it_was_written(rows: list[dict[str, Any]], deflated: bool) -> None:
    assert list(records(written(KINDS, rows, deflated=deflated))) == rows


def test_a_type_is_known_by_its_name() -> None:
    pair = {"type": "record", "name": "Pair", "fields": [{"name": "x", "type": "int"}]}
    both = {"type": "record", "name": "Two", "fields": [{"name": "a", "type": pair}, {"name": "b", "type": "Pair"}]}
    whole = {"type": "record", "name": "Two", "fields": [{"name": "a", "type": pair}, {"name": "b", "type": pair}]}
    file = written(whole, [{"a": {"x": 1}, "b": {"x": -2}}])
    named = written(both, [])
    # The same block under a schema that repeats nothing: heads differ, what follows them does not.
    block = file[len(written(whole, [])) - 18 :]
    assert list(records(named[:-18] + block)) == [{"a": {"x": 1}, "b": {"x": -2}}]


@pytest.mark.parametrize("compression", ["uncompressed", "deflate"])
def test_files_of_another_writer_are_read(compression: Any) -> None:
    table = pl.DataFrame({"name": ["a", None], "n": [1, -70_000], "many": [[1.5], []]})
    file = io.BytesIO()
    table.write_avro(file, compression)
    assert list(records(file.getvalue())) == table.to_dicts()


def test_what_is_broken_is_said() -> None:
    whole = written(KINDS["fields"][0]["type"], [1, 2, 3])
    for broken in (b"", b"PK\3\4", whole[:-20], whole[:-1] + b"x", whole.replace(b"null", b"zstd")):
        with pytest.raises(ValueError, match=r"this is not|it ends|a block|compressed with zstd"):
            list(records(broken))
