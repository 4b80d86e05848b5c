from __future__ import annotations

from vantage.errors import InputError, Problems, nearest


def test_sentence_names_the_place_and_the_remedy() -> None:
    error = InputError("5 is not on the scale", file="a.csv", row=3, column="value", remedy="correct the cell")
    assert str(error) == "a.csv, row 3, column 'value': 5 is not on the scale; correct the cell."
    assert isinstance(error, ValueError)


def test_sentence_without_a_place_stands_alone() -> None:
    assert str(InputError("which corpus?")) == "which corpus?"


def test_problems_are_counted_and_listed() -> None:
    error = Problems("a.yaml", ["line 1, id: this is missing", "line 2, scale: there is no such key"])
    assert str(error).splitlines()[0] == "a.yaml: 2 problems"
    assert len(error.problems) == 2


def test_nearest_suggests_lists_or_admits_that_there_are_none() -> None:
    assert nearest("alfa", ["alpha", "kappa"]) == "did you mean 'alpha'?"
    assert nearest("zzz", ["alpha", "kappa"]) == "available: alpha, kappa"
    assert nearest("zzz", []) == "there are none"
