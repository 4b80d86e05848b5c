"""The calibration bench in small, with fixed seeds: it fails when an interval or a test drifts."""

from __future__ import annotations

import pytest

from benchmarks import calibration_further
from benchmarks.calibration import DESIGNS, NAMES, coverage, sizes

SMALL = {design.name: design for design in DESIGNS}


@pytest.mark.parametrize("name", ["sparse, 20 raters", "crossed, 5 raters"])
def test_default_intervals_cover(name: str) -> None:
    found = coverage(SMALL[name], NAMES, 20)
    # An interval that covers in 95 % of the cases misses more than four of twenty less than once in 300 times.
    assert {measure: covered.share for measure, covered in found.items() if covered.share < 0.8} == {}
    assert found["alpha"].over == ("items" if name == "crossed, 5 raters" else "both")
    assert found["components, rater"].over == "both"


@pytest.mark.slow
def test_further_intervals_cover() -> None:
    design = SMALL["sparse, 20 raters"]
    # Two raters share two items here: kappas of pairs are biased, and no pair has an interval of its own.
    some = [name for name in calibration_further.further(design) if name not in ("cohen", "scott", "rater-matrix")]
    found = calibration_further.coverage(design, 15, tuple(some))
    assert sorted(found) == sorted(some)
    # Of eighteen intervals one may have bad luck.
    assert {measure: covered.share for measure, covered in found.items() if covered.share < 0.7} == {}


@pytest.mark.slow
def test_further_tests_have_their_size() -> None:
    found = {
        name: sum(hits) / len(hits) for name, hits in calibration_further.sizes(SMALL["crossed, 20 raters"], 30).items()
    }
    assert len(found) == 6
    # At the level .05, more than five of thirty are found by chance less than once in a hundred cases.
    assert {name: share for name, share in found.items() if share > 0.17} == {}


@pytest.mark.slow
def test_tests_have_their_size() -> None:
    found = {name: sum(hits) / len(hits) for name, hits in sizes(SMALL["sparse, 20 raters"], 40).items()}
    assert len(found) == 6
    # At the level .05, more than six of forty (or four of twenty) are found by chance about once in a hundred cases.
    assert {name: share for name, share in found.items() if share > (0.2 if "distance" in name else 0.15)} == {}
