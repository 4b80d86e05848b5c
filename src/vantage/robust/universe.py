"""The universe of a conclusion: decisions with reasonable alternatives, and rules for what does not go together.

The first alternative of a decision is the one that was claimed. An alternative changes options of the measure or the
part of the corpus, so that `vantage measure` reproduces every specification.

>>> whose = Decision("whose", (Alternative("people"), Alternative("bot", where={"rater": ["bot"]})))
>>> how = Decision("aggregation", (Alternative("mean"), Alternative("median", {"aggregate": "median"})))
>>> [one.choices for one in Universe((whose, how)).specifications()[0]]
[('people', 'mean'), ('people', 'median'), ('bot', 'mean'), ('bot', 'median')]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from vantage.corpora import Corpus
from vantage.documents import Document
from vantage.errors import InputError, nearest
from vantage.measures import find
from vantage.robust.conclusion import Conclusion, Where

MOST: Final = 1000
"""How many specifications are computed; of more a random sample is drawn, with all that change one choice."""
ENUMERATED: Final = 100_000
"""Larger universes are sampled without going through all of them."""
DRAWN: Final = 10
"""How many times as many combinations are then drawn, since many may be excluded."""
MANY: Final = 12
"""A column with more values is not offered as a decision."""
BLOCKS: Final = 5
"""How many blocks of raters are left out in turn."""
TRIMMED: Final = 0.05
"""The share of people with the lowest and of those with the highest mean answers that trimming leaves out."""
LONGEST: Final = 100
"""No list of ids in a command is longer."""
LEFT_OUT: Final = "left out"
CONDITIONS: Final = ("condition", "presentation")
OF_MODELS: Final = ("model", "style", "persona")
AS_CLAIMED: Final = "as claimed"
SAME_COLUMN: Final = "two choices select judgments by the same column"
ONE_AT_A_TIME: Final = "one thing is left out at a time, and from the judgments that were claimed"


@dataclass(frozen=True)
class Alternative:
    """One way to decide: options of the measure, and the judgments that are used."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    where: Where = field(default_factory=dict)


@dataclass(frozen=True)
class Decision:
    """Something that could have been decided otherwise; the first alternative is what was claimed."""

    name: str
    alternatives: tuple[Alternative, ...]

    @property
    def selects(self) -> bool:
        """Whether its alternatives choose among the judgments."""
        return any(one.where for one in self.alternatives)


@dataclass(frozen=True)
class Exclusion:
    """A combination of alternatives that is not reasonable."""

    when: Mapping[str, Sequence[str]]
    because: str

    def holds(self, chosen: Mapping[str, str]) -> bool:
        """Whether a specification is one of these."""
        return all(chosen.get(decision) in names for decision, names in self.when.items())


@dataclass(frozen=True)
class Specification:
    """One alternative of each decision, in the order of the decisions."""

    choices: tuple[str, ...]
    options: Mapping[str, Any]
    where: Where

    def changes(self, primary: Specification) -> list[int]:
        """The places of the decisions that are decided otherwise."""
        return [place for place, (mine, theirs) in enumerate(zip(self.choices, primary.choices, strict=True))
                if mine != theirs]  # fmt: skip


class _AlternativeSpec(BaseModel):
    model_config = ConfigDict(extra="forbid")
    options: dict[str, Any] = Field(default_factory=dict)
    where: dict[str, Any] = Field(default_factory=dict)


class _ExclusionSpec(BaseModel):
    model_config = ConfigDict(extra="forbid")
    when: dict[str, str | list[str]]
    because: str


class _UniverseSpec(BaseModel):
    model_config = ConfigDict(extra="forbid")
    choices: dict[str, dict[str, _AlternativeSpec | None]]
    exclude: list[_ExclusionSpec] = Field(default_factory=list)


