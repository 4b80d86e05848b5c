"""Ordinary files that used to give a wrong number without a word, or a traceback."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest

from vantage import InputError
from vantage.corpora.describe import describe
from vantage.corpora.preview import preview
from vantage.corpora.readers.table import read

DRAW: Final = random.Random(45)  # noqa: S311 - reproducible


def answer(level: float, points: int = 5) -> int:
    return min(points, max(1, round(1 + (points - 1) * level + DRAW.gauss(0, 0.8))))


def test_a_column_called_count_is_a_column_like_others() -> None:
    rows = [{"id": f"x{n}", "count": DRAW.randint(1, 5), "proportion": DRAW.randint(1, 5)} for n in range(30)]
    readings = preview(pl.DataFrame(rows))["readings"]
    assert [reading["judgments"] for reading in readings] == [60, 60]
    rated = [{"item": "a", "rater": f"r{n}", "value": n, "count": n, "len": "x"} for n in (1, 2)]
    traits = describe(read(pl.DataFrame(rated), traits=["count", "len"]))["traits"]
    assert (traits["count"]["counts"], traits["len"]["counts"]) == ({"1": 1, "2": 1}, {"x": 2})


def test_reversed_copies_of_answers_are_not_further_answers() -> None:
    rows = []
    for n in range(30):
        own = [answer(n / 30) for _ in range(4)]
        rows.append(
            {"vp": n + 1, **{f"e{i}": one for i, one in enumerate(own, 1)}, "e2r": 6 - own[1], "e4r": 6 - own[3]}
        )
    problem = preview(pl.DataFrame(rows))["problem"]
    assert "'e2r' is 'e2' reversed, and only one of them can be an answer; pass --columns, and --values" in problem
    assert read(pl.DataFrame(rows), columns="item", values=["e1", "e2r", "e3", "e4r"]).sizes["judgments"] == 120


def test_percentages_may_have_a_mean_beside_them() -> None:
    rows = []
    for n in range(25):
        one, other = (20 * answer(n / 25) for _ in range(2))
        rows.append(
            {"Text": f"This is text {n}.", "Anna": f"{one}%", "Ben": f"{other}%", "Mean": f"{(one + other) / 2:g}%"}
        )
    seen = preview(pl.DataFrame(rows))
    assert (seen["raters"], seen["questions"][0]["scale"]) == (2, "1…5 (ordinal)")


def test_who_prefers_not_to_say_does_not_take_the_order_from_the_others() -> None:
    words = ["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree", "Prefer not to say"]
    table = pl.DataFrame(
        {"item": [f"t{n // 6}" for n in range(36)], "rater": [f"p{n % 6}" for n in range(36)], "value": words * 6}
    )
    with pytest.raises(InputError, match=r"'Prefer not to say' may mean that there is no answer .* pass '--missing="):
        read(table)
    assert read(table, missing=["Prefer not to say"]).questions[0].scale.level == "ordinal"
    assert read(table, valid=["Prefer not to say"]).questions[0].scale.level == "nominal"


def test_rounded_percentages_are_shares() -> None:
    rows = []
    for n in range(30):
        parts = [DRAW.random() for _ in range(3)]
        rows.append(
            {
                "id": n,
                **{name: round(100 * p / sum(parts)) for name, p in zip(("neg", "neu", "pos"), parts, strict=True)},
            }
        )
    assert "they are shares of answers, not raters; pass --shares neg,neu,pos" in preview(pl.DataFrame(rows))["problem"]


def test_ranks_are_no_counts() -> None:
    rows = [{"pid": f"p{n}", **dict(zip("ABCDE", DRAW.sample(range(1, 6), 5), strict=True))} for n in range(30)]
    seen = preview(pl.DataFrame(rows))
    assert (seen["items"], seen["raters"], seen["problem"]) == (5, 30, None)


def test_ratings_in_rounds_are_no_duplicates() -> None:
    rows = [
        {"doc": f"d{i}", "coder": f"c{k}", "round": t, "score": answer(i / 15)}
        for t in (1, 2)
        for i in range(15)
        for k in range(4)
    ]
    readings = preview(pl.DataFrame(rows))["readings"]
    assert [("condition=round" in one["command"], one["judgments"]) for one in readings] == [(False, 120), (True, 120)]


def test_the_number_of_a_row_is_not_the_item_where_all_judged_the_same() -> None:
    rows = [
        {"review_id": 5 * i + k, "product": f"P{i}", "user": f"U{k}", "stars": answer(i / 12)}
        for i in range(12)
        for k in range(5)
    ]
    seen = preview(pl.DataFrame(rows))
    assert " --map item=product,rater=user,value=stars " in seen["command"]


def test_somebody_who_took_part_twice_does_not_make_ids_a_trait() -> None:
    rows = [{"id": n, **{name: answer(DRAW.random()) for name in "abc"}} for n in (*range(1, 30), 7)]
    with pytest.raises(InputError, match="was judged already in row 7"):
        read(pl.DataFrame(rows), map={"item": "id"}, columns="rater")
    assert "was judged already in row 7" in preview(pl.DataFrame(rows))["problem"]


def means(number: int) -> list[dict[str, Any]]:
    """Ratings by three people, and the mean of them and as many others as make up a number."""
    rows = []
    for n in range(20):
        own = [answer(n / 20) for _ in range(number)]
        named = {"ann": own[0], "bob": own[1], "cai": own[2], "mean": sum(own) / number}
        rows += [{"item": f"t{n}", "rater": rater, "value": value} for rater, value in named.items()]
    return rows


@pytest.mark.parametrize(
    ("number", "doubt"), [(3, "are the mean of the others'"), (5, "answers between whole numbers")]
)
def test_a_mean_among_the_rows_does_not_make_a_scale_one_of_any_number(number: int, doubt: str) -> None:
    seen = preview(pl.DataFrame(means(number), strict=False))
    assert any(doubt in one["doubt"] for one in seen["doubts"])
    assert " --without mean " in seen["command"]
    assert (seen["raters"], seen["questions"][0]["scale"]) == (3, "1…5 (ordinal)")
    wide = pl.DataFrame(means(5), strict=False).pivot("rater", index="item", values="value")
    with pytest.raises(InputError, match="pass --map mean=mean, or --instrument"):
        read(wide, map={"item": "item"}, columns="rater", kinds={"mean": "aggregate"})


def test_means_of_items_are_no_people() -> None:
    rows = [{"Word": f"word{n}", "V_Mean": 1 + n / 10, "A_Mean": 3 - n / 10} for n in range(20)]
    with pytest.raises(InputError, match="rater 'V_Mean' looks like an aggregate and would count as a person"):
        read(pl.DataFrame(rows), map={"item": "Word"}, columns="rater", values=["V_Mean", "A_Mean"])


def test_one_kind_of_answers_and_times_beside_them_are_two_readings_with_what_belongs_to_each() -> None:
    DRAW.seed(2)
    rows = [
        {f"S{k}": answer(k / 6) for k in range(1, 7)}
        | {f"S{k}_Dauer": round(DRAW.uniform(2, 40), 1) for k in range(1, 7)}
        | {"Attention": DRAW.choice([3, 3, 3, 1]), "Geschlecht": DRAW.choice("wmd")}
        for _ in range(40)
    ]
    commands = [reading["command"] for reading in preview(pl.DataFrame(rows))["readings"]]
    assert any(" --traits Geschlecht,Attention" in one or " --traits Attention,Geschlecht" in one for one in commands)
    assert any("--values S1,S2,S3,S4,S5,S6 " in one for one in commands)


def test_objects_from_raters_to_answers_are_rows(tmp_path: Path) -> None:
    rows = [{"id": f"d{n}", "given": {"ann": "x", "bob": "xy"[n % 2], **({"cai": "y"} if n else {})}} for n in range(4)]
    (path := tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(InputError, match="if 'given' holds the answers, pass --lists 'given'"):
        read(path, map={"item": "id"})
    corpus = read(path, map={"item": "id"}, lists="given")
    assert corpus.sizes == {"items": 4, "raters": 3, "judgments": 11}
    assert corpus.questions[0].scale.describe() == "x, y (nominal)"
    assert corpus.judgments.filter(item="d1", rater="bob")["value"].to_list() == [1]


def test_two_questions_by_several_raters_in_one_row_are_offered_one_by_one() -> None:
    rows = [
        {"id": f"t{n}", **{f"{asked}_{k}": answer(DRAW.random()) for asked in ("trust", "warm") for k in range(1, 5)}}
        for n in range(25)
    ]
    readings = preview(pl.DataFrame(rows))["readings"]
    values = [one["command"].partition(" --values ")[2].partition(" --to")[0] for one in readings]
    assert {"", "'trust_*'", "'warm_*'"} <= {*values}
