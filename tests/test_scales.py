from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage import InputError, Scale
from vantage.scales import Band, Option, OptOut

SIGNED = (Band("low", at_most=-0.5), Band("neutral", above=-0.5, below=0.5), Band("high", at_least=0.5))


def test_points_label_their_anchors_and_name_the_rest_by_number() -> None:
    scale = Scale.points(1, 9, anchors={1: "not at all", 9: "completely"})
    assert scale.codes == tuple(float(code) for code in range(1, 10))
    assert (scale.label(1), scale.label(5), scale.label(9)) == ("not at all", "5", "completely")
    assert scale.code("Completely ") == 9
    assert scale.code("somewhat") is None


@given(st.floats(-3, 3))
def test_bands_cover_the_scale_without_overlap(value: float) -> None:
    scale = Scale.points(-3, 3, bands=SIGNED)
    assert [band.name for band in scale.bands if band.holds(value)] == [scale.band(value)]
    expected = "low" if value <= -0.5 else "high" if value >= 0.5 else "neutral"
    assert scale.band(value) == expected


def test_continuous_scale_holds_its_ends_and_nothing_beyond() -> None:
    slider = Scale.continuous(0, 100)
    assert slider.holds(0)
    assert slider.holds(33.3)
    assert slider.holds(100)
    assert not slider.holds(100.1)
    assert slider.ends == (0, 100)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"options": (Option(1, "a"), Option(1, "b"))}, "code 1 is used for two options"),
        ({"options": (Option(2, "a"), Option(1, "b"))}, "must rise"),
        ({"options": (Option(1, "a"), Option(2, "A"))}, "label 'a' is used for two options"),
        ({"options": (Option(1, "a"),)}, "at least two options"),
        ({"options": (Option(0, "no"), Option(1)), "level": "nominal"}, "needs a label"),
        ({"options": (Option(0, "no"), Option(float("nan"), "x"))}, "not a finite number"),
        ({}, "either options or a continuous range"),
        ({"range": (3, 1)}, "does not go from a lower to a higher"),
        ({"range": (0, 1), "level": "nominal"}, "continuous scale cannot be nominal"),
        ({"range": (0, 1), "level": "cardinal"}, "is not one of nominal"),
        ({"range": (0, 1), "opt_outs": (OptOut("ambiguous", "a"), OptOut("ambiguous", "b"))}, "listed twice"),
    ],
)
def test_unusable_scales_are_refused(arguments: dict[str, object], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Scale(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("bands", "problem"),
    [
        ((Band("low", below=0), Band("high", above=0)), "no band holds the value 0"),
        ((Band("low", at_most=0), Band("high", at_least=0)), "bands low and high both hold the value 0"),
        ((Band("low", at_most=0), Band("low", above=0)), "the same name"),
    ],
)
def test_bands_with_gaps_or_overlaps_are_refused(bands: tuple[Band, ...], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Scale.points(-3, 3, bands=bands)


def test_nominal_scale_has_no_bands() -> None:
    with pytest.raises(InputError, match="nominal scale has no bands"):
        Scale((Option(0, "a"), Option(1, "b")), "nominal", bands=SIGNED)
