"""What is made of other answers is found by arithmetic, whatever it is called."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from statistics import median, mode
from typing import Any

import numpy as np
import polars as pl
import pytest

import vantage
from vantage import InputError
from vantage.corpora.preview import preview
from vantage.corpora.readers.aggregates import sums_and_means, total_rows

PEOPLE = ("王", "李", "张", "刘", "陈")


def rated(items: int = 30) -> list[dict[str, Any]]:
    """Items with answers of five people who agree somewhat."""
    draw, rows = random.Random(4), []  # noqa: S311 - reproducible
    for item in range(items):
        true = draw.randint(1, 5)
        answers = {who: true if draw.random() < 0.5 else draw.randint(1, 5) for who in PEOPLE}
        rows.append({"句子编号": f"t{item}", **answers})
    return rows


def alpha(corpus: vantage.Corpus) -> float:
    return float(vantage.measures.alpha(corpus.people(), level="ordinal", ci="none")["estimate"][0])


def plain() -> float:
    return alpha(vantage.read(pl.DataFrame(rated()), item="句子编号", columns="rater"))


def test_sums_of_some_and_of_reversed_columns() -> None:
    table = np.random.default_rng(1).integers(1, 6, (40, 6)).astype(float)
    some, turned = table[:, :3].sum(axis=1), table[:, 3] + table[:, 4] + (6 - table[:, 5])
    every = np.column_stack([table, some, turned, table[:, 3:].mean(axis=1).round(2), table[:, ::-1].sum(axis=1) % 7])
    assert sums_and_means(every, range(6)) == {6, 7, 8}


def test_rows_of_sum_number_and_mean_are_found_together(tmp_path: Path) -> None:
    rows = rated()
    named: dict[str, Callable[[list[int]], float]] = {
        "合计": np.sum,
        "人数": len,
        "平均": lambda given: round(float(np.mean(given)), 2),
    }
    made = [
        {"句子编号": name, **{who: float(rule([r[who] for r in rows])) for who in PEOPLE}}
        for name, rule in named.items()
    ]
    frame = pl.DataFrame([*rows, *made], strict=False, infer_schema_length=None)
    assert total_rows(frame) == [30, 31, 32]
    assert total_rows(frame.head(30)) == []
    frame.write_csv(path := tmp_path / "t.csv")
    seen = preview(path)
    assert "--without 合计,人数,平均" in seen["command"].replace("'", "")
    assert alpha(vantage.read(path)) == pytest.approx(plain(), abs=1e-12)
    with pytest.raises(InputError, match="the rows 合计, 人数, 平均 are the sum or the mean of the others"):
        vantage.read(path, item="句子编号", columns="rater")


def test_mean_median_and_commonest_answer_beside_people() -> None:
    rows = rated()
    for row in rows:
        given = [row[who] for who in PEOPLE]
        row |= {"平均": round(sum(given) / 5, 2), "众数": mode(given), "中位数": int(median(given))}
    seen = preview(pl.DataFrame(rows))
    assert "众数=aggregate" in seen["command"]
    assert "中位数=aggregate" in seen["command"]
    corpus = vantage.read(
        pl.DataFrame(rows).drop("平均"),
        item="句子编号",
        columns="rater",
        kinds={"众数": "aggregate", "中位数": "aggregate"},
    )
    assert alpha(corpus) == pytest.approx(plain(), abs=1e-12)


def test_sums_among_the_rows_of_a_long_table() -> None:
    rows = [{"item": r["句子编号"], "rater": who, "value": r[who]} for r in rated() for who in PEOPLE]
    sums = [{"item": r["句子编号"], "rater": "zz", "value": sum(r[who] for who in PEOPLE)} for r in rated()]
    with pytest.raises(InputError, match="the answers of rater 'zz' are the sum of the others' on every item"):
        vantage.read(pl.DataFrame([*rows, *sums]))
    total = [{"item": "all", "rater": who, "value": sum(r[who] for r in rated())} for who in PEOPLE]
    with pytest.raises(InputError, match="the item 'all' is the sum or the mean of the others"):
        vantage.read(pl.DataFrame([*rows, *total]), valid=["66", "77", "88", "97", "98", "99"])
    assert alpha(vantage.read(pl.DataFrame([*rows, *sums]), without=["zz"])) == pytest.approx(plain(), abs=1e-12)


def test_counts_whose_totals_differ_are_offered_as_counts() -> None:
    draw, rows = random.Random(2), []  # noqa: S311 - reproducible
    for n in range(12):
        given = [draw.randint(1, 5) for _ in range(draw.randint(3, 7))]
        rows.append({"id": f"t{n}", **{f"n_{code}": given.count(code) for code in range(1, 6)}})
    seen = preview(pl.DataFrame(rows))
    assert any("--map item=id --counts 'n_*'" in reading["command"] for reading in seen["readings"])


def test_a_description_that_looks_like_an_answer_is_asked_about() -> None:
    rows = [{"nr": n + 1, "h": random.Random(n).randint(1, 5), **row} for n, row in enumerate(rated())]  # noqa: S311
    seen = preview(pl.DataFrame(rows).drop("句子编号"))
    assert "also, 'h' may be an answer or describe its row" in seen["doubt"]
    assert {5, 6} <= {reading["raters"] for reading in seen["readings"]}
    with pytest.raises(InputError, match=r"run one of: vantage\.read\("):
        vantage.read(pl.DataFrame(rows).drop("句子编号"))


def test_json_lines_and_replies_are_known_by_what_they_hold(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text('{"item": "a", "rater": "x", "value": 1}\n{"item": "a", "rater": "y", "value": 2}\n')
    assert vantage.read(path).sizes["judgments"] == 2
    path.write_text(
        '{"item": "a", "model": "x", "reply": "Trust: 1"}\n{"item": "b", "model": "x", "reply": "Trust: 2"}\n'
    )
    assert "if these are replies of models: vantage corpora import replies" in preview(path)["problem"]
