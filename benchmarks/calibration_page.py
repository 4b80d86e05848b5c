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
## What was done about it

* Resamples of items vary less than other items do, by (n − 1)/n, and the percentiles of a few hundred resamples stop
  short: plain percentile intervals over 60 items hold the value of five raters in 90–93 % of cases. Intervals are as
  much longer as Student's t is (Hesterberg 2015). Alpha and kappas of few items are too small on average; their
  intervals are moved by the bias that resamples show.
* Shares near 0 and 1 are skewed, and so are the shares of single raters. Intervals that reach as far down as up miss
  on one side: of 400 each in the sparse design and with strong rater effects, those of ambiguity lay below the value
  in 5.8 and 5.5 % and above it in 1.5 and 1.2 %. Wilson's interval of as many independent units as have the same
  variance lies below it in 3.2 and 2.8 % and above it in 1.8 and 2.0 %.
* Raters drawn with replacement have copies, which agree by construction. Intervals over raters of agreement,
  differences and entropies were made from such resamples, with no answer paired with its own copy: of 600 tables with
  8 raters who differ in habits and care, 98.5 % of those of nominal alpha held the value, 97.2 % of those of entropy
  and 91.7 % of those of standard deviations. Since raters are left out in turn, as for all other measures, these are
  95.2, 94.5 and 93.2 %. Where each of 40 raters judged a few of 60 items, intervals over raters alone are still too
  long, since what is special to a pair of raters counts for both of them (they held it in 97 to 99.8 % of 400
  tables); the default, over both, held its value in 94 to 96 %.
* What raters add is the difference of two variances, of which little may be left with hardly any degree of freedom.
  By Satterthwaite's formula alone some intervals over both were several times too long (alpha of 60 items and 12
  raters who guess: −0.59 to +0.61). With at least half the degrees of freedom of the source that has the fewest,
  intervals of fleiss, ac1, pairwise, difference and entropy in the sparse design are 4 to 17 % shorter on average and
  hold the value in 96 % of 300 tables (96–97 % before); with strong rater effects in 95–96 % of 600 (96 % before),
  those of alpha in 93.5 % (93.7 %). With all of these degrees of freedom it would be 92.5 to 95.5 %. Results of the
  standard designs were made before that.
* The designs share their seeds, so that an unlucky table shows in many rows. Two cells that were low with few tables
  were simulated again with 400 others: accuracy held its value in 97.5 % (sparse, 20 raters; 16 of the first 20 did),
  and ambiguity in 96.0 % (3 points; 33 of the first 40). Calibration with 7 points held it in 93 of 100 others.

## What cannot be had

* The bootstrap over items alone says nothing about other raters; with rater effects it holds the value of the
  population too rarely. That is why the default is over both from ten raters on; with fewer it is over items, and
  `reason` says so.
* Over both, the bootstrap over items is widened by what raters add beyond the noise of single answers, found by
  leaving them out in turn. With few answers per item that addition is itself uncertain, so that it cannot fall below
  0 makes intervals a little too long where raters do not differ.
* Skewed items have a few that decide the variance, as do those of DICES-350, where most answers are the same; the
  items' share and what is made of it (reliability of means, ICC) cover less often, however the degrees of freedom
  are corrected. Where the items' means are skewed, `reason` says so in the result.
* The intervals of ICC(2,1) for complete tables take normal effects for granted (McGraw and Wong 1996); on three
  answers such as those of DICES-350 they cover less often.
* 100 replications tell a size of 5 % only to about four points. Where they came out high, more were run with other
  seeds: of 300 of the batches a trait of raters was found in 6.0 % (Welch) and 5.7 % (permutation) and a property of
  items in 5.7 %, of 200 with 200 raters a property of items in 4.0 %, and of 200 each of the crossed and the sparse
  design with 20 raters a distance in 6.5 % and 4.5 %; of 300 each with five raters, with 3 points and with three
  models a Spearman correlation in 5.7, 7.7 and 5.0 %.
* Cohen's kappa and Scott's pi averaged over pairs of raters are biased where pairs share few items, Scott's pi most:
  in the sparse designs a pair shares two or three. Below ten shared items (30 for Scott's pi) there is an interval
  only where `ci` asks for one, and `reason` says why; asked for, it held the value in 0–93 % of cases (Cohen) and in
  0–67 % (Scott). Fleiss' kappa and alpha do not average over pairs.
* Whether an item is split depends on how many answers it has: of four a fourth is one answer, of five it is two.
  Leaving raters out therefore changes more than other raters would, and intervals of split-items over both are too
  long; `reason` says so. So are those of unanimity where items have few answers: three raters are of one mind more
  often than four. With 7 points, where 3.7 % of the items are unanimous, they were 2.6 times as long as need be.
* The rank correlation of six models takes few values, so that intervals cannot hold the true one in just 95 % of
  cases: they hold it nearly always, and `reason` says so up to seven systems.
* Five raters have a variance with four degrees of freedom: the interval of their share is long, not wrong. That is
  why components, ICC and d-studies stay over both below ten raters, and `reason` says so."""


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
            *_lines(hard),
            STANDARD_HEAD,
            *_matrix([result for result in usual if not result.is_test], "held"),
            "",
            *_matrix([result for result in usual if result.is_test], "rejected"),
            CASES_HEAD,
            *_cases(cases),
            _LIMITS,
        ]
    )


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