@dataclass(frozen=True)
class Universe:
    """All decisions, and the combinations that are excluded."""

    decisions: tuple[Decision, ...]
    exclusions: tuple[Exclusion, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Universe:
        """The universe that a YAML file declares."""
        document = Document.read(path)
        spec = document.validate(_UniverseSpec)
        document.check()
        return cls.from_data({} if spec is None else spec.model_dump())

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Universe:
        """The universe in the plain data of a file."""
        decisions = tuple(
            Decision(name, tuple(_alternative(str(one), how or {}) for one, how in alternatives.items()))
            for name, alternatives in data.get("choices", {}).items()
        )
        known = {decision.name: [one.name for one in decision.alternatives] for decision in decisions}
        exclusions = []
        for one in data.get("exclude", ()):
            when = {name: [names] if isinstance(names, str) else list(names) for name, names in one["when"].items()}
            for decision, names in when.items():
                if decision not in known:
                    raise InputError(f"there is no choice '{decision}' to exclude", remedy=nearest(decision, [*known]))
                if strange := [name for name in names if name not in known[decision]]:
                    raise InputError(
                        f"choice '{decision}' has no alternative '{strange[0]}'",
                        remedy=nearest(strange[0], known[decision]),
                    )
            exclusions.append(Exclusion(when, one["because"]))
        return cls(decisions, tuple(exclusions))

    def to_data(self) -> dict[str, Any]:
        """The universe as plain data, as a file has it."""
        choices = {
            decision.name: {
                one.name: {
                    **({"options": dict(one.options)} if one.options else {}),
                    **({"where": {name: list(values) for name, values in one.where.items()}} if one.where else {}),
                }
                for one in decision.alternatives
            }
            for decision in self.decisions
        }
        exclude = [{"when": {n: list(v) for n, v in one.when.items()}, "because": one.because}
                   for one in self.exclusions]  # fmt: skip
        return {"choices": choices, **({"exclude": exclude} if exclude else {})}

    def varied(self, conclusion: Conclusion, corpus: Corpus, text: str) -> Universe:
        """The universe with one more decision, as `--vary` writes it: an option or a column, with values or without."""
        name, _, listed = text.partition("=")
        measure, values = find(conclusion.measure), [one.strip() for one in listed.split(",") if one.strip()]
        option = name.strip().replace("-", "_")
        if option in measure.options:
            choices = values or [str(one) for one in measure.choices.get(option) or () if one is not None]
            if not choices:
                raise InputError(f"--vary {name} has no values", remedy=f"write --vary {name}=VALUE,VALUE")
            made = [Alternative(one, {option: _typed(one)}) for one in choices]
        else:
            rest = {column: kept for column, kept in conclusion.where.items() if column != name}
            known = values or _values(corpus.filter(**rest) if rest else corpus, name)
            made = [Alternative(one, where={name: [one]}) for one in known]
        if option in measure.options:
            claimed = str(conclusion.options.get(option, measure.options[option].default))
        else:
            claimed = ",".join(conclusion.where.get(name, ()))
        kept = tuple(one for one in made if one.name != claimed)
        first = Alternative(claimed if len(kept) < len(made) else AS_CLAIMED)
        return replace(self, decisions=(*self.decisions, Decision(name, (first, *kept))))

    @property
    def size(self) -> int:
        """How many specifications there are before any is excluded."""
        return prod(len(decision.alternatives) for decision in self.decisions)

    def specifications(self, most: int = MOST, seed: int = 0) -> tuple[list[Specification], Counter[str]]:
        """The reasonable specifications, the claimed one first, and how many each rule excludes.

        Of more than `most` a random sample is drawn; it has the claimed one and all that change one choice.
        """
        excluded: Counter[str] = Counter()
        claimed = [decision.alternatives[0] for decision in self.decisions]
        near = [claimed, *(one for places in self._near() if (one := self._chosen(places, Counter())) is not None)]
        if self.size <= ENUMERATED:
            others = list(self._walk([], excluded))
            if len(others) > most:
                order = np.random.default_rng(seed).permutation(len(others))
                others = [others[place] for place in order]
        else:
            others = [
                one for places in self._drawn(DRAWN * most, seed) if (one := self._chosen(places, excluded)) is not None
            ]
        first = near if len(others) > most else near[:1]
        kept = {made.choices: made for made in map(_specification, (*first, *others))}
        return list(kept.values())[:most], excluded

    def _near(self) -> Iterator[tuple[int, ...]]:
        """Specifications that change one choice."""
        claimed = [0] * len(self.decisions)
        for at, decision in enumerate(self.decisions):
            for place in range(1, len(decision.alternatives)):
                yield (*claimed[:at], place, *claimed[at + 1 :])

    def _drawn(self, number: int, seed: int) -> Iterator[tuple[int, ...]]:
        rng, sizes = np.random.default_rng(seed), [len(one.alternatives) for one in self.decisions]
        yield from map(tuple, rng.integers(0, sizes, size=(number, len(sizes))).tolist())

    def _chosen(self, places: Sequence[int], excluded: Counter[str]) -> list[Alternative] | None:
        chosen = [decision.alternatives[place] for decision, place in zip(self.decisions, places, strict=True)]
        reason = self._unreasonable(chosen)
        if reason is not None:
            excluded[reason] += 1
        return chosen if reason is None else None

    def _walk(self, chosen: list[Alternative], excluded: Counter[str]) -> Iterator[list[Alternative]]:
        """All reasonable combinations that begin with these; what does not go together is not followed further."""
        at = len(chosen)
        if at == len(self.decisions):
            yield chosen
            return
        for one in self.decisions[at].alternatives:
            reason = self._unreasonable([*chosen, one])
            if reason is None:
                yield from self._walk([*chosen, one], excluded)
            else:
                excluded[reason] += prod(len(other.alternatives) for other in self.decisions[at + 1 :])

    def _unreasonable(self, chosen: Sequence[Alternative]) -> str | None:
        """Why alternatives of the first decisions do not go together, if so."""
        named = [column for one in chosen for column in one.where]
        kept = Counter(column for column in named if not column.endswith("!"))
        if any(count > 1 or f"{column}!" in named for column, count in kept.items()):
            return SAME_COLUMN
        pairs = list(zip(self.decisions, chosen, strict=False))
        moved = [decision.name for decision, one in pairs if one is not decision.alternatives[0] and decision.selects]
        if LEFT_OUT in moved and len(moved) > 1:
            return ONE_AT_A_TIME
        by_name = {decision.name: one.name for decision, one in pairs}
        return next((one.because for one in self.exclusions if one.holds(by_name)), None)


def _alternative(name: str, how: Mapping[str, Any]) -> Alternative:
    where = {column: [str(one) for one in (values if isinstance(values, list) else [values])]
             for column, values in (how.get("where") or {}).items()}  # fmt: skip
    return Alternative(name, dict(how.get("options") or {}), where)


def _specification(chosen: Sequence[Alternative]) -> Specification:
    """The options and conditions of several alternatives together; what is left out adds up."""
    options: dict[str, Any] = {}
    where: dict[str, list[str]] = {}
    for one in chosen:
        options |= one.options
        for column, values in one.where.items():
            before = where.get(column, []) if column.endswith("!") else []
            where[column] = [*dict.fromkeys([*before, *values])]
    return Specification(tuple(one.name for one in chosen), options, where)


def _typed(word: str) -> Any:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(word.lower(), word)


def _values(corpus: Corpus, column: str) -> list[str]:
    """The values of a column that a command can name."""
    return [one for one in corpus.values_of(column) if one and "," not in one]


def used_judgments(conclusion: Conclusion, part: Corpus, columns: Sequence[str | None] = ()) -> pl.DataFrame:
    """The judgments that the measure of a claim uses, with columns of items and raters."""
    data: Any = find(conclusion.measure).whose(part, conclusion.options).data
    joined: pl.DataFrame = data.with_columns_of([name for name in columns if name is not None])
    return joined


def offered(conclusion: Conclusion, corpus: Corpus) -> Universe:
    """The reasonable choices that a measure and a corpus offer by themselves."""
    part = conclusion.part(corpus)
    offer = Offer(conclusion, corpus, part, used_judgments(conclusion, part))
    made = [decision for each in OFFERED if (decision := each(offer)) is not None]
    return Universe(tuple(decision for decision in made if len(decision.alternatives) > 1))


@dataclass(frozen=True)
class Offer:
    """What the functions in `OFFERED` look at: the claim, the corpus, its part, and the judgments that are used."""

    conclusion: Conclusion
    corpus: Corpus
    part: Corpus
    judgments: pl.DataFrame

    @property
    def taken(self) -> set[str]:
        """Columns that the claim itself compares or selects by."""
        options = self.conclusion.options
        named = [options.get(name) for name in ("between", "on", "sources")]
        by = options.get("by") or ()
        traits = options.get("traits") or ()
        several = [*([by] if isinstance(by, str) else by), *([traits] if isinstance(traits, str) else traits)]
        return {str(one) for one in (*named, *several, *self.conclusion.where) if one}

    def option(self, name: str, *values: Any) -> list[Alternative]:
        """Other values of an option of the measure, the claimed one first; none where the measure does not have it."""
        known = find(self.conclusion.measure)
        if name not in known.options:
            return []
        usual = self.conclusion.options.get(name, known.options[name].default)
        allowed = known.choices.get(name)
        other = [one for one in values if one != usual and (allowed is None or one in allowed)]
        return [Alternative(str(usual) if usual is not None else AS_CLAIMED), *(Alternative(str(one), {name: one})
                for one in other)]  # fmt: skip

    def without(self, name: str, column: str, ids: Sequence[str]) -> list[Alternative]:
        """An alternative that leaves out some items or raters; none where a command could not name them."""
        if not 0 < len(ids) <= LONGEST or any("," in one for one in ids):
            return []
        return [Alternative(name, where={f"{column}!": sorted(ids)})]

    @property
    def people(self) -> pl.DataFrame:
        """The answers that are used, where people gave them."""
        mine = self.judgments.join(self.part.people().raters.select("rater"), on="rater", how="semi")
        return mine.filter(pl.col("value").is_not_null())


def _aggregation(offer: Offer) -> Decision:
    return Decision("aggregation", tuple(offer.option("aggregate", "mean", "median")))


def _level(offer: Offer) -> Decision | None:
    scales = {offer.part.question(name).scale for name in offer.judgments["question"].unique()}
    if len(scales) != 1 or not (scale := scales.pop()).ordered or len(scale.codes) == 2:
        return None
    claimed = offer.conclusion.options.get("level") or scale.level
    options = offer.option("level", *(one for one in ("ordinal", "interval") if one != claimed))
    return Decision("level", tuple(options))


def _design(offer: Offer) -> Decision:
    return Decision("design", tuple(offer.option("ci", "items")))


def _weights(offer: Offer) -> Decision | None:
    column = "probability"
    if column not in offer.corpus.items.columns:
        return None
    return Decision("weights", tuple(offer.option(column, column)))


def _exclusions(offer: Offer) -> Decision:
    """Raters who were marked are let in; those who run against the others or never vary are left out."""
    made = [Alternative(AS_CLAIMED)]
    if len(offer.part.included().raters) < len(offer.part.raters) and not offer.conclusion.options.get(
        "include_excluded"
    ):
        made.append(Alternative("excluded let in", {"include_excluded": True}))
    people = offer.people
    if people["rater"].n_unique() >= 5:
        try:
            quality = find("rater-quality").function(people, by="question")
        except InputError:
            return Decision("exclusions", tuple(made))
        careless = quality.filter(pl.col("flags").list.len() > 0)
        made += offer.without("careless left out", "rater", careless["rater"].unique().to_list())
    return Decision("exclusions", tuple(made))


def _trimming(offer: Offer) -> Decision | None:
    """Without the people whose mean answers are the lowest and the highest."""
    means = offer.people.group_by("rater").agg(pl.col("value").mean()).sort("value", "rater")
    cut = round(TRIMMED * len(means))
    if not cut:
        return None
    ends = [*means["rater"].head(cut), *means["rater"].tail(cut)]
    return Decision("trimming", (Alternative("none"), *offer.without("extreme raters", "rater", ends)))


def _opt_outs(offer: Offer) -> Decision | None:
    """Without the items of which somebody opted out or gave no answer."""
    silent = offer.judgments.filter(pl.col("value").is_null())["item"].unique().to_list()
    if len(silent) * 2 > offer.judgments["item"].n_unique():
        return None
    alternatives = offer.without("items without all answers", "item", silent)
    return Decision("opt-outs", (Alternative("answers left out"), *alternatives))


def _readings(offer: Offer) -> Decision | None:
    """Without replies that were read after asking again, or from prose."""
    if "rule" not in offer.judgments.columns:
        return None
    rules = offer.judgments["rule"].cast(pl.String).drop_nulls().unique().sort().to_list()
    named = {"clarified left out": "clarified:", "prose left out": "prose:"}
    made = [(name, [rule for rule in rules if rule.startswith(start)]) for name, start in named.items()]
    return Decision(
        "reading", (Alternative("all"), *(one for name, ids in made for one in offer.without(name, "rule", ids)))
    )


def _samples(offer: Offer) -> Decision | None:
    numbers = offer.judgments["sample"].unique().sort().to_list()
    if len(numbers) < 2 or "sample" in offer.taken:
        return None
    return Decision("samples", (Alternative("all"), Alternative("first", where={"sample": [str(numbers[0])]})))


def _each(offer: Offer, column: str, held: pl.DataFrame) -> Decision | None:
    """Each value of a column by itself, beside all of them."""
    if column not in held.columns or column in offer.taken:
        return None
    values = held[column].cast(pl.String).drop_nulls().unique().sort().to_list()
    known = [one for one in values if one and "," not in one]
    if not 1 < len(known) <= MANY:
        return None
    return Decision(column, (Alternative("all"), *(Alternative(one, where={column: [one]}) for one in known)))


def _whose(offer: Offer) -> Decision | None:
    """Each model by itself, instead of those who were claimed; models must have judged as many items."""
    if {"rater", "kind"} & offer.taken or offer.conclusion.options.get("powered_by"):
        return None
    there = offer.judgments["item"].n_unique()
    questions = offer.judgments["question"].unique()
    others = offer.part.judgments.filter(pl.col("question").is_in(questions.implode()), pl.col("value").is_not_null())
    others = others.join(offer.judgments.select("rater").unique(), on="rater", how="anti")
    items = others.group_by("rater").agg(pl.col("item").n_unique().alias("items")).sort("rater")
    names = [rater for rater, count in items.iter_rows() if 2 * count >= there and "," not in rater]
    models = offer.part.included().raters.filter(pl.col("kind").cast(pl.String) != "aggregate")["rater"]
    chosen = [name for name in names if name in set(models)]
    if not 0 < len(chosen) <= MANY:
        return None
    return Decision("whose", (Alternative(AS_CLAIMED), *(Alternative(one, where={"rater": [one]}) for one in chosen)))


def _left_out(offer: Offer) -> Decision | None:
    """One source, one rater of a few, or one block of raters is left out in turn."""
    made = [Alternative("nothing")]
    sources = offer.part.design.sources
    if sources is not None:
        values = [one for one in offer.part.values_of(sources) if "," not in one]
        if 2 < len(values) <= 2 * MANY:
            made += [Alternative(f"without {one}", where={f"{sources}!": [one]}) for one in values]
    raters = offer.judgments["rater"].unique().sort().to_list()
    if 2 < len(raters) <= BLOCKS and "rater" not in offer.taken:
        made += [one for name in raters for one in offer.without(f"without {name}", "rater", [name])]
    elif len(raters) > BLOCKS:
        for number in range(BLOCKS):
            name = f"without raters {number + 1} of {BLOCKS}"
            made += offer.without(name, "rater", raters[number::BLOCKS])
    return Decision(LEFT_OUT, tuple(made))


OFFERED: Final[tuple[Callable[[Offer], Decision | None], ...]] = (
    _whose,
    *(lambda offer, column=column: _each(offer, column, offer.judgments) for column in CONDITIONS),
    *(
        lambda offer, column=column: _each(
            offer, column, offer.part.raters.join(offer.judgments.select("rater").unique(), on="rater", how="semi")
        )
        for column in OF_MODELS
    ),
    _readings,
    _samples,
    _aggregation,
    _level,
    _design,
    _weights,
    _opt_outs,
    _exclusions,
    _trimming,
    _left_out,
)
"""What corpora and measures offer, in the order in which decisions are shown."""
