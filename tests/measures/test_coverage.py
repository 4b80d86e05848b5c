"""The calibration bench in small, with fixed seeds: it fails when an interval or a test drifts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import calibration_further, calibration_others
from benchmarks.__main__ import NAMES as NAMED
from benchmarks.__main__ import summary
from benchmarks.calibration import DESIGNS, NAMES, coverage, sizes

SMALL = {design.name: design for design in DESIGNS}


LENGTHS: dict[str, list[float]] = {
    "sparse, 20 raters": [0.2804, 0.1589, 0.1505, 0.1171, 0.2822, 0.1706, 0.2350, 0.2359, 0.2359, 0.1685, 0.2368],
    "crossed, 5 raters": [0.2526, 0.1339, 0.1253, 0.0983, 0.2273, 0.1585, 0.2530, 0.2509, 0.3011, 0.3985, 0.2609],
}
"""The mean length of the intervals of twenty tables, in the order of their names."""


@pytest.mark.slow
@pytest.mark.parametrize("name", list(LENGTHS))
def test_default_intervals_cover_and_are_as_long_as_they_were(name: str) -> None:
    found = coverage(SMALL[name], NAMES, 20)
    # Coverage in twenty tables shows a gross mistake only, their length also a small one.
    assert [covered.length / covered.of for covered in found.values()] == pytest.approx(LENGTHS[name], rel=0.03)
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
@pytest.mark.parametrize("name", ["best–worst scaling, 12 raters", "split-half of scaling, 30 raters",
                                  "set-alpha, 20 raters", "G-study, 40 items"])  # fmt: skip
def test_intervals_of_scores_sets_and_g_studies_cover(name: str) -> None:
    case, _ = calibration_others.CASES[name]
    made = [case(seed) for seed in range(15)]
    # Of fifteen intervals that cover 95 %, more than four miss less than once in a thousand cases.
    assert {key: share for key in made[0] if (share := sum(one[key] for one in made) / 15) < 0.7} == {}


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


def test_the_help_of_benchmarks_names_all_and_runs_none() -> None:
    for words, code in ((["--help"], 0), (["nothing"], 2)):
        command = [sys.executable, "-m", "benchmarks", *words]
        found = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
        assert found.returncode == code
        assert all(name in found.stdout + found.stderr for name in NAMED)
        assert "===" not in found.stdout
    assert all(len(summary(name)) > 20 for name in NAMED)
