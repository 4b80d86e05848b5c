"""The universe of a conclusion: decisions with reasonable alternatives, and rules for what does not go together.

The first alternative of a decision is the one that was claimed. An alternative changes options of the measure or the
part of the corpus, so that `vantage measure` reproduces every specification. What measures and corpora offer by
themselves is listed in `OFFERED`.

>>> whose = {"people": Alternative(), "bot": Alternative(where={"rater": ["bot"]})}
>>> how = {"mean": Alternative(), "median": Alternative(options={"aggregate": "median"})}
>>> [one.choices for one in Universe(choices={"whose": whose, "aggregation": how}).specifications()[0]]
[('people', 'mean'), ('people', 'median'), ('bot', 'mean'), ('bot', 'median')]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import numpy as np
import polars as pl
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationInfo, field_validator

from vantage.corpora import Corpus, likely_sources
from vantage.documents import Document
from vantage.errors import InputError, nearest
from vantage.measures import find, parse_words
from vantage.robust.conclusion import Conclusion, Where

MOST: Final = 1000
"""How many specifications are computed; of more a random sample is drawn, with all that change one choice."""
ENUMERATED: Final = 100_000
"""Of larger universes so many combinations are looked at, drawn at random."""
LEFT_OUT: Final = "left out"
AS_CLAIMED: Final = "as claimed"
SAME_COLUMN: Final = "two choices select judgments by the same column"
ONE_AT_A_TIME: Final = "one thing is left out at a time, and from the judgments that were claimed"
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


class Alternative(BaseModel):
    """One way to decide: options of the measure, and the judgments that are used."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    options: dict[str, Any] = {}
    where: Where = {}


