"""Any two groups of raters on the same items: the difference of all, and the items on which they part.

A group is written `everyone`, `people`, `kind=model`, `rater=NAME`, `TRAIT=VALUE` or `condition=NAME`; where several
corpora are open, `source=NAME` is one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.schema import PEOPLE
from vantage.errors import InputError, nearest
from vantage.instruments import Question
from vantage.measures import find, speaks_of_raters
from vantage.measures.ratings import Floats
from vantage.measures.relations.compare import compare
from vantage.report import answers_of, shares_of
from vantage.report.cells import counted, minus, p_value
from vantage.report.ledger import Claim
from vantage.report.sentences import settled


def compared(corpus: Corpus, question: Question, one: str, other: str, size: int, option: str = "") -> dict[str, Any]:
    """The difference of two groups over all items that both judged, and the items where it is largest, both ways.

    Where answers have no order it is the difference in how often they give one of them: the one that is named, or that
    in which they differ most.
    """
    first, second = _apart(corpus, question, one, other)
    both = [part.join(rest, on="item", how="semi") for part, rest in ((first, second), (second, first))]
    if both[0].is_empty():
        raise InputError(f"{one} and {other} judged no item in common", remedy="choose other groups")
    labels = answers_of(question)[1]
    shares = [_shares(part) for part in both]
    label = "" if question.scale.ordered else option if option in labels else labels[_telling(shares[0], shares[1])]
    if label:
        chose = pl.col("shares").arr.get(labels.index(label))
        first, second = (part.with_columns(value=chose) for part in (first, second))
    texts = corpus.items.select("item", pl.col("^text$"))
    rows = _means(first).join(_means(second), on="item", suffix="_other").join(texts, on="item", how="left")
    rows = rows.with_columns(difference=pl.col("mean") - pl.col("mean_other")).sort(
        "difference", "item", descending=[True, False]
    )
    count, mean = len(rows), float(rows["difference"].to_numpy().mean())
    tested, claim = _tested({named(one): first, named(other): second})
    means = [float(rows[name].to_numpy().mean()) for name in ("mean", "mean_other")]
    higher, lower = rows.filter(pl.col("difference") > 0), rows.filter(pl.col("difference") < 0).reverse()
    return {
        "one": one,
        "other": other,
        "question": question.id,
        "option": label,
        "options": labels if label else [],
        "items": count,
        "difference": mean,
        "shares": [part.round(4).tolist() for part in shares],
        "answers": [len(part) for part in both],
        "p": tested["p"],
        "sentence": _said(tested, claim, label, means, mean),
        "higher": higher.head(size).fill_nan(None).to_dicts(),
        "lower": lower.head(size).fill_nan(None).to_dicts(),
        "points": rows.select("item", x="mean_other", y="mean").to_dicts() if not label and count <= 5000 else [],
    }


def _shares(answers: pl.DataFrame) -> Floats:
    """The share of each answer, every item counting alike."""
    items = answers["item"].rank("dense").to_numpy().astype(np.int64) - 1
    shares = answers["shares"].to_numpy() / np.bincount(items)[items, None]
    return np.asarray(shares.sum(axis=0) / (items.max() + 1))


def _telling(one: Floats, other: Floats) -> int:
    """The answer in which two groups differ most; of two answers the second, such as yes."""
    return 1 if len(one) == 2 else int(np.abs(one - other).argmax())


def chosen(corpus: Corpus, group: str) -> pl.Expr:
    """Which judgments are those of a group."""
    name, equals, value = group.partition("=")
    if not equals:
        if name not in ("people", "everyone"):
            raise InputError(f"'{group}' is not a group", remedy="write people, kind=model, rater=NAME or TRAIT=VALUE")
        members = pl.col("kind").cast(pl.String).is_in(PEOPLE) if name == "people" else pl.lit(True)
    elif name in ("condition", "presentation") and name in corpus.judgments.columns:
        return pl.col(name) == value
    elif name in corpus.raters.columns:
        members = pl.col(name).cast(pl.String) == value
    else:
        known = ["people", "condition", *corpus.raters.columns]
        raise InputError(f"raters have no column '{name}'", remedy=nearest(name, known))
    return pl.col("rater").is_in(corpus.raters.filter(members)["rater"].implode())


def named(group: str) -> str:
    """A group in the words of a sentence.

    >>> named("rater=m1"), named("gender=f"), named("kind=model")
    ('m1', 'raters with gender f', 'every model')
    """
    name, equals, value = group.partition("=")
    if not equals:
        return name
    known = {"rater": value, "kind": f"every {value}", "condition": f"condition {value}", "source": value}
    return known.get(name, f"raters with {name} {value}")


def _apart(corpus: Corpus, question: Question, one: str, other: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The answers of two groups; who is in both counts in the first alone, and is not compared with themselves."""
    parts: list[pl.DataFrame] = []
    for group in (one, other):
        mine = corpus.judgments.filter(pl.col("question") == question.id, chosen(corpus, group)).drop_nulls("value")
        if mine.is_empty():
            raise InputError(f"{group} has no answers to '{question.id}'", remedy="choose another group or question")
        parts.append(mine.with_columns(shares_of(mine, question)))
    first, second = parts
    rest = second.join(first, on=["item", "rater", "condition", "sample"], how="anti")
    if rest.is_empty():
        raise InputError(f"{one} and {other} are the same raters", remedy="choose other groups")
    return first, rest


