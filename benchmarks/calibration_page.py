"""docs/calibration.md, written from the counts that the simulations leave in benchmarks/calibration.json."""

from __future__ import annotations

from typing import Any

from benchmarks.calibration import DESIGNS, LARGE, NAMES, RESAMPLES, SUBSAMPLED, Covered

_INTRODUCTION = """# Calibration

Do the intervals cover, and do the tests have their size? `python -m benchmarks calibration` writes this page, with
{resamples} resamples per interval. With 100 replications the standard error of a coverage of 95 % is 2.2 points, with
200 it is 1.5. A fast version with fixed seeds is part of the test suite. [Models, scores from comparisons, sets, panels
and G-studies](calibration-models.md) have a page of their own, as do [audits](audit.md) and [powered
estimates](powered.md).

## Intervals

Share of nominal 95 % intervals that hold the value of the population, in percent, with the default options. Where
fewer than ten raters judged several items the default is over items, marked ⁱ: the value is then that of these raters
with other items. All others are over both, items and raters; components and ICC are so with five raters too, since
their intervals come from a model and not from resamples. The goal is 93–97 %.
"""
_BETWEEN = """
Answers are a latent value (item, rater, noise) cut into points; unless the name says otherwise there are 80 items, 20
raters, four ratings an item and five points. The value of the population is that of tables with {large} times as many
items and raters. DICES-350 needs no model: there are all answers of 123 people to 350 conversations, and designs are
drawn from them. What depends on the number of answers an item has cannot be compared with the whole, and is left out.

Further from the goal than chance allows (two standard errors): {off}.

## Tests

Share of p < .05 where there is nothing to find, in percent; the goal is 3–7. Trait labels are assigned to raters at
random, the property of items is their parity, and the two questions are unrelated but answered by the same raters.
The interval of a trait's share should lie above 0 by mistake in 2.5 % or fewer; it and the distance are tested in
every second replication.
"""
_FURTHER = """
## Further intervals

The same for the other measures that give intervals; calibration and alt-test are slow and have the fewest replications.
ⁱ marks intervals over items: the value is that of these raters with {others} times as many other items. Accuracy is the
mean absolute error of a simulated model against the mean of people, calibration its Brier score from three samples,
alt-test the mean advantage, and ranks the rank correlation of six models under two conditions; bands is the share of
items below the middle, and refusals, opt-outs and ambiguity are about the answers at the top of the scale, which depend
on item and rater. Rater-quality and rater-matrix look at the first rater and the first pair, which must share ten
items. An empty cell means that the design gives no interval.
"""
_TESTED = """
The size of further tests, as above. On two occasions the same raters judge the same items again; the two conditions
of the ranks are unrelated; the person of the alternative annotator test stands against a twin, who answers from the
same distribution, with ε = 0.
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
  long, since what is special to a pair of raters counts for both of them (they held it in 97 to 99.8 % of 400 tables);
  the default, over both, held its value in 94 to 96 %.
* What raters add is the difference of two variances, of which little may be left with hardly any degree of freedom. By
  Satterthwaite's formula alone some intervals over both were several times too long (alpha of 60 items and 12 raters
  who guess: −0.59 to +0.61). With at least half the degrees of freedom of the source that has the fewest, intervals of
  fleiss, ac1, pairwise, difference and entropy in the sparse design are 4 to 17 % shorter on average and hold the
  value in 96 % of 300 tables (96–97 % before); with strong rater effects in 95–96 % of 600 (96 % before), those of
  alpha in 93.5 % (93.7 %). With all of these degrees of freedom it would be 92.5 to 95.5 %. The tables above were made
  before that.
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
  items' share and what is made of it (needed raters, d-study, ICC) cover less often, however the degrees of freedom are
  corrected. Where the items' means are skewed, `reason` says so in the result.
* The intervals of ICC(2,1) for complete tables take normal effects for granted (McGraw and Wong 1996); on three
  answers such as those of DICES-350 they cover less often.
* 100 replications tell a size of 5 % only to about four points. Where they came out high, more were run with other
  seeds: of 300 of the batches a trait of raters was found in 6.0 % (Welch) and 5.7 % (permutation) and a property of
  items in 5.7 %, of 200 with 200 raters a property of items in 4.0 %, and of 200 each of the crossed and the sparse
  design with 20 raters a distance in 6.5 % and 4.5 %; of 300 each with five raters, with 3 points and with three models
  a Spearman correlation in 5.7, 7.7 and 5.0 %.
* Cohen's kappa and Scott's pi averaged over pairs of raters are biased where pairs share few items, Scott's pi most:
  in the sparse designs a pair shares two or three. Below ten shared items (30 for Scott's pi) there is an interval only
  where `ci` asks for one, and `reason` says why; asked for, it held the value in 0–93 % of cases (Cohen) and in 0–67 %
  (Scott). Fleiss' kappa and alpha do not average over pairs.
* Whether an item is split depends on how many answers it has: of four a fourth is one answer, of five it is two.
  Leaving raters out therefore changes more than other raters would, and intervals of split-items over both are too
  long; `reason` says so. So are those of unanimity where items have few answers: three raters are of one mind more
  often than four. With 7 points, where 3.7 % of the items are unanimous, they were 2.6 times as long as need be.
* The rank correlation of six models takes few values, so that intervals cannot hold the true one in just 95 % of cases:
  they hold it nearly always, and `reason` says so up to seven systems.
* Five raters have a variance with four degrees of freedom: the interval of their share is long, not wrong. That is why
  components, ICC and d-studies stay over both below ten raters, and `reason` says so.
"""


