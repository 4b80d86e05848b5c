"""docs/calibration.md, written from the results that the simulations leave in benchmarks/calibration.csv."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.calibration_rows import CASES, RESAMPLES
from benchmarks.simulators import DESIGNS, LARGE_ITEMS, LARGE_RATERS, STANDARD

if TYPE_CHECKING:
    from benchmarks.calibration import Result

PAGE: Final = Path(__file__).parents[1] / "docs" / "calibration.md"
HEAD: Final = """# Calibration

Do the intervals cover, and do the tests have their size? `python -m benchmarks calibration` simulates ratings and
writes this page from `benchmarks/calibration.csv`. The simulators (`benchmarks/simulators.py`) import nothing of what
they judge. A row is a measure in a design, with the **target** to which a reader will generalise it, whatever the
result says that it is over: other items with these raters, or other items and other raters. The goal is 93–97 % for
intervals and 3–7 % for tests, or a refusal or a warning (`reason`) in the row where a design cannot give it.

Intervals have their default options and {resamples} resamples. *Held* is the share of nominal 95 % intervals that
hold the value of the population ({items} items, {raters} raters, about), *rejected* that of p < .05 where there is
nothing to find; *refused* counts tables without an interval or p, *warned* those with a reason beside it, and
*silent* the misses (or false findings) without a word. With 100 tables the standard error of 95 % is 2.2 points, with
300 it is 1.3. To run one row: `python -m benchmarks calibration --only alpha --design few-items --replications 200`;
`--keep` keeps it. [Audits](audit.md) and [powered estimates](powered.md) have tables of their own.
"""
DESIGNED: Final = """
## Ordinary designs that are hard

What each design is like: {designs}.
"""
STANDARD_HEAD: Final = """
## Standard designs

Answers are a latent value (item, rater, noise) cut into points; unless the name says otherwise there are 80 items, 20
raters, four ratings an item and five points. ⁱ marks intervals that were over items when they were simulated, whose
value is then that of these raters with other items. Accuracy is the mean absolute error of a simulated model against
the mean of people, calibration its Brier score from three samples, alt-test the mean advantage, and ranks the rank
correlation of six models under two conditions; bands is the share of items below the middle, and refusals, opt-outs
and ambiguity are about the answers at the top of the scale, which depend on item and rater. DICES-350 needs no model:
there are all answers of 123 people to 350 conversations, and designs were drawn from them.
"""
CASES_HEAD: Final = """
## Models, scores, sets, panels and G-studies

Cases whose truth is planted. Items have variance 1 and raters 0.25 unless the name says otherwise; 60 items have six
answers each. Ordinal answers have five points. Rating scale models have 200 items and 20 raters, six answers an item,
or 100 items with three; severities run from −1 to 1. Differential items are tested in 60 items with twelve answers
each. In scaling, 30 texts stand in 60 tuples of four, each judged by four raters who like texts differently; the
values are those of many tuples and raters, and the reliability is the mean over tables. Its intervals are too long,
and `reason` says so: every text stands in as many tuples as the others, and what is left out is not replaced. Sets
are of four options. The models of a panel have errors that correlate 0, .16 and .36 with 3, 4 and 6 members, beside
20 people. A G-study has two orders and three wordings, each twice; its shares are those of 20,000 items in these
presentations, its reliability that of two answers. Order and wording do not interact, and an interval of a share of 0
starts at 0: it always holds. *Mean* is an average that should be 1.
"""
_LIMITS = """
## Where the goal is missed

* **Sources and groups of raters.** ICC, components of variance and split-half reliability take items and raters for
  drawn one by one. Where a corpus declares that they come from sources, or from groups, `reason` says so in the row.
  Other measures leave whole sources and groups out.
* **Missing answers.** Where high or low answers are missing, the mean of the others is another number. If judgments
  without an answer go with the item's mean, `reason` says so and gives bounds. If nothing says that answers are
  missing, but items with high or low answers have fewer of them, `reason` of means and shares says that (p < .005).
* **Skew.** A few items decide the variance where most answers are the same, as in DICES-350. `reason` says so where
  the items' means are skewed, and normal effects are taken for granted by ICC(2,1) (McGraw and Wong 1996).
* **Heavy tails.** The variance of raters takes their severities for normal. Where a few raters lie far out, its
  interval holds the value in about 85 % of cases, with 16 raters as with 100, and their kurtosis seldom shows it;
  `reason` says so.
* **Groups that scatter unlike each other.** Tests of single items by `dif` keep their size; the test of all items
  together rejects somewhat too often, and `reason` says so where one group scatters 1.5 times as much as the other.
