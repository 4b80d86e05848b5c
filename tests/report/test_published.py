from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage.errors import InputError
from vantage.report import Published, published_table
from vantage.report.published import PublishedFigures


@pytest.mark.parametrize(
    ("printed", "ours", "percent", "verdict"),
    [
        (".60", 0.597, False, "matched"),
        (".60", 0.594, False, "differs"),
        ("-.77", 0.77, False, "differs"),
        ("−.77", -0.7749, False, "matched"),
        ("1,316", 1316, False, "matched"),
        ("1,316", 1317, False, "differs"),
        ("62.8 %", 0.62751, True, "matched"),
        ("62.8%", 0.6270, True, "differs"),
        (".6***", 0.64, False, "matched"),
        ("3", None, False, "not recomputable"),
    ],
)
def test_the_verdict_is_at_the_precision_in_print(
    printed: str, ours: float | None, percent: bool, verdict: str
) -> None:
    assert Published("x", "Table 1", printed, ours, percent=percent).verdict == verdict


@given(st.floats(-5, 5), st.integers(0, 3))
def test_what_rounds_to_the_printed_figure_matches(value: float, digits: int) -> None:
    assert Published("x", "", f"{value:.{digits}f}", value).verdict == "matched"


def test_a_tolerance_takes_the_place_of_rounding() -> None:
    assert Published("x", "", ".60", 0.63, tolerance=0.05).verdict == "matched"


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(InputError, match="not a number as a paper prints it"):
        published_table("p", "c", [Published("x", "", "n/a", 1.0)])


def test_the_table_shows_one_digit_more_than_print_and_keeps_the_numbers() -> None:
    rows = [
        Published("a", "T1", "62.8 %", 0.62751, "pooled", percent=True),
        Published("b", "T2", ".5", None, "no data"),
    ]
    table = published_table("published", "c", rows)
    told = [[cell.text for cell in row] for row in table.rows()]
    assert told[0] == ["a", "T1", "62.8 %", "62.75 %", "−0.05 %", "matched", "pooled"]
    assert told[1] == ["b", "T2", ".5", "–", "–", "not recomputable", "no data"]
    assert table.frame["recomputed_value"].to_list() == [0.62751, None]
    assert table.published


def test_figures_of_a_corpus_that_was_not_looked_at_are_left_out_where_they_are_optional() -> None:
    group = (
        "{what: '{corpus}', where: T1, table: sizes, column: n, keys: [corpus], figures: [[one, '5'], [two, '6']]%s}"
    )
    frames = {"sizes": pl.DataFrame({"corpus": ["one"], "n": [5]})}
    for more, verdicts in (("", ["matched", "not recomputable"]), (", optional: true", ["matched"])):
        printed = PublishedFigures.parse(f"paper: it\npublished: [{group % more}]")
        assert [row.verdict for row in printed.rows(frames)] == verdicts
    assert printed.rows({}) == []
