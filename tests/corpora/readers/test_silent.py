"""Readings that used to be silent: the import stops or asks, and the options settle it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from vantage import InputError
from vantage.corpora.readers.table import read


def long(values: list[Any], raters: list[str] | None = None, **traits: list[Any]) -> pl.DataFrame:
    names = raters or [f"rater {'abcdefghij'[n % 10]}" for n in range(len(values))]
    return pl.DataFrame(
        {"item": [f"t{n // 2:03}" for n in range(len(values))], "rater": names, "value": values, **traits}
    )


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (["1", "2", "3", "3-4"], "'3-4' is not a number, although other cells are"),
        (["1", "2", "3", "02. Jan"], "'02. Jan' is not a number, although other cells are"),
        (["3,000", "1,500", "2,000"], "'3,000' may be a number of thousands or one with a decimal comma"),
        ([1, 2, 3, 4, 5, 8, 9], "8 and 9 lie far from the other values (1 to 5) and may mean that there is no answer"),
        (
            [1, 2, 3, 4, 5] * 5 + [0],
            "0 occurs 1 time beside 1 to 5, and may be an error or no answer; pass --missing=0, or --valid=0",
        ),
        (
            [1, 2, 3, 4, 5] * 5 + [6],
            "6 occurs 1 time beside 1 to 5, and may be an error or no answer; pass --missing=6, or --valid=6",
        ),
        ([1, 2, 3, 4, 5, 6, 7, 0] * 9, "0 occurs 9 times beside 1 to 7, and may be an error or no answer"),
        ([1, 2, 3, 4, 5, 0] * 3, "0 occurs 3 times beside 1 to 5, and may be an error or no answer"),
        ([1, 2, 3, 4, 5, 6, 7, 9] * 9, "9 occurs 9 times beside 1 to 7, and may be an error or no answer"),
        ([1, 2, 3, 4, 5] * 5 + [55], "55 occurs 1 time beside 1 to 5, and may be an error or no answer"),
        (["1", "2", "3", "4", "5"] * 5 + ["3.5"], "3.5 occurs 1 time beside 1 to 5, and may be an error or no answer"),
    ],
)
def test_values_that_are_asked_about(values: list[Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        read(long(values))
    assert sentence in str(caught.value)


@pytest.mark.parametrize("values", [[1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4], [*range(11)], [0, 1, 2, 3, 4, 5, 6]])
def test_usual_scales_need_no_question(values: list[int]) -> None:
    assert read(long(values * 5)).questions[0].scale.codes == tuple(values)


def test_the_options_settle_it() -> None:
    assert read(long(["3,000", "1,500"]), decimal=".").judgments["value"].to_list() == [3000, 1500]
    assert read(long([1, 2, 3, 4, 5] * 5 + [6]), valid=["6"]).questions[0].scale.describe() == "1…6 (ordinal)"
    assert read(long([1, 2, 3, 4, 5] * 5 + [0]), missing=["0"]).questions[0].scale.describe() == "1…5 (ordinal)"


@pytest.mark.parametrize(
    "raters", [["r01", "r1"], ["Müller", "Mueller"], ["O’Neil", "O'Neil"], ["1", "01"], ["1", "1.0"], ["José", "Jose"]]
)
def test_two_spellings_may_be_one_person(raters: list[str]) -> None:
    table = pl.DataFrame({"item": ["a", "b"], "rater": raters, "value": [1, 2]})
    with pytest.raises(InputError, match="may be the same, spelt in two ways; pass --spelling join if they are"):
        read(table)
    assert read(table, spelling="keep").sizes["raters"] == 2
    assert read(table, spelling="join").sizes["raters"] == 1


def test_numbered_people_are_not_spellings() -> None:
    table = pl.DataFrame({"item": ["a"] * 3, "rater": ["r1", "r10", "r100"], "value": [1, 2, 3]})
    assert read(table).sizes["raters"] == 3


def test_decimal_commas_in_a_trait_are_numbers() -> None:
    table = long([1, 2, 1, 2], ["a", "b", "a", "b"], income=["1,5", "2,5", "1,5", "2,5"])
    with pytest.raises(InputError, match="column 'income': '1,5' looks like a number with a decimal comma"):
        read(table, traits=["income"])
    assert read(table, traits=["income"], decimal=",").raters["income"].to_list() == [1.5, 2.5]


@pytest.mark.parametrize(
    ("words", "order"),
    [
        (["20 %", "60 %", "100 %"], "20 %, 60 %, 100 %"),
        (["★★★", "★", "★★"], "★, ★★, ★★★"),
        (["III", "I", "II"], "I, II, III"),
        (["de acuerdo", "en desacuerdo", "muy de acuerdo"], "en desacuerdo, de acuerdo, muy de acuerdo"),
        (["同意", "不同意", "非常同意"], "不同意, 同意, 非常同意"),
    ],
)
def test_answers_in_other_signs_and_languages_have_an_order(words: list[str], order: str) -> None:
    corpus = read(long(words))
    assert corpus.questions[0].scale.describe() == f"{order} (ordinal)"
    assert "were taken as ordered" in corpus.about.notes[0]


def test_a_total_is_left_out_only_if_it_is_there(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("item,anna,ben\na,1,2\nb,2,2\nc,3,4\nTOTAL,6,8\n")
    corpus = read(path, columns="rater", without=["TOTAL"])
    assert corpus.sizes == {"items": 3, "raters": 2, "judgments": 6}
    assert "1 row left out: TOTAL." in corpus.about.notes
    with pytest.raises(InputError, match="no row has 'SUM'"):
        read(path, columns="rater", without=["SUM"])