def _means(answers: pl.DataFrame) -> pl.DataFrame:
    return answers.group_by("item").agg(mean=pl.col("value").mean(), n=pl.len())


def _tested(parts: dict[str, pl.DataFrame]) -> tuple[dict[str, Any], Claim]:
    """`compare` of two groups, and what the ledger says of it; a single rater is beside the others' mean."""
    between = "group" if min(part["rater"].n_unique() for part in parts.values()) > 1 else "rater"
    if between == "rater":
        groups = [_means(part).select("item", value="mean", rater=pl.lit(name)) for name, part in parts.items()]
        both = pl.concat(groups).filter(pl.len().over("item") == len(parts))
    else:
        kept = ("item", "rater", "condition", "sample", "value")
        both = pl.concat(part.select(*kept, group=pl.lit(name)) for name, part in parts.items())
    frame = compare(both, between=between, values=list(parts))
    [rule] = find("compare").view.says
    return frame.row(0, named=True), settled(rule, frame)[0]  # type: ignore[arg-type]


def _said(tested: dict[str, Any], claim: Claim, label: str, means: Sequence[float], difference: float) -> str:
    """What two groups answer, and what the ledger allows to say of their difference."""
    one, other = tested["first"], tested["second"]
    if label:
        shares = [f"{100 * mean:.1f} %" for mean in means]
        said = f"“{label}” is {shares[0]} of the answers of {one} and {shares[1]} of those of {other}"
    else:
        side = {"above": "higher", "below": "lower"}.get(claim.verdict, "")
        apart = difference if tested["difference"] is None else tested["difference"]
        said = f"On average, the answers of {one} are {abs(apart):.2f} points {side} than those of {other}"
        if not side:
            said = f"On average, the answers of {one} and {other} differ by {minus(f'{apart:+.2f} points')}"
    if claim.p is None:
        return f"{said}, which is not tested: {tested['reason']}."
    units = counted(tested["units"], "rater" if tested["unit"] in ("rater", "group") else "item")
    units += "" if speaks_of_raters(tested["over"]) else ", about these raters alone"
    seen = "" if claim.claims or claim.seen is None else f"; a difference of {claim.seen:.2f} would have been seen"
    alike = "" if claim.claims else "; the two cannot be told apart"
    return f"{said}{alike} (p {'' if tested['p'] < 0.001 else '= '}{p_value(tested['p'])}, {units}{seen})."
