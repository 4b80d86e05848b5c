"""Tables that tell too little: what cannot be decided is asked, and what is no answer is none."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from vantage.cli.description import preview_lines
from vantage.corpora.orders import known_order
from vantage.corpora.preview import preview
from vantage.corpora.readers.aggregates import names_of_totals

SCALE = ["gar nicht", "kaum", "etwas", "ziemlich", "völlig"]


def drawn(seed: str) -> random.Random:
    return random.Random(seed)  # noqa: S311 - reproducible


def commands(facts: dict[str, Any]) -> list[str]:
    return [reading["command"] for reading in facts["readings"]]


def test_words_of_a_scale_belong_together_although_few_rows_have_each_once() -> None:
    draw = drawn("words")
    rows = [{"oración": f"s{n:03}", **{f"juez{r}": draw.choice(SCALE) for r in range(1, 20)}} for n in range(8)]
    facts = preview(pl.DataFrame(rows))
    assert facts["doubt"] or facts["judgments"] == 8 * 19
    assert all("juez1=juez1" not in command and "--traits juez" not in command for command in commands(facts))


@pytest.mark.parametrize("rows", [4, 12, 40])
@pytest.mark.parametrize("second", [[1, 2], list(range(101)), [10, 20, 40, 80], SCALE])
def test_two_questions_with_their_own_scales_side_by_side_are_asked_about(rows: int, second: list[Any]) -> None:
    draw = drawn(f"{rows}{second}")
    table = [
        {"who": f"P{n:03}", **{f"warm_{i}": draw.choice([1, 2, 3, 4, 5, 6, 7]) for i in range(4)}}
        | {f"smart_{i}": draw.choice(second) for i in range(4)}
        for n in range(rows)
    ]
    facts = preview(pl.DataFrame(table))
    assert facts["doubt"] or facts["problem"]
    for command in commands(facts):
        assert not ("--traits" in command and "_" in command.split("--traits")[1].split("--values")[0])


def test_of_an_id_and_an_age_that_is_another_for_everybody_words_are_the_id_or_it_is_asked() -> None:
    draw = drawn("ages")
    ages = draw.sample(range(18, 80), 9)

    def table(names: list[Any]) -> pl.DataFrame:
        judged = [(i, r) for i in range(12) for r in range(9)]
        columns = {
            "ц": [f"s{i:03}" for i, _ in judged],
            "у": [names[r] for _, r in judged],
            "о": [draw.randint(1, 7) for _ in judged],
            "в": [ages[r] for _, r in judged],
        }
        return pl.DataFrame(columns)

    words = preview(table([f"p{n}x" for n in range(9)]))
    assert "'у'" not in words["doubt"]
    assert all("rater=в" not in one and "item=в" not in one for one in [words["command"] or "", *commands(words)])
    digits = preview(table(list(range(200, 209))))
    assert digits["command"] is None
    assert "'в'" in digits["doubt"] + str(digits["problem"])


def test_a_column_that_never_changes_is_no_question() -> None:
    draw = drawn("constant")
    rows = [{"item": f"s{i}", "rater": f"r{r}", "kk": draw.randint(1, 5), "zz": 1} for i in range(9) for r in range(5)]
    facts = preview(pl.DataFrame(rows))
    assert facts["command"].split(" --to")[0].endswith("--map item=item,rater=rater,value=kk")


def test_rows_of_the_mean_are_no_totals_where_nothing_varies_or_their_name_is_shared() -> None:
    frame = pl.DataFrame({"a": ["s1", "s1", "s2", "s2"], "w": [1.5, 1.0, 2.0, 1.5], "k": [1, 1, 1, 1]})
    assert names_of_totals(frame) == []
    summed = pl.DataFrame({"a": ["s1", "s2", "s3", "s4", "all"], "x": [1, 2, 3, 4, 10], "y": [3, 3, 1, 1, 8]})
    assert names_of_totals(summed) == ["all"]
    assert names_of_totals(summed.with_columns(a=pl.lit("all"))) == []


def test_a_digit_with_a_gap_below_may_be_an_answer_or_none() -> None:
    draw = drawn("gaps")
    rows = [(f"s{i}", f"r{r}", draw.choice([1, 2, 3, 4, 5, 5, 9])) for i in range(9) for r in range(6)]
    facts = preview(pl.DataFrame(rows, schema=["item", "rater", "value"], orient="row"))
    assert facts["command"] is None
    assert [reading["why"] for reading in facts["readings"]] == ["9: no answer", "9: an answer"]
    assert ["--missing 9" in commands(facts)[0], "--valid 9" in commands(facts)[1]] == [True, True]


def test_codes_for_no_answer_do_not_make_a_column_unlike_the_others() -> None:
    draw = drawn("codes")
    rows = [{"who": f"p{n}x", **{f"q{i}": draw.choice([1, 2, 3, 4, 5]) for i in range(4)}} for n in range(30)]
    for row in rows[:20]:
        row["q3"] = 99
    facts = preview(pl.DataFrame(rows))
    read = [facts["command"]] if facts["command"] else commands(facts)
    assert all("--traits q3" not in command for command in read)
    assert any("--missing 99" in command for command in read)


def test_a_slider_beside_a_scale_may_be_a_question_too() -> None:
    draw = drawn("slider")
    rows = [
        {"item": f"s{i}", "rater": f"r{r}", "a": draw.randint(0, 100), "b": draw.randint(1, 2)}
        for i in range(9)
        for r in range(8)
    ]
    facts = preview(pl.DataFrame(rows))
    assert facts["command"] is None
    assert [reading["questions"][0]["question"] for reading in facts["readings"]] == ["b", "a"] or len(
        facts["readings"]
    ) == 2


def test_the_keys_of_a_json_file_do_not_replace_a_column_whose_name_says_who_answered(tmp_path: Path) -> None:
    draw = drawn("keys")
    rows = {
        f"row{n}": {"participant": 100 + 7 * n, **{f"item_{i}": draw.randint(1, 5) for i in range(5)}}
        for n in range(30)
    }
    (path := tmp_path / "t.json").write_text(json.dumps(rows))
    assert "rater=participant" in preview(path)["command"]


def test_a_bar_between_words_makes_them_a_list() -> None:
    words = ["vrees", "woede|vreugde|rouw", "woede|rouw", "", "vrees|woede|rouw"]
    rows = [{"item": f"s{i}", "rater": f"r{r}", "value": words[(i + r) % 5]} for i in range(6) for r in range(4)]
    assert "--lists" in str(preview(pl.DataFrame(rows))["problem"])


def test_one_list_whose_first_label_is_an_answer_too_is_a_list() -> None:
    words = ["vrees", "", "woede", "vrees|rouw"]
    rows = [{"item": f"s{i}", "rater": f"r{r}", "value": words[(i + r) % 4]} for i in range(4) for r in range(3)]
    assert "--lists" in str(preview(pl.DataFrame(rows))["problem"])


def test_of_two_raters_who_differ_in_sex_the_id_is_asked_about() -> None:
    draw = drawn("two raters")
    rows = [
        {"c1": f"z{i:02}", "c2": 700 + r, "c3": "mw"[r], "c4": draw.randint(1, 3), "c5": draw.randint(1, 3)}
        for i in range(9)
        for r in range(2)
    ]
    seen = preview(pl.DataFrame(rows))
    assert seen["doubt"].startswith("either 'c3' or 'c2' may be the id")
    assert any("rater=c2" in reading["command"] for reading in seen["readings"])
    named = preview(pl.DataFrame(rows).rename({"c3": "gender", "c2": "rater", "c4": "rating", "c1": "item"}))
    assert not named["doubt"]


def test_few_comparisons_of_three_members_are_no_scale() -> None:
    pairs = [("xa", "ya"), ("xa", "za"), ("ya", "za"), ("ya", "xa"), ("za", "xa"), ("za", "ya"), ("xa", "ya")]
    rows = [{"c1": a, "c2": b, "c3": min(a, b), "c4": f"k{n % 2}"} for n, (a, b) in enumerate(pairs)]
    assert "if it is the winner of a comparison, pass --pairs c1,c2" in preview(pl.DataFrame(rows))["problem"]


def test_ages_beside_sliders_in_steps_of_five_may_be_no_answers() -> None:
    draw = drawn("sliders")
    rows = [
        {"c1": f"k{n:02}", "c2": draw.randint(18, 70), **{f"c{c}": draw.randrange(0, 101, 5) for c in (3, 4, 5)}}
        for n in range(20)
    ]
    seen = preview(pl.DataFrame(rows))
    assert "'c2' may be an answer or describe its row" in seen["doubt"]
    assert any("--traits c2" in reading["command"] for reading in seen["readings"])


def test_of_few_items_a_person_who_agrees_with_all_others_may_be_one() -> None:
    people = {
        "ann": [0, 1, 1, 0, None],
        "ben": [0, 1, 0, 0, 0],
        "cy": [None, 1, 1, 0, None],
        "dan": [None, None, None, 0, None],
        "eve": [0, None, 1, 0, 0],
        "fay": [0, 1, 1, 0, 0],
    }
    seen = preview(pl.DataFrame({"item": list("abcde"), **people}), columns="rater")
    assert [reading["why"] for reading in seen["readings"]] == ["fay is an aggregate", "fay is a person"]


def test_several_readings_of_many_rows_are_tried_on_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vantage.corpora.preview.WHOLE", 300)
    monkeypatch.setattr("vantage.corpora.readers.column_facts.SAMPLE", 100)
    draw = drawn("many")
    table = pl.DataFrame([{"c1": f"z{n:03}", **{f"c{c}": draw.randint(1, 5) for c in (2, 3, 4)}} for n in range(400)])
    seen = preview(table)
    assert (seen["rows"], seen["tried"]) == (400, 200)
    assert sorted(reading["judgments"] for reading in seen["readings"]) == [600, 600]
    assert "Each was tried on 200 of 400 rows." in preview_lines(seen)
    assert preview(table.head(300))["tried"] is None


@pytest.mark.parametrize(
    "words",
    [
        ["全くそう思わない", "あまりそう思わない", "どちらともいえない", "ややそう思う", "とてもそう思う"],
        ["لا أوافق بشدة", "لا أوافق", "محايد", "أوافق", "أوافق بشدة"],
        ["никогда", "редко", "иногда", "часто", "всегда"],
        ["전혀 그렇지 않다", "그렇지 않다", "보통이다", "그렇다", "매우 그렇다"],
    ],
)
def test_the_order_of_usual_wordings_is_known(words: list[str]) -> None:
    assert known_order(sorted(words)) == words
