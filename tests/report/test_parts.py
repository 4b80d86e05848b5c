from __future__ import annotations

import polars as pl
import pytest

from tests.report.reports import frame
from vantage.errors import InputError
from vantage.report import Column, Figure, Result, Section, Table
from vantage.report.parts import dialogue


def test_estimates_are_folded_with_their_intervals_and_recomputable_columns_hidden() -> None:
    table = Table("a", "caption", frame())
    assert [head.column for head in table.heads()] == ["question", "estimate", "reason", "left_out"]
    first, second = table.rows()
    assert [cell.text for cell in first] == ["trust", "0.597 [0.500, 0.700]", "–", "2 refused"]
    assert [cell.text for cell in second] == ["skill", "–", "too few raters", "–"]
    assert (first[1].key, second[1].key) == (0.597, None)


def test_the_best_value_is_marked_and_a_lonely_one_is_not() -> None:
    best = Table("a", "c", pl.DataFrame({"f1": [0.5, 0.9, None]}), {"f1": Column(best="max")})
    assert [row[0].best for row in best.rows()] == [False, True, False]
    lowest = Table("a", "c", pl.DataFrame({"error": [3, 1]}), {"error": Column(best="min")})
    assert [row[0].best for row in lowest.rows()] == [False, True]
    alone = Table("a", "c", pl.DataFrame({"f1": [0.5]}), {"f1": Column(best="max")})
    assert [row[0].best for row in alone.rows()] == [False]


def test_a_column_may_be_a_title_a_share_or_a_difference() -> None:
    columns: dict[str, Column | str] = {"n": "number", "s": Column(percent=True), "d": Column(digits=1, signed=True)}
    table = Table("a", "c", pl.DataFrame({"n": [1000], "s": [0.5], "d": [0.25]}), columns)
    assert [head.title for head in table.heads()] == ["number", "s", "d"]
    assert [cell.text for cell in next(table.rows())] == ["1,000", "50.0 %", "+0.2"]


def test_rows_can_be_limited_and_columns_chosen() -> None:
    table = Table("a", "c", pl.DataFrame({"x": range(1000), "y": range(1000)}), shown=["y"])
    assert len(list(table.rows(200))) == 200
    assert [head.column for head in table.heads()] == ["y"]


def test_a_table_without_rows_keeps_its_heads() -> None:
    table = Table("a", "c", frame().clear())
    assert "question" in [head.column for head in table.heads()]
    assert list(table.rows()) == []


@pytest.mark.parametrize("name", ["", "Alpha", "a/b", "../a", "a b", "a--b", "é"])
def test_names_that_could_not_be_files_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="cannot be called"):
        Table(name, "c", frame())
    with pytest.raises(InputError, match="cannot be called"):
        Figure(name, "c", "alt", "points", frame())


def test_a_table_names_a_column_it_does_not_have() -> None:
    with pytest.raises(InputError, match="table 'a' has no column 'x'"):
        Table("a", "c", frame(), {"x": "title"})
    with pytest.raises(InputError, match="no column 'lo'"):
        Table("a", "c", frame(), {"estimate": Column(interval=("lo", "high"))})


def test_a_figure_without_words_tells_its_axes_and_ends() -> None:
    told = Figure("a", "c", chart="points", data=frame(), options={"category": "question"}).in_words
    assert told == "Points: estimate by question (trust, skill). 1 point; it is 0.597."


def test_a_dialogue_marks_what_was_judged_where_it_is_said() -> None:
    turns = [("Ann", "One."), ("Ben", "Two.")]
    assert dialogue("a", "c", turns, "One.").frame["judged"].to_list() == [True, False]
    last = dialogue("a", "c", turns, "Three.").frame
    assert last.row(2) == (3, "", "Three.", True)
    assert [head.column for head in dialogue("a", "c", turns).heads()] == ["turn", "speaker", "text"]
    with pytest.raises(InputError, match="two tables of the report are called 'a'"):
        Result([Section("s", [], [dialogue("a", "c", turns), Table("a", "c", frame())])])


def test_no_two_tables_of_a_report_have_one_name() -> None:
    table = Table("a", "c", frame())
    with pytest.raises(InputError, match="two tables of the report are called 'a'"):
        Result([Section("s", [], [table]), Section("t", [], [table])])


def test_a_standard_deviation_is_folded_into_its_mean() -> None:
    data = pl.DataFrame({"rater": ["a", "b"], "mean": [0.5, 0.25], "sd": [0.125, None]})
    shown = Table("a", "c", data, {"mean": Column(digits=2, spread="sd")})
    assert [head.column for head in shown.heads()] == ["rater", "mean"]
    assert [row[1].text for row in shown.rows()] == ["0.50 ± 0.12", "0.25"]
    with pytest.raises(InputError, match="no column 'none'"):
        Table("a", "c", data, {"mean": Column(spread="none")})
