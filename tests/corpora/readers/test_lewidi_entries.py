"""Single items of LeWiDi files."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from vantage.errors import InputError
from vantage.interop.lewidi_files import LewidiEntry, raters_of
from vantage.scales import Scale

SCALES = {"ironic": Scale.labels("no", "yes")}


def entry(**data: object) -> LewidiEntry:
    return LewidiEntry(Path("a.json"), "5", data)


def test_a_value_inside_a_part_is_found_or_named() -> None:
    item = entry(other_info={"domain": "Invented", "level": "2.0"})
    assert item.text("other_info", "domain") == "Invented"
    assert item.whole("other_info", "level") == 2
    with pytest.raises(InputError, match=r"a\.json, item '5', other_info › bot: this is missing"):
        item.text("other_info", "bot")
    with pytest.raises(InputError, match="other_info › domain › name: this is missing"):
        item.text("other_info", "domain", "name")


@pytest.mark.parametrize("found", [float("nan"), float("inf"), "1e999", None, [1], "one", 10**400])
def test_what_is_not_a_finite_number_is_named(found: object) -> None:
    with pytest.raises(InputError, match="is not a number"):
        entry(level=found).number("level")


@pytest.mark.parametrize("found", [0.5, 1e12])
def test_what_is_not_a_whole_number_is_named(found: object) -> None:
    with pytest.raises(InputError, match="is not a small whole number"):
        entry(level=found).whole("level")


def test_judgments_of_an_annotator_who_stands_twice() -> None:
    item = entry(annotators="Ann1,Ann2,Ann1")
    assert list(item.judgments("x", SCALES, {"ironic": ["1", "No", "1"]}, {"No": "0"})) == [
        ("x", "ironic", "Ann1", 1.0, None),
        ("x", "ironic", "Ann2", 0.0, None),
    ]
    with pytest.raises(InputError, match="annotator 'Ann1' has two answers, 1 and 0"):
        list(item.judgments("x", SCALES, {"ironic": ["1", "1", "0"]}))


def test_judgments_of_2025_are_checked_against_the_scale() -> None:
    assert list(entry(annotations={"Ann3": "1"}).judgments_2025(SCALES)) == [("5", "ironic", "Ann3", 1.0, None)]
    for label in ("2", None, "", float("nan")):
        with pytest.raises(InputError, match="of 'Ann3' is not on the scale no, yes"):
            list(entry(annotations={"Ann3": label}).judgments_2025(SCALES))


def test_raters_stand_in_the_order_of_their_numbers() -> None:
    judgments = pl.DataFrame({"rater": ["Ann10", "Ann9", "Ann100", "Ann10"]})
    assert raters_of(judgments)["rater"].to_list() == ["Ann9", "Ann10", "Ann100"]
