"""The choices that a measure and a corpus offer by themselves: the default universe of a conclusion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus, likely_sources
from vantage.errors import InputError
from vantage.measures import find
from vantage.robust.conclusion import Conclusion
from vantage.robust.universe import AS_CLAIMED, LEFT_OUT, Alternative, Alternatives, Universe

MANY: Final = 12
"""A column with more values is not offered as a decision."""
BLOCKS: Final = 5
"""How many blocks of raters are left out in turn."""
TRIMMED: Final = 0.05
"""The share of people with the lowest and of those with the highest mean answers that trimming leaves out."""
LONGEST: Final = 100
"""No list of ids in a command is longer."""
CONDITIONS: Final = ("condition", "presentation")
OF_MODELS: Final = ("model", "style", "persona")


def default_universe(conclusion: Conclusion, corpus: Corpus) -> Universe:
    """The reasonable choices that a measure and a corpus offer by themselves."""
    part = conclusion.part(corpus)
    offer = Offer(conclusion, part, conclusion.judgments(part))
    made = {name: each(offer) for name, each in OFFERED.items()}
    return Universe(choices={name: alternatives for name, alternatives in made.items() if len(alternatives) > 1})


@dataclass(frozen=True)
class Offer:
    """What the functions in `OFFERED` look at: the claim, its part of the corpus, and the judgments that are used."""

    conclusion: Conclusion
    part: Corpus
    judgments: pl.DataFrame

    @property
    def taken(self) -> set[str]:
        """Columns that the claim itself compares or selects by."""
        named = [self.conclusion.options.get(name) or () for name in ("between", "on", "sources", "by", "traits")]
        listed = [[one] if isinstance(one, str) else one for one in named]
        return {*self.conclusion.where, *(name for one in listed for name in one)}

    @property
    def people(self) -> pl.DataFrame:
        """The answers that are used, where people gave them."""
        mine = self.judgments.join(self.part.people().raters.select("rater"), on="rater", how="semi")
        return mine.filter(pl.col("value").is_not_null())

    def option(self, name: str, *values: Any) -> Alternatives:
        """Other values of an option of the measure, the claimed one first; none where the measure does not have it."""
        known = find(self.conclusion.measure)
        if name not in known.options:
            return {}
        usual = self.conclusion.options.get(name, known.options[name].default)
        allowed = known.choices.get(name)
        other = [one for one in values if one != usual and (allowed is None or one in allowed)]
        first = str(usual) if usual is not None else AS_CLAIMED
        return {first: Alternative(), **{str(one): Alternative(options={name: one}) for one in other}}


def _without(name: str, column: str, ids: Sequence[str]) -> Alternatives:
    """An alternative that leaves out some items or raters; none where a command could not name them."""
    if not 0 < len(ids) <= LONGEST or any("," in one for one in ids):
        return {}
    return {name: Alternative(where={f"{column}!": sorted(ids)})}


def _each(column: str, values: Sequence[str], claimed: str) -> Alternatives:
    """Each value of a column by itself, beside what was claimed; none where there are none, or too many."""
    known = [one for one in values if one and "," not in one]
    if not 0 < len(known) <= MANY:
        return {}
    return {claimed: Alternative(), **{one: Alternative(where={column: [one]}) for one in known}}


def _level(offer: Offer) -> Alternatives:
    scales = {offer.part.question(name).scale for name in offer.judgments["question"].unique()}
    if len(scales) != 1 or not (scale := scales.pop()).ordered or len(scale.codes) == 2:
        return {}
    claimed = offer.conclusion.options.get("level") or scale.level
    return offer.option("level", *(one for one in ("ordinal", "interval") if one != claimed))


def _weights(offer: Offer) -> Alternatives:
    """The probabilities with which items were drawn, or the weights of raters that the corpus has."""
    drawn = [one for one in ("probability",) if one in offer.part.items.columns]
    raked = offer.part.about.weights if offer.conclusion.options.get("between") is None else ()
    others = offer.option("probability", *drawn) | offer.option("weights", *raked)
    return {AS_CLAIMED: Alternative(), **{name: how for name, how in others.items() if how.options}}


def _exclusions(offer: Offer) -> Alternatives:
    """Raters who were marked are let in; those who run against the others or never vary are left out."""
    made = {AS_CLAIMED: Alternative()}
    marked = len(offer.part.included().raters) < len(offer.part.raters)
    if marked and not offer.conclusion.options.get("include_excluded"):
        made["excluded let in"] = Alternative(options={"include_excluded": True})
    people = offer.people
    if people["rater"].n_unique() < 5:
        return made
    try:
        quality = find("rater-quality").function(people, by="question")
    except InputError:
        return made
    careless = quality.filter(pl.col("flags").list.len() > 0)["rater"].unique().to_list()
    return made | _without("careless left out", "rater", careless)


def _trimming(offer: Offer) -> Alternatives:
    """Without the people whose mean answers are the lowest and the highest."""
    means = offer.people.group_by("rater").agg(pl.col("value").mean()).sort("value", "rater")["rater"]
    cut = round(TRIMMED * len(means))
    return {"none": Alternative(), **_without("extreme raters", "rater", [*means.head(cut), *means.tail(cut)])}


def _opt_outs(offer: Offer) -> Alternatives:
    """Without the items of which somebody opted out or gave no answer."""
    silent = offer.judgments.filter(pl.col("value").is_null())["item"].unique().to_list()
    if len(silent) * 2 > offer.judgments["item"].n_unique():
        return {}
    return {"answers left out": Alternative(), **_without("items without all answers", "item", silent)}


def _readings(offer: Offer) -> Alternatives:
    """Without replies that were read after asking again, or from prose."""
    if "rule" not in offer.judgments.columns:
        return {}
    rules = offer.judgments["rule"].cast(pl.String).drop_nulls().unique().sort().to_list()
    made = {"all": Alternative()}
    for name in ("clarified", "prose"):
        made |= _without(f"{name} left out", "rule", [rule for rule in rules if rule.startswith(f"{name}:")])
    return made


def _samples(offer: Offer) -> Alternatives:
    numbers = offer.judgments["sample"].unique().sort().to_list()
    if len(numbers) < 2 or "sample" in offer.taken:
        return {}
    return {"all": Alternative(), "first": Alternative(where={"sample": [str(numbers[0])]})}


def _condition(column: str, offer: Offer) -> Alternatives:
    """Each value of a column of judgments, or of the raters who were claimed, by itself, beside all of them."""
    mine = offer.part.raters.join(offer.judgments.select("rater").unique(), on="rater", how="semi")
    held = mine if column in OF_MODELS else offer.judgments
    if column not in held.columns or column in offer.taken:
        return {}
    values = [one for one in held[column].cast(pl.String).drop_nulls().unique().sort() if one]
    return _each(column, values, "all") if len(values) > 1 else {}


def _whose(offer: Offer) -> Alternatives:
    """Each model by itself, instead of those who were claimed; models must have judged as many items."""
    if {"rater", "kind"} & offer.taken or offer.conclusion.options.get("powered_by"):
        return {}
    there, questions = offer.judgments["item"].n_unique(), offer.judgments["question"].unique()
    models = offer.part.included().raters.filter(pl.col("kind").cast(pl.String) != "aggregate")
    others = offer.part.judgments.filter(pl.col("question").is_in(questions.implode()), pl.col("value").is_not_null())
    others = others.join(models, on="rater", how="semi").join(offer.judgments, on="rater", how="anti")
    items = others.group_by("rater").agg(pl.col("item").n_unique().alias("items")).sort("rater")
    return _each("rater", [name for name, count in items.iter_rows() if 2 * count >= there], AS_CLAIMED)


def _left_out(offer: Offer) -> Alternatives:
    """One source, one rater of a few, or one block of raters is left out in turn."""
    made = {"nothing": Alternative()}
    sources = offer.part.design.sources
    if sources is not None and 2 < len(values := offer.part.values_of(sources)) <= 2 * MANY:
        for one in values:
            made |= _without(f"without {one}", sources, [one])
    raters = offer.judgments["rater"].unique().sort().to_list()
    if 2 < len(raters) <= BLOCKS and "rater" not in offer.taken:
        for name in raters:
            made |= _without(f"without {name}", "rater", [name])
    elif len(raters) > BLOCKS:
        for number in range(BLOCKS):
            made |= _without(f"without raters {number + 1} of {BLOCKS}", "rater", raters[number::BLOCKS])
    return made


OFFERED: Final[dict[str, Callable[[Offer], Alternatives]]] = {
    "whose": _whose,
    **{column: partial(_condition, column) for column in (*CONDITIONS, *OF_MODELS)},
    "reading": _readings,
    "samples": _samples,
    "aggregation": lambda offer: offer.option("aggregate", "mean", "median"),
    "level": _level,
    "design": lambda offer: offer.option("ci", "items"),
    "unit": lambda offer: offer.option("sources", *likely_sources(offer.part)),
    "weights": _weights,
    "opt-outs": _opt_outs,
    "exclusions": _exclusions,
    "trimming": _trimming,
    LEFT_OUT: _left_out,
}
"""What corpora and measures offer, in the order in which decisions are shown."""
