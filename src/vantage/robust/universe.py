"""The universe of a conclusion: decisions with reasonable alternatives, and rules for what does not go together.

The first alternative of a decision is the one that was claimed. An alternative changes options of the measure or the
part of the corpus, so that `vantage measure` reproduces every specification. What measures and corpora offer by
themselves is in `default_universe`.

>>> whose = {"people": Alternative(), "bot": Alternative(where={"rater": ["bot"]})}
>>> how = {"mean": Alternative(), "median": Alternative(options={"aggregate": "median"})}
>>> [one.choices for one in Universe(choices={"whose": whose, "aggregation": how}).specifications()[0]]
[('people', 'mean'), ('people', 'median'), ('bot', 'mean'), ('bot', 'median')]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import numpy as np
import polars as pl
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationInfo, field_validator

from vantage.corpora import MODELS, Corpus, likely_sources
from vantage.documents import Document
from vantage.errors import InputError, nearest
from vantage.measures import convert, find
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
FEW_PEOPLE: Final = 5
"""With fewer people nobody is called careless."""
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
Offered: TypeAlias = tuple[str, str, Alternatives]
"""A decision that a corpus or a measure offers: its name, that of the claimed alternative, and the others."""


@dataclass(frozen=True)
class Specification:
    """One alternative of each decision, in the order of the decisions, and what they come to together."""

    choices: tuple[str, ...]
    changes: int
    """How many decisions are decided otherwise than claimed."""
    options: Mapping[str, Any]
    where: Where


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
        name, _, listed = (part.strip() for part in text.partition("="))
        measure, values = find(conclusion.measure), [one.strip() for one in listed.split(",") if one.strip()]
        if (option := name.replace("-", "_")) in measure.options:
            choices = values or [str(one) for one in measure.choices.get(option) or () if one is not None]
            if not choices:
                raise InputError(f"--vary {name} has no values", remedy=f"write --vary {name}=VALUE,VALUE")
            typed = partial(convert, hint=measure.types[option], flag=f"--vary {name}")
            made = {one: Alternative(options={option: typed(one)}) for one in choices}
            claimed = str(conclusion.options.get(option, measure.options[option].default))
        else:
            there = corpus.filter(**{column: kept for column, kept in conclusion.where.items() if column != name})
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
        near = [one * k for size, one in zip(sizes, np.eye(len(sizes), dtype=int), strict=True) for k in range(size)]
        drawn = rng.choice(self.size, min(self.size, ENUMERATED), replace=False)
        places = np.transpose(np.unravel_index(drawn, [1, *sizes]))[:, 1:]
        kept: dict[tuple[int, ...], Specification] = {}
        excluded: Counter[str] = Counter()
        for place in dict.fromkeys(tuple(one.tolist()) for one in (*near, *places)):
            chosen = tuple(own[number] for own, number in zip(names, place, strict=True))
            made = [own[name] for own, name in zip(self.choices.values(), chosen, strict=True)]
            if any(place) and (reason := self._unreasonable(dict(zip(self.choices, chosen, strict=True)), made)):
                excluded[reason] += 1
            elif len(kept) < most:
                where: dict[str, list[str]] = {}
                for column, values in (pair for one in made for pair in one.where.items()):
                    # What is left out adds up.
                    before = where.get(column, []) if column.endswith("!") else []
                    where[column] = [*dict.fromkeys([*before, *values])]
                options = {option: value for one in made for option, value in one.options.items()}
                kept[place] = Specification(chosen, sum(map(bool, place)), options, where)
        return [kept[place] for place in sorted(kept)], excluded

    def _unreasonable(self, chosen: Mapping[str, str], made: Sequence[Alternative]) -> str | None:
        """Why alternatives do not go together, if so."""
        named = Counter(column for one in made for column in one.where)
        if any(not c.endswith("!") and (count > 1 or f"{c}!" in named) for c, count in named.items()):
            return SAME_COLUMN
        moved = [name for name, first in self._selecting.items() if chosen[name] != first]
        if LEFT_OUT in moved and len(moved) > 1:
            return ONE_AT_A_TIME
        rules = (one for one in self.exclude if all(chosen[name] in names for name, names in one.when.items()))
        return next((one.because for one in rules), None)

    @cached_property
    def _selecting(self) -> dict[str, str]:
        """The decisions that choose among the judgments, and the first alternative of each."""
        return {name: next(iter(own)) for name, own in self.choices.items() if any(one.where for one in own.values())}


def default_universe(conclusion: Conclusion, corpus: Corpus) -> Universe:
    """The reasonable choices that a measure and a corpus offer by themselves."""
    part = conclusion.part(corpus)
    judgments = conclusion.judgments(part)
    offered = [
        *_of_data(conclusion, part, judgments),
        *_of_readings(judgments),
        *_of_analysis(conclusion, part, judgments),
        *_of_raters(conclusion, part, judgments),
    ]
    return Universe(choices={name: {first: Alternative(), **others} for name, first, others in offered if others})


def _of_data(conclusion: Conclusion, part: Corpus, judgments: pl.DataFrame) -> Iterator[Offered]:
    """Who judged, and under what circumstances, each alone; one source, group, rater or block of raters is left out."""
    named = [conclusion.options.get(name) or () for name in ("between", "on", "sources", "by", "traits")]
    taken = {*conclusion.where, *(one for given in named for one in ([given] if isinstance(given, str) else given))}
    raters = judgments["rater"].unique().sort().to_list()
    if not {"rater", "kind"} & taken and not conclusion.options.get("powered_by"):
        others = [name for name in able_models(part, judgments) if name not in raters]
        yield "whose", AS_CLAIMED, _each("rater", others)
    for column in (*CONDITIONS, "sample", *OF_MODELS):
        held = part.raters.filter(pl.col("rater").is_in(raters)) if column in OF_MODELS else judgments
        if column in held.columns and column not in taken:
            values = [one for one in held[column].cast(pl.String).drop_nulls().unique().sort() if one]
            yield column, "all", _each(column, values) if len(values) > 1 else {}
    design, groups = part.design, list[tuple[str, str, list[str]]]()
    drawn = [] if design.groups is None else part.values_of(design.groups)
    if design.sources is not None and 2 < len(values := part.values_of(design.sources)) <= 2 * MANY:
        groups = [(f"without {one}", design.sources, [one]) for one in values]
    if drawn:
        groups += [(f"without {one}", str(design.groups), [one]) for one in drawn if 2 < len(drawn) <= 2 * MANY]
    elif 2 < len(raters) <= BLOCKS and "rater" not in taken:
        groups += [(f"without {one}", "rater", [one]) for one in raters]
    elif len(raters) > BLOCKS:
        groups += [(f"without raters {k + 1} of {BLOCKS}", "rater", raters[k::BLOCKS]) for k in range(BLOCKS)]
    yield LEFT_OUT, "nothing", {name: how for one in groups for name, how in _without(*one).items()}


def _of_readings(judgments: pl.DataFrame) -> Iterator[Offered]:
    """Without what was read in one way, such as `line` or `clarified`, where most was read otherwise."""
    if "rule" in judgments.columns:
        rules = judgments.filter(pl.col("value").is_not_null())["rule"].cast(pl.String).fill_null("").to_frame()
        ways = rules.group_by(way=pl.col("rule").str.extract("^[^:]*", 0)).agg(pl.len(), pl.col("rule").unique())
        few = ways.filter(pl.col("way") != "", pl.col("len") * 2 <= len(rules)).sort("way").iter_rows()
        made = [_without(f"{way} left out", "rule", own) for way, _, own in few]
        yield "reading", "all", {name: how for one in made for name, how in one.items()}


def _of_analysis(conclusion: Conclusion, part: Corpus, judgments: pl.DataFrame) -> Iterator[Offered]:
    """Other options of the measure, and items of which somebody opted out or gave no answer left out."""
    measure = find(conclusion.measure)
    claimed = {name: conclusion.options.get(name, one.default) for name, one in measure.options.items()}

    def option(name: str, *values: str) -> tuple[str, Alternatives]:
        """The claimed value of an option, and others that it can have."""
        allowed = (measure.choices.get(name) or values) if name in claimed else ()
        others = [one for one in values if one in allowed and one != str(claimed[name])]
        return str(claimed.get(name) or AS_CLAIMED), {one: Alternative(options={name: one}) for one in others}

    yield "aggregation", *option("aggregate", "mean", "median")
    scales = {part.question(name).scale for name in judgments["question"].unique()}
    if len(scales) == 1 and (scale := scales.pop()).ordered and len(scale.codes) != 2:
        level = conclusion.options.get("level") or scale.level
        yield "level", *option("level", *(one for one in ("ordinal", "interval") if one != level))
    yield "design", *option("ci", "items")
    yield "unit", *option("sources", *likely_sources(part))
    _, drawn = option("probability", *(one for one in ("probability",) if one in part.items.columns))
    _, raked = option("weights", *(part.about.weights if conclusion.options.get("between") is None else ()))
    unweighted = {"none": Alternative(options={"weights": None})} if conclusion.options.get("weights") else {}
    yield "weights", AS_CLAIMED, {**unweighted, **drawn, **raked}
    silent = judgments.filter(pl.col("value").is_null())["item"].unique().to_list()
    few = silent if len(silent) * 2 <= judgments["item"].n_unique() else []
    yield "opt-outs", "answers left out", _without("items without all answers", "item", few)


def _of_raters(conclusion: Conclusion, part: Corpus, judgments: pl.DataFrame) -> Iterator[Offered]:
    """Marked people let in; those who run against the others, never vary, or answer most extremely left out."""
    people = judgments.join(part.people().raters, on="rater", how="semi").filter(pl.col("value").is_not_null())
    made: Alternatives = {}
    if len(part.included().raters) < len(part.raters) and not conclusion.options.get("include_excluded"):
        made["excluded let in"] = Alternative(options={"include_excluded": True})
    if people["rater"].n_unique() >= FEW_PEOPLE:
        with suppress(InputError):
            quality = find("rater-quality").function(people, by="question")
            careless = quality.filter(pl.col("flags").list.len() > 0)["rater"].unique().to_list()
            made |= _without("careless left out", "rater", careless)
    yield "exclusions", AS_CLAIMED, made
    means = people.group_by("rater").agg(pl.col("value").mean()).sort("value", "rater")["rater"]
    cut = round(TRIMMED * len(means))
    yield "trimming", "none", _without("extreme raters", "rater", [*means.head(cut), *means.tail(cut)])


def able_models(part: Corpus, judgments: pl.DataFrame) -> list[str]:
    """The models, personas and trained raters that answered the questions of at least half of these items."""
    models = part.included().raters.filter(pl.col("kind").cast(pl.String).is_in(MODELS))
    theirs = part.judgments.filter(pl.col("value").is_not_null()).join(models, on="rater", how="semi")
    theirs = theirs.join(judgments.select("item", "question").unique(), on=["item", "question"], how="semi")
    items = theirs.group_by("rater").agg(pl.col("item").n_unique())
    return items.filter(2 * pl.col("item") >= judgments["item"].n_unique())["rater"].sort().to_list()


def _without(name: str, column: str, ids: Sequence[str]) -> Alternatives:
    """An alternative that leaves out some items or raters; none where a command could not name them."""
    if not 0 < len(ids) <= LONGEST or any("," in one for one in ids):
        return {}
    return {name: Alternative(where={f"{column}!": sorted(ids)})}


def _each(column: str, values: Sequence[str]) -> Alternatives:
    """Each value of a column by itself; none where there are too many."""
    known = [one for one in values if one and "," not in one]
    return {one: Alternative(where={column: [one]}) for one in known if len(known) <= MANY}