class Exclusion(BaseModel):
    """A combination of alternatives that is not reasonable."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    when: Where
    because: str


Name: TypeAlias = Annotated[str, BeforeValidator(str)]
Alternatives: TypeAlias = dict[Name, Annotated[Alternative, BeforeValidator(lambda one: {} if one is None else one)]]
"""Something that could have been decided otherwise, by the names of its alternatives; the first is what was claimed."""


@dataclass(frozen=True)
class Specification:
    """One alternative of each decision, in the order of the decisions."""

    choices: tuple[str, ...]
    options: Mapping[str, Any]
    where: Where

    def changes(self, primary: Specification) -> int:
        """How many decisions are decided otherwise."""
        return sum(mine != theirs for mine, theirs in zip(self.choices, primary.choices, strict=True))


class Universe(BaseModel):
    """All decisions, and the combinations that are excluded."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    choices: dict[Name, Alternatives] = {}
    exclude: list[Exclusion] = []

    @field_validator("exclude")
    @classmethod
    def _known(cls, rules: list[Exclusion], info: ValidationInfo) -> list[Exclusion]:
        choices = info.data.get("choices", {})
        named = [(decision, name) for one in rules for decision, names in one.when.items() for name in names]
        for decision, name in named:
            if decision not in choices:
                raise InputError(f"there is no choice '{decision}' to exclude", remedy=nearest(decision, [*choices]))
            if name not in (known := [*choices[decision]]):
                raise InputError(f"choice '{decision}' has no alternative '{name}'", remedy=nearest(name, known))
        return rules

    @classmethod
    def read(cls, path: Path) -> Universe:
        """The universe that a YAML file declares."""
        document = Document.read(path)
        made = document.validate(cls)
        document.check()
        return made or cls()

    def varied(self, conclusion: Conclusion, corpus: Corpus, text: str) -> Universe:
        """The universe with one more decision, as `--vary` writes it: an option or a column, with values or without."""
        name, _, listed = text.partition("=")
        measure, values = find(conclusion.measure), [one.strip() for one in listed.split(",") if one.strip()]
        flag, option = name.strip().replace("_", "-"), name.strip().replace("-", "_")
        if option in measure.options:
            choices = values or [str(one) for one in measure.choices.get(option) or () if one is not None]
            if not choices:
                raise InputError(f"--vary {name} has no values", remedy=f"write --vary {name}=VALUE,VALUE")
            verb, types = f"vantage measure {measure.name}", {flag: measure.types[option]}
            typed = [parse_words([f"--{flag}={one}"], types, InputError, verb)[flag] for one in choices]
            made = {one: Alternative(options={option: value}) for one, value in zip(choices, typed, strict=True)}
            claimed = str(conclusion.options.get(option, measure.options[option].default))
        else:
            rest = {column: kept for column, kept in conclusion.where.items() if column != name}
            there = corpus.filter(**rest) if rest else corpus
            known = values or [one for one in there.values_of(name) if one and "," not in one]
            made = {one: Alternative(where={name: [one]}) for one in known}
            claimed = ",".join(conclusion.where.get(name, ()))
        first = claimed if claimed in made else AS_CLAIMED
        others = {one: how for one, how in made.items() if one != claimed}
        return Universe(choices={**self.choices, name: {first: Alternative(), **others}}, exclude=self.exclude)

    @property
    def size(self) -> int:
        """How many specifications there are before any is excluded."""
        return prod(map(len, self.choices.values()))

    def specifications(self, most: int = MOST, seed: int = 0) -> tuple[list[Specification], Counter[str]]:
        """The reasonable specifications, the claimed one first, and how many each rule excludes.

        Of more than `most` a random sample is drawn; it has the claimed one and all that change one choice.
        """
        names = [[*one] for one in self.choices.values()]
        sizes, rng = [len(one) for one in names], np.random.default_rng(seed)
        if self.size <= ENUMERATED:
            places = np.indices(sizes).reshape(len(sizes), self.size).T
            places = rng.permutation(places) if self.size > most else places
        else:
            places = rng.integers(0, sizes, (ENUMERATED, len(sizes)))
        near = [one * k for size, one in zip(sizes, np.eye(len(sizes), dtype=int), strict=True) for k in range(size)]
        kept: dict[tuple[int, ...], Specification] = {}
        excluded: Counter[str] = Counter()
        for place in dict.fromkeys(tuple(one.tolist()) for one in (*near, *places)):
            chosen = tuple(own[number] for own, number in zip(names, place, strict=True))
            if any(place) and (reason := self._unreasonable(chosen)) is not None:
                excluded[reason] += 1
            elif len(kept) < most:
                kept[place] = self._specification(chosen)
        return [kept[place] for place in sorted(kept)], excluded

    def _unreasonable(self, chosen: tuple[str, ...]) -> str | None:
        """Why alternatives do not go together, if so."""
        made = [own[one] for own, one in zip(self.choices.values(), chosen, strict=True)]
        named = Counter(column for one in made for column in one.where)
        if any(not c.endswith("!") and (count > 1 or f"{c}!" in named) for c, count in named.items()):
            return SAME_COLUMN
        by_name = dict(zip(self.choices, chosen, strict=True))
        moved = [name for name, first in self._selecting.items() if by_name[name] != first]
        if LEFT_OUT in moved and len(moved) > 1:
            return ONE_AT_A_TIME
        rules = (one for one in self.exclude if all(by_name.get(name) in names for name, names in one.when.items()))
        return next((one.because for one in rules), None)

    @cached_property
    def _selecting(self) -> dict[str, str]:
        """The decisions that choose among the judgments, and the first alternative of each."""
        return {name: next(iter(own)) for name, own in self.choices.items() if any(one.where for one in own.values())}

    def _specification(self, chosen: tuple[str, ...]) -> Specification:
        """The options and conditions of several alternatives together; what is left out adds up."""
        options: dict[str, Any] = {}
        where: dict[str, list[str]] = {}
        for one in (own[name] for own, name in zip(self.choices.values(), chosen, strict=True)):
            options |= one.options
            for column, values in one.where.items():
                before = where.get(column, []) if column.endswith("!") else []
                where[column] = [*dict.fromkeys([*before, *values])]
        return Specification(chosen, options, where)


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

    @cached_property
    def claimed(self) -> dict[str, str]:
        """What the claim says of each option of its measure."""
        known, given = find(self.conclusion.measure).options, self.conclusion.options
        values = {name: given.get(name, one.default) for name, one in known.items()}
        return {name: AS_CLAIMED if value is None else str(value) for name, value in values.items()}

    def option(self, name: str, *values: str) -> Alternatives:
        """Other values of an option; none where the measure does not have it."""
        allowed = find(self.conclusion.measure).choices.get(name) or values
        other = [one for one in values if name in self.claimed and one != self.claimed[name] and one in allowed]
        return {one: Alternative(options={name: one}) for one in other}


def default_universe(conclusion: Conclusion, corpus: Corpus) -> Universe:
    """The reasonable choices that a measure and a corpus offer by themselves."""
    part = conclusion.part(corpus)
    offer = Offer(conclusion, part, conclusion.judgments(part))
    made: dict[str, Alternatives] = {}
    for name, (first, offered) in OFFERED.items():
        if others := offered(offer):
            made[name] = {first.format_map(offer.claimed): Alternative(), **others}
    return Universe(choices=made)


def _without(name: str, column: str, ids: Sequence[str]) -> Alternatives:
    """An alternative that leaves out some items or raters; none where a command could not name them."""
    if not 0 < len(ids) <= LONGEST or any("," in one for one in ids):
        return {}
    return {name: Alternative(where={f"{column}!": sorted(ids)})}


def _each(column: str, values: Sequence[str]) -> Alternatives:
    """Each value of a column by itself; none where there are too many."""
    known = [one for one in values if one and "," not in one]
    return {one: Alternative(where={column: [one]}) for one in known if len(known) <= MANY}


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
    unweighted = {"none": Alternative(options={"weights": None})} if offer.conclusion.options.get("weights") else {}
    return unweighted | offer.option("probability", *drawn) | offer.option("weights", *raked)


