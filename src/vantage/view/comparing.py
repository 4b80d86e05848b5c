"""Any two groups of raters on the same items: the difference of all, and the items on which they part.

A group is written `people`, `kind=model`, `rater=NAME`, `TRAIT=VALUE` or `condition=NAME`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtrit

from vantage.corpora import Corpus
from vantage.corpora.schema import PEOPLE
from vantage.errors import InputError, nearest
from vantage.instruments import Question
from vantage.measures.intervals import welch
from vantage.measures.relations.compare import compare
from vantage.report.cells import counted, minus, p_value
from vantage.report.ledger import LEVEL


def compared(corpus: Corpus, question: Question, one: str, other: str, size: int) -> dict[str, Any]:
    """The difference of two groups over all items that both judged, and the items where it is largest, both ways.

    On a scale without order it is the share of answers that would have to be changed, item by item.
    """
    ordered = question.scale.ordered
    first, second = _apart(corpus, question, one, other)
    rows = (_in_points if ordered else _in_shares)(first, second)
    if rows.is_empty():
        raise InputError(f"{one} and {other} judged no item in common", remedy="choose other groups")
    texts = corpus.items.select("item", pl.col("^text$"))
    rows = rows.join(texts, on="item", how="left").sort("difference", "item", descending=[True, False])
    apart = rows["difference"].to_numpy()
    mean, count = float(apart.mean()), len(apart)
    changed = f"On average {mean:.0%} of the answers of {named(one)} would have to change to match "
    changed += f"{named(other)} ({counted(count, 'item')}); two samples of one group differ too."
    higher, lower = rows.filter(pl.col("difference") > 0), rows.filter(pl.col("difference") < 0).reverse()
    return {
        "one": one,
        "other": other,
        "question": question.id,
        "unit": "points" if ordered else "share of answers",
        "items": count,
        "difference": mean,
        "sentence": _sentence(mean, _tested({named(one): first, named(other): second})) if ordered else changed,
        "higher": (higher if ordered else rows).head(size).fill_nan(None).to_dicts(),
        "lower": lower.head(size).fill_nan(None).to_dicts(),
        "points": rows.select("item", x="mean_other", y="mean").to_dicts() if ordered and count <= 5000 else [],
    }


def chosen(corpus: Corpus, group: str) -> tuple[pl.Expr, pl.Expr]:
    """Which raters and which judgments a group is."""
    name, equals, value = group.partition("=")
    everything = pl.lit(True)
    if not equals:
        if name != "people":
            raise InputError(f"'{group}' is no group", remedy="write people, kind=model, rater=NAME or TRAIT=VALUE")
        return pl.col("kind").cast(pl.String).is_in(PEOPLE), everything
    if name in ("condition", "presentation") and name in corpus.judgments.columns:
        return everything, pl.col(name) == value
    if name not in corpus.raters.columns:
        known = ["people", "condition", *corpus.raters.columns]
        raise InputError(f"raters have no column '{name}'", remedy=nearest(name, known))
    return pl.col(name).cast(pl.String) == value, everything


def named(group: str) -> str:
    """A group in the words of a sentence.

    >>> named("rater=m1"), named("gender=f"), named("kind=model")
    ('m1', 'raters with gender f', 'every model')
    """
    name, equals, value = group.partition("=")
    if not equals:
        return name
    known = {"rater": value, "kind": f"every {value}", "condition": f"condition {value}"}
    return known.get(name, f"raters with {name} {value}")


def _judged(corpus: Corpus, question: Question, group: str) -> pl.DataFrame:
    raters, judgments = chosen(corpus, group)
    members = corpus.raters.filter(raters).select("rater")
    mine = corpus.judgments.filter(pl.col("question") == question.id, judgments).drop_nulls("value")
    mine = mine.join(members, on="rater", how="semi")
    if mine.is_empty():
        raise InputError(f"{group} has no answers to '{question.id}'", remedy="choose another group or question")
    return mine


def _apart(corpus: Corpus, question: Question, one: str, other: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The answers of two groups; who is in both counts in the first alone, and is not compared with themselves."""
    first, second = _judged(corpus, question, one), _judged(corpus, question, other)
    rest = second.join(first, on=["item", "rater", "condition", "sample"], how="anti")
    if rest.is_empty():
        raise InputError(f"{one} and {other} are the same raters", remedy="choose other groups")
    return first, rest


def _in_points(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """The means of both groups about each item, and their difference with its interval."""
    both = _means(first).join(_means(second), on="item", suffix="_other")
    difference, half = pl.col("mean") - pl.col("mean_other"), pl.lit(pl.Series("half", _half_width(both)))
    return both.with_columns(difference=difference, low=difference - half, high=difference + half)


def _in_shares(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """The share of answers that would have to be changed."""
    share = pl.col("len") / pl.col("len").sum().over("item")
    one, two = (part.group_by("item", "value").len().with_columns(share=share).drop("len") for part in (first, second))
    joined = one.join(two, on=["item", "value"], how="full", coalesce=True, suffix="_other")
    joined = joined.join(one, on="item", how="semi").join(two, on="item", how="semi")
    moved = (pl.col("share").fill_null(0.0) - pl.col("share_other").fill_null(0.0)).abs().sum() / 2
    return joined.group_by("item").agg(moved.alias("difference"))


def _means(answers: pl.DataFrame) -> pl.DataFrame:
    value = pl.col("value")
    return answers.group_by("item").agg(mean=value.mean(), variance=value.var(), n=value.len())


def _half_width(both: pl.DataFrame) -> np.ndarray[Any, Any]:
    """Half of Welch's interval about each item; not a number where a group has one answer only."""
    variances = [both[name].fill_null(np.nan).to_numpy() for name in ("variance", "variance_other")]
    error, freedom = welch((variances[0], variances[1]), (both["n"].to_numpy(), both["n_other"].to_numpy()))
    return np.asarray(stdtrit(freedom, 0.975) * error)


def _tested(parts: dict[str, pl.DataFrame]) -> dict[str, Any]:
    """The analysis of two groups on the items of both; a single rater is one of two raters beside the others' mean."""
    between = "group" if min(part["rater"].n_unique() for part in parts.values()) > 1 else "rater"
    if between == "rater":
        groups = [_means(part).select("item", value="mean", rater=pl.lit(name)) for name, part in parts.items()]
    else:
        groups = [part.select("item", "rater", "value", group=pl.lit(name)) for name, part in parts.items()]
    both = pl.concat(groups).filter(pl.col(between).n_unique().over("item") == len(parts))
    both = both.with_columns(sample=pl.int_range(pl.len()).over("item", "rater", between))
    return compare(both, between=between, values=list(parts), ci="auto").row(0, named=True)


def _sentence(mean: float, tested: dict[str, Any]) -> str:
    """What the difference allows to say."""
    one, other, p = tested["first"], tested["second"], tested["p"]
    difference = mean if tested["difference"] is None else tested["difference"]
    what = minus(f"{difference:+.2f} points")
    if p is None:
        return f"On average, {one} and {other} differ by {what}, which is not tested: {tested['reason']}."
    units = counted(tested["units"], "rater" if tested["unit"] == "rater" else "item")
    units += "" if tested["over"] in ("both", "raters") else ", about these raters alone"
    what += f", p {'' if p < 0.001 else '= '}{p_value(p)}, {units}"
    if p > LEVEL:
        return f"On average, the answers of {one} and {other} cannot be told apart ({what})."
    side = "higher" if difference > 0 else "lower"
    return f"On average, the answers of {one} are {side} than those of {other} ({what})."
