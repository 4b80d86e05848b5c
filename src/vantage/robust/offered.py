"""The choices that a measure and a corpus offer by themselves: the default universe of a conclusion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.measures import find
from vantage.robust.conclusion import Conclusion
from vantage.robust.universe import AS_CLAIMED, LEFT_OUT, Alternative, Decision, Universe

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


def _level(offer: Offer) -> Decision | None:
    scales = {offer.part.question(name).scale for name in offer.judgments["question"].unique()}
    if len(scales) != 1 or not (scale := scales.pop()).ordered or len(scale.codes) == 2:
        return None
    claimed = offer.conclusion.options.get("level") or scale.level
    options = offer.option("level", *(one for one in ("ordinal", "interval") if one != claimed))
    return Decision("level", tuple(options))


def _weights(offer: Offer) -> Decision:
    """The probabilities with which items were drawn, or the weights of raters that the corpus has."""
    drawn = [one for one in ("probability",) if one in offer.corpus.items.columns]
    made = offer.option("probability", *drawn) or [Alternative(AS_CLAIMED)]
    raked = offer.corpus.about.weights if offer.conclusion.options.get("between") is None else ()
    return Decision("weights", (*made, *offer.option("weights", *raked)[1:]))


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
    lambda offer: Decision("aggregation", tuple(offer.option("aggregate", "mean", "median"))),
    _level,
    lambda offer: Decision("design", tuple(offer.option("ci", "items"))),
    _weights,
    _opt_outs,
    _exclusions,
    _trimming,
    _left_out,
)
"""What corpora and measures offer, in the order in which decisions are shown."""