def _exclusions(offer: Offer) -> Alternatives:
    """Raters who were marked are let in; those who run against the others or never vary are left out."""
    made: Alternatives = {}
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
    return _without("extreme raters", "rater", [*means.head(cut), *means.tail(cut)])


def _opt_outs(offer: Offer) -> Alternatives:
    """Without the items of which somebody opted out or gave no answer."""
    silent = offer.judgments.filter(pl.col("value").is_null())["item"].unique().to_list()
    few = len(silent) * 2 <= offer.judgments["item"].n_unique()
    return _without("items without all answers", "item", silent if few else [])


def _readings(offer: Offer) -> Alternatives:
    """Without replies that were read after asking again, or from prose."""
    if "rule" not in offer.judgments.columns:
        return {}
    rules = offer.judgments["rule"].cast(pl.String).drop_nulls().unique().sort().to_list()
    clarified, prose = ([rule for rule in rules if rule.startswith(one)] for one in ("clarified:", "prose:"))
    return _without("clarified left out", "rule", clarified) | _without("prose left out", "rule", prose)


def _samples(offer: Offer) -> Alternatives:
    numbers = offer.judgments["sample"].unique().sort().to_list()
    several = len(numbers) > 1 and "sample" not in offer.taken
    return {"first": Alternative(where={"sample": [str(numbers[0])]})} if several else {}


def _condition(column: str, offer: Offer) -> Alternatives:
    """Each value of a column of judgments, or of the raters who were claimed, by itself, beside all of them."""
    mine = offer.part.raters.join(offer.judgments.select("rater").unique(), on="rater", how="semi")
    held = mine if column in OF_MODELS else offer.judgments
    if column not in held.columns or column in offer.taken:
        return {}
    values = [one for one in held[column].cast(pl.String).drop_nulls().unique().sort() if one]
    return _each(column, values) if len(values) > 1 else {}


def _whose(offer: Offer) -> Alternatives:
    """Each model by itself, instead of those who were claimed; models must have judged as many items."""
    if {"rater", "kind"} & offer.taken or offer.conclusion.options.get("powered_by"):
        return {}
    there, questions = offer.judgments["item"].n_unique(), offer.judgments["question"].unique()
    models = offer.part.included().raters.filter(pl.col("kind").cast(pl.String) != "aggregate")
    others = offer.part.judgments.filter(pl.col("question").is_in(questions.implode()), pl.col("value").is_not_null())
    others = others.join(models, on="rater", how="semi").join(offer.judgments, on="rater", how="anti")
    items = others.group_by("rater").agg(pl.col("item").n_unique().alias("items")).sort("rater")
    return _each("rater", [name for name, count in items.iter_rows() if 2 * count >= there])


def _left_out(offer: Offer) -> Alternatives:
    """One source, one declared group of raters, one rater of a few, or one block of raters is left out in turn."""
    design, raters = offer.part.design, offer.judgments["rater"].unique().sort().to_list()
    sources, drawn = design.sources, None if design.groups is None else offer.part.values_of(design.groups)
    groups = []
    if sources is not None and 2 < len(values := offer.part.values_of(sources)) <= 2 * MANY:
        groups = [(f"without {one}", sources, [one]) for one in values]
    if drawn is not None:
        groups += [(f"without {one}", str(design.groups), [one]) for one in drawn if 2 < len(drawn) <= 2 * MANY]
    elif 2 < len(raters) <= BLOCKS and "rater" not in offer.taken:
        groups += [(f"without {one}", "rater", [one]) for one in raters]
    elif len(raters) > BLOCKS:
        groups += [(f"without raters {k + 1} of {BLOCKS}", "rater", raters[k::BLOCKS]) for k in range(BLOCKS)]
    return {name: how for one in groups for name, how in _without(*one).items()}


OFFERED: Final[dict[str, tuple[str, Callable[[Offer], Alternatives]]]] = {
    "whose": (AS_CLAIMED, _whose),
    **{column: ("all", partial(_condition, column)) for column in (*CONDITIONS, *OF_MODELS)},
    "reading": ("all", _readings),
    "samples": ("all", _samples),
    "aggregation": ("{aggregate}", lambda offer: offer.option("aggregate", "mean", "median")),
    "level": ("{level}", _level),
    "design": ("{ci}", lambda offer: offer.option("ci", "items")),
    "unit": ("{sources}", lambda offer: offer.option("sources", *likely_sources(offer.part))),
    "weights": (AS_CLAIMED, _weights),
    "opt-outs": ("answers left out", _opt_outs),
    "exclusions": (AS_CLAIMED, _exclusions),
    "trimming": ("none", _trimming),
    LEFT_OUT: ("nothing", _left_out),
}
"""What corpora and measures offer, in the order in which decisions are shown: the claimed alternative, named or by the
value of an option, and the others."""
