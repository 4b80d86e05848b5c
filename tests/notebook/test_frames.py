from __future__ import annotations

import builtins
import datetime as dt
import sys
from typing import Any

import pandas as pd
import polars as pl
import pytest

from vantage import InputError, demo_corpus, to_pandas
from vantage.measures import alpha

UTC = dt.UTC
FRAME = pl.DataFrame(
    {
        "whole": [1, None],
        "all": [1, 2],
        "small": pl.Series([1, None], dtype=pl.UInt8),
        "huge": pl.Series([2**100, None], dtype=pl.Int128),
        "real": [0.5, None],
        "text": ["x", None],
        "flag": [True, None],
        "list": [[1.0], None],
        "struct": [{"a": 1}, {"a": 2}],
        "enum": pl.Series(["no", None], dtype=pl.Enum(["no", "yes"])),
        "named": pl.Series(["no", None], dtype=pl.Categorical),
        "day": [dt.date(2026, 1, 2), None],
        "time": [dt.datetime(2026, 1, 2, 3), None],
        "zoned": [dt.datetime(2026, 10, 25, 0, 30, tzinfo=UTC), dt.datetime(2026, 10, 25, 1, 30, tzinfo=UTC)],
        "nothing": [None, None],
    }
).with_columns(pl.col("zoned").dt.convert_time_zone("Europe/Berlin"))


def test_every_kind_of_column_becomes_what_pandas_has_for_it() -> None:
    found = to_pandas(FRAME)
    kinds = {name: str(dtype) for name, dtype in found.dtypes.items()}
    assert kinds["whole"] == "Int64"
    assert kinds["all"] == "int64"
    assert kinds["small"] == "UInt8"
    assert kinds["flag"] == "boolean"
    assert kinds["enum"] == kinds["named"] == "category"
    assert kinds["day"].startswith("datetime64")
    assert kinds["time"].startswith("datetime64")
    assert found["huge"][0] == 2**100
    assert found["text"].tolist() == ["x", None]
    assert list(found["enum"].cat.categories) == ["no", "yes"]
    # The hour that comes twice when clocks go back stays two hours.
    assert (found["zoned"][1] - found["zoned"][0]) == pd.Timedelta(hours=1)
    assert found["struct"][1] == {"a": 2}


def test_the_same_as_polars_gives_with_pyarrow() -> None:
    for frame in (alpha(demo_corpus(), by="question"), demo_corpus().judgments):
        ours, theirs = to_pandas(frame), frame.to_pandas()
        for name in frame.columns:
            if not frame.schema[name].is_nested():
                assert ours[name].astype(object).where(ours[name].notna(), None).tolist() == (
                    theirs[name].astype(object).where(theirs[name].notna(), None).tolist()
                )


def test_it_needs_no_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "pyarrow":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    assert to_pandas(demo_corpus().judgments).shape == demo_corpus().judgments.shape


def test_without_pandas_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pip install pandas"):
        to_pandas(FRAME)