def page(counts: dict[str, Any]) -> str:
    """The page of the documentation."""
    ran = [name for name in (*(design.name for design in DESIGNS), *SUBSAMPLED) if name in counts]
    rows, off = [], []
    for design in ran:
        covered = {name: Covered(*values) for name, values in counts[design]["covered"].items()}
        cells = [str(max(c.of for c in covered.values()))]
        for name in NAMES:
            c = covered.get(name)
            cells.append("" if c is None else _cell(c))
            if c is not None and _is_off(c):
                off.append(f"{name} ({design}: {100 * c.share:.0f} %)")
        rows.append([design, *cells])
    tests, tested = _sizes({design: counts[design]["found"] for design in ran})
    missing = [name for name in (*(design.name for design in DESIGNS), *SUBSAMPLED) if name not in counts]
    return "\n".join(
        [
            _INTRODUCTION.format(resamples=RESAMPLES),
            *_table(["design", "replications", *NAMES], rows),
            *(["", f"Not run yet: {', '.join(missing)}."] if missing else []),
            _BETWEEN.format(off="; ".join(off) if off else "none", large=LARGE),
            *_table(["design", "replications", *tests], tested),
            *_further(counts),
            *_tested(counts),
            _LIMITS,
        ]
    )


def _sizes(sizes: dict[str, dict[str, list[int]]]) -> tuple[list[str], list[list[str]]]:
    """The names of tests, and a row for each design in which they were tried."""
    tests = list(dict.fromkeys(test for tried in sizes.values() for test in tried))
    rows = []
    for design, tried in sizes.items():
        if tried:
            shares = [f"{100 * tried[test][0] / tried[test][1]:.1f}" if test in tried else "" for test in tests]
            rows.append([design, str(max(of for _, of in tried.values())), *shares])
    return tests, rows


def _tested(counts: dict[str, Any]) -> list[str]:
    """The second table of tests."""
    tests, rows = _sizes({d.name: counts[d.name].get("tested", {}) for d in DESIGNS if d.name in counts})
    return [_TESTED, *_table(["design", "replications", *tests], rows)] if rows else []


def _further(counts: dict[str, Any]) -> list[str]:
    """The second table of intervals, and what in it is off."""
    ran = {d.name: counts[d.name]["further"] for d in DESIGNS if counts.get(d.name, {}).get("further")}
    if not ran:
        return []
    names = list(dict.fromkeys(name for coverage in ran.values() for name in coverage))
    rows, off = [], []
    for design, coverage in ran.items():
        covered = {name: Covered(*values) for name, values in coverage.items()}
        cells = [_cell(covered[name]) if name in covered else "" for name in names]
        least, most = min(c.of for c in covered.values()), max(c.of for c in covered.values())
        rows.append([design, f"{least}–{most}" if least < most else str(most), *cells])
        off += [f"{name} ({design}: {100 * c.share:.0f} %)" for name, c in covered.items() if _is_off(c)]
    missing = [design.name for design in DESIGNS if design.name not in ran]
    return [
        _FURTHER.format(others=30),
        *_table(["design", "replications", *names], rows),
        *(["", f"Not run yet: {', '.join(missing)}."] if missing else []),
        "",
        f"Further from the goal than chance allows (two standard errors): {'; '.join(off) if off else 'none'}.",
    ]


def _cell(c: Covered) -> str:
    return f"{100 * c.share:.1f}{'ⁱ' if c.over == 'items' else ''}"


def _is_off(c: Covered) -> bool:
    return not 0.93 - 2 * _error(c.of) <= c.share <= 0.97 + 2 * _error(c.of)


def _error(n: int) -> float:
    """The standard error of a coverage of 95 %."""
    return float((0.95 * 0.05 / n) ** 0.5)


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]