* **Pairs of raters.** Cohen's kappa averaged over pairs of raters is biased where pairs share few items. Below ten
  shared items there is an interval only where `ci` asks for one, and `reason` says why. Fleiss' kappa and alpha do
  not average over pairs.
* **Splits and unanimity.** Whether an item is split depends on how many answers it has: of four a fourth is one
  answer, of five it is two. Leaving raters out therefore changes more than other raters would, and these intervals
  over both are too long; `reason` says so.
* **Ranks of few models** take few values, so that intervals hold the true one nearly always; `reason` says so up to
  seven systems.
* **Raters who do not differ.** Over both, an interval over items is widened by what raters add. That cannot fall
  below zero, so that intervals are a little too long where raters are alike.
* **Few raters** have a variance with few degrees of freedom: the interval of their share is long, not wrong.

The designs share their seeds, so that an unlucky table shows in many rows."""


def page(results: Sequence[Result]) -> str:
    """The page of the documentation."""
    standard = {design.name for design in STANDARD}
    hard = [result for result in results if result.design in DESIGNS and result.design not in standard]
    usual = [result for result in results if result.design not in DESIGNS and result.design not in CASES]
    usual = [result for result in results if result.design in standard] + usual
    cases = [result for result in results if result.design in CASES]
    about = "; ".join(f"*{name}*: {DESIGNS[name].about}" for name in dict.fromkeys(result.design for result in hard))
    return "\n".join(
        [
            HEAD.format(resamples=RESAMPLES, items=LARGE_ITEMS, raters=LARGE_RATERS),
            DESIGNED.format(designs=about),
            _days(hard),
            "",
            *_lines(hard),
            STANDARD_HEAD,
            _days(usual),
            "",
            *_matrix([result for result in usual if not result.is_test], "held"),
            "",
            *_matrix([result for result in usual if result.is_test], "rejected"),
            CASES_HEAD,
            _days(cases),
            "",
            *_cases(cases),
            _LIMITS,
        ]
    )


def _days(results: Sequence[Result]) -> str:
    """When rows were run: a row may be older than what it judges."""
    days = sorted({result.day for result in results})
    counted = [f"{sum(result.day == day for result in results)} on {day}" for day in days]
    return f"Rows by the day on which they were run: {', '.join(counted)}."


def _lines(results: Sequence[Result]) -> list[str]:
    """A row per measure and design: what was held, and what was said."""
    rows = [[result.design, result.measure, result.target, *_cells(result)] for result in results]
    return _table(["design", "measure", "target", "held or rejected", "width", "refused", "warned", "silent"], rows, 3)


def _cells(result: Result) -> list[str]:
    share = "none" if result.share is None else _marked(result)
    width = "" if result.is_test or not result.given else f"{result.width:.3f}"
    said = [100 * count / result.replications for count in
            (result.replications - result.given, result.warned, result.silent)]  # fmt: skip
    return [f"{share} of {result.given}", width, *(f"{part:.0f} %" for part in said)]


def _marked(result: Result) -> str:
    """The share in percent, in bold where it is further from the goal than chance allows (two standard errors)."""
    low, high = (0.03, 0.07) if result.is_test else (0.93, 0.97)
    share = result.hits / result.given
    error = 2 * (0.05 * 0.95 / result.given) ** 0.5
    shown = f"{100 * share:.1f}"
    return shown if low - error <= share <= high + error else f"**{shown}**"


def _matrix(results: Sequence[Result], what: str) -> list[str]:
    """Designs × measures."""
    measures = list(dict.fromkeys(result.measure for result in results))
    designs = list(dict.fromkeys(result.design for result in results))
    latest = {(result.measure, result.design): result for result in results if result.given}
    rows = []
    for measure in measures:
        cells = [latest.get((measure, design)) for design in designs]
        rows.append([measure, *("" if c is None else _marked(c) + ("ⁱ" if c.over == "items" else "") for c in cells)])
    return _table([f"{what}, in percent", *designs], rows, 1)


def _cases(results: Sequence[Result]) -> list[str]:
    rows = []
    for result in results:
        mean = result.what.endswith("mean")
        single = not result.design.startswith(("rating scale", "differential", "best–worst", "Bradley"))
        share = result.hits / result.given
        # The intervals of many raters or items of a table are averaged, so that chance allows less.
        shown = f"{share:.2f}" if mean else _marked(result) + " %" if single else f"{100 * share:.1f} %"
        rows.append([result.design, result.what, str(result.given), shown])
    return _table(["case", "what", "tables", "share"], rows, 2)


def _table(head: list[str], rows: list[list[str]], texts: int) -> list[str]:
    lines = [head, ["---"] * texts + ["---:"] * (len(head) - texts), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]
