"""What a plan takes from a pilot: the model of ratings, components of variance with draws, and models beside people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl
from scipy.special import ndtri

from vantage.corpora.schema import MODELS
from vantage.errors import InputError, nearest
from vantage.measures import (
    UNIT,
    Answers,
    Counts,
    Floats,
    Ints,
    ItemSources,
    Judgments,
    Part,
    RaterGroups,
    VarianceDesign,
    alpha,
    canonical,
    drawn_raters,
    has_column,
    level_of,
    selected,
    several_items,
    spread_of,
    variance_draws,
)
from vantage.measures import coefficient as correlation
from vantage.measures.agreement.alpha import coefficient, difference
from vantage.measures.codes import positions
from vantage.measures.counts import FEW
from vantage.measures.intervals import ENOUGH_RATERS
from vantage.measures.parts import parts
from vantage.planning.model import Components, RatingModel, StudyLayout, agreeing_share, latent_share
from vantage.scales import Level

LEAST: Final = 14
"""A variance of n items is known to √(2/(n − 1)), and a width to half of that: to 20 % with 14 items."""


@dataclass(frozen=True)
class Pilot:
    """The people's answers to one question, and those of models to the same items."""

    answers: pl.DataFrame
    """Of people, the first of each to an item: a unit, `rater`, `sample` and `value`; two options are 0 and 1."""
    others: pl.DataFrame
    """Of models, personas and trained raters."""
    level: Level
    codes: Floats
    unordered: bool
    """Whether there are more than two options without an order."""
    sources: ItemSources | None = None
    """Which items were drawn together, as the design of the corpus says."""
    groups: RaterGroups | None = None
    """Which raters were."""

    @classmethod
    def of(cls, data: Judgments, question: str | None, level: Level | None) -> Pilot:
        """The answers to a question, people's alone unless there are no people."""
        people = selected(data, None, include_excluded=False).data
        part = _asked(people, question)
        asked = part.frame["question"].unique().sort().to_list()
        scale = part.scale()
        used = level_of(scale, level, asked)
        answers = part.answered.sort("sample").unique([*UNIT, "rater"], keep="first", maintain_order=True)
        given = np.unique(answers["value"].to_numpy())
        codes = np.array(sorted({*given, *(scale.codes if scale is not None else ())}))
        others = answers.clear()
        if has_column(data, "kind"):
            everyone = parts(selected(data, None, include_excluded=False, pools=False).data, extra=["kind"])
            frame = next(everyone).answered
            beside = pl.col("kind").cast(pl.String).is_in(MODELS)
            others = frame.filter(beside, pl.col("question").is_in(asked)).select(answers.columns)
            others = others.join(answers.select("rater").unique(), on="rater", how="anti")
        if len(codes) == 2:
            to_share = (pl.col("value") == codes[1]).cast(pl.Float64)
            answers, others = answers.with_columns(to_share), others.with_columns(to_share)
            codes = np.array([0.0, 1.0])
        design = getattr(people, "design", None)
        sources = ItemSources.of(people, design.sources) if design and design.sources else None
        groups = RaterGroups.of(people, design.groups) if design and design.groups else None
        pilot = cls(answers, others, used, codes, used == "nominal" and len(codes) > 2, sources, groups)
        pilot._check()
        return pilot

    @cached_property
    def layout(self) -> StudyLayout:
        """How many items, answers per item (on average, rounded) and raters there are."""
        units = self.answers.select(UNIT).n_unique()
        return StudyLayout(units, max(1, round(len(self.answers) / units)), self.answers["rater"].n_unique())

    @cached_property
    def design(self) -> VarianceDesign:
        """The answers with crossed effects of items and raters."""
        return VarianceDesign.of(self.answers)

    @cached_property
    def components(self) -> Components:
        """Variances of items, raters and single answers, none below zero."""
        item, rater, residual = self.design.variances.tolist()
        share = float(self.answers["value"].mean()) if len(self.codes) == 2 else None  # type: ignore[arg-type]
        return Components(item, rater, residual, share)

    @cached_property
    def draws(self) -> Floats:
        """Variances that fit the pilot, one row per draw."""
        return variance_draws(self.design)

    @cached_property
    def drawn_together(self) -> Floats:
        """What a mean varies by more, since items come in sources and raters in groups: added to the three variances.

        Of m items from a source that vary by σ² between sources, an item is worth 1/m of that more (Kish 1965).
        """
        more = np.zeros(3)
        value = pl.col("value")
        apart = self.answers.select("rater", left=value - value.mean().over(UNIT))
        if self.sources is not None:
            items = self.answers.group_by("item").agg(value.mean())
            more[0] = _between(self.sources.codes(items["item"]), items["value"].to_numpy())
        if self.groups is not None:
            raters = apart.group_by("rater").agg(pl.col("left").mean())
            more[1] = _between(self.groups.codes(raters["rater"]), raters["left"].to_numpy())
        return more

    @property
    def said_together(self) -> list[str]:
        """What a plan assumes of sources and groups, in words."""
        said = []
        for units, whole, drawn in (("items", "sources", self.sources), ("raters", "groups", self.groups)):
            if drawn is not None:
                each = self.answers[units[:-1]].n_unique() / len(np.unique(drawn.codes(self.answers[units[:-1]])))
                said.append(f"{units} come in {whole} ({drawn.column}) of about {each:.3g}, as in the pilot")
        return said

    @cached_property
    def model(self) -> RatingModel:
        """The model of ratings with the frequencies and components of the pilot."""
        value = self.answers["value"].to_numpy()
        frequency = np.array([(value == code).mean() for code in self.codes])
        if self.unordered:
            bare = RatingModel.of_shares(self.codes.tolist(), frequency.tolist(), self.level, item=0.0, rater=0.0)
            item, rater = (agreeing_share(bare.cuts, self._agreement(unit)) for unit in (list(UNIT), ["rater"]))
            return RatingModel(self.codes, self.level, bare.cuts, item, min(rater, 1 - item))
        cuts = ndtri(np.clip(np.cumsum(frequency)[:-1], 0, 1))
        item, rater = (latent_share(self.codes, cuts, one) for one in (self.components.item, self.components.rater))
        return RatingModel(self.codes, self.level, cuts, item, min(rater, 1 - item))

    @cached_property
    def alpha_variances(self) -> tuple[float, float | None, float]:
        """The variance of alpha over items, over raters (null with fewer than four), and that of the noise in both.

        Where items come from sources and raters from groups it is over these.
        """
        known = alpha(self.answers, level=self.level, ci="items", sources=self.sources, kinds="all")
        row = known.row(0, named=True)
        if row["low"] is None:
            raise InputError(f"alpha has no interval: {row['reason']}", remedy="take a larger pilot")
        over_items = ((row["high"] - row["low"]) / (2 * float(ndtri(0.975)))) ** 2
        if several_items(self.answers, self.groups) < ENOUGH_RATERS:
            return over_items, None, 0.0
        values = np.unique(self.answers["value"].to_numpy())
        named = canonical(self.answers)
        ratings, cluster = named.ratings, None
        if self.sources is not None:
            cluster = self.sources.codes(named.units["item"])[ratings.unit]
        rater = drawn_raters(named.raters, self.groups)[ratings.coder]
        answers = Answers(ratings.unit, rater, positions(ratings.value, values), values, cluster).of_units(2)
        counts = Counts.of_units(answers.unit, answers.column, values, answers.units, many=len(values) > FEW)
        statistic = coefficient(counts, difference(self.level, values))
        over_raters, over_both = (spread_of(statistic, answers, over) for over in ("raters", "both"))
        over_units = spread_of(statistic, answers, "items")
        if over_raters is None or over_both is None or over_units is None:
            return over_items, None, 0.0
        return over_items, over_raters.variance, over_raters.variance - (over_both.variance - over_units.variance)

    def explained(self, rater: str) -> float:
        """The variance of items' means that a model explains: r² (adjusted) times the variance (see `powered`)."""
        mine = self.others.filter(rater=rater).group_by(UNIT).agg(pl.col("value").mean().alias("model"))
        means = self.answers.group_by(UNIT).agg(pl.col("value").mean()).join(mine, on=UNIT)
        if len(means) < LEAST:
            raise InputError(
                f"'{rater}' and people share {len(means)} items of the pilot, and {LEAST} are needed",
                remedy="let it rate the items of the pilot",
            )
        model, value = means["model"].to_numpy(), means["value"].to_numpy()
        if np.ptp(model) == 0 or np.ptp(value) == 0:
            return 0.0
        squared = correlation(model, value, "pearson") ** 2
        adjusted = 1 - (1 - squared) * (len(means) - 1) / (len(means) - 2)
        return max(adjusted, 0.0) * float(value.var(ddof=1))

    def between_models(self, models: Sequence[str] | None) -> tuple[Pilot, float, tuple[str, str]]:
        """How much further one model is from each person's answer than another is, as a pilot of its own.

        A distance is 0 or 1 on a nominal scale, otherwise a number of points. Gives also the observed difference.
        """
        known = self.others["rater"].unique().sort().to_list()
        for name in models or ():
            if name not in known:
                raise InputError(f"there is no model '{name}' in the pilot", remedy=nearest(name, known))
        pair = list(models or known)
        if len(pair) != 2:
            raise InputError(
                f"two models are ranked, and there {'is' if len(pair) == 1 else 'are'} {len(pair)}",
                remedy="name two of the pilot's models with the option models",
            )
        frame, value = self.answers, pl.col("value")
        apart, usual = (value - pl.col("model")).abs(), value.median()
        if self.level == "nominal":
            apart, usual = (value != pl.col("model")).cast(pl.Float64), value.mode().min()
        for side, name in zip(("first", "second"), pair, strict=True):
            mine = self.others.filter(rater=name).group_by(UNIT).agg(usual.alias("model"))
            frame = frame.join(mine, on=UNIT).with_columns(apart.alias(side)).drop("model")
        frame = frame.with_columns((pl.col("first") - pl.col("second")).alias("value")).drop("first", "second")
        if frame.is_empty():
            raise InputError(f"no item was judged by people and by {' and '.join(pair)}", remedy="rate the same items")
        values = np.unique(frame["value"].to_numpy())
        as_items = replace(self, answers=frame, others=self.others.clear(), level="interval", codes=values)
        as_items._check()
        return as_items, float(frame["value"].mean()), (pair[0], pair[1])  # type: ignore[arg-type]

    def _agreement(self, unit: list[str]) -> float:
        """How often two answers to the same item, or of the same rater, are the same."""
        same = self.answers.group_by([*unit, "value"]).len("n").group_by(unit)
        counted = same.agg((pl.col("n") * (pl.col("n") - 1)).sum().alias("same"), pl.col("n").sum().alias("all"))
        pairs = counted["all"] * (counted["all"] - 1)
        return float(counted["same"].sum()) / max(float(pairs.sum()), 1.0)

    def _check(self) -> None:
        """Whether components can be estimated, and how large a pilot it takes if not."""
        twice = self.answers.group_by(UNIT).agg(pl.col("rater").n_unique().alias("n")).filter(pl.col("n") > 1)
        several = several_items(self.answers, None)
        if len(twice) < LEAST or several < 3:
            raise InputError(
                f"the pilot is too small to estimate how much items and raters differ: {len(twice)} items have answers "
                f"from two raters and {several} raters judged several items",
                remedy=f"take {LEAST} items or more with two answers each from three raters or more, which gives "
                "widths to 20 %, or type the components in",
            )
        if np.ptp(self.answers["value"].to_numpy()) == 0:
            raise InputError(
                "all answers of the pilot are the same", remedy="take other items, or type the components in"
            )
        if not self.unordered and not np.isfinite(self.design.variances).all():
            raise InputError(
                "the pilot cannot tell items from raters, since all raters judged different items",
                remedy="let raters share items",
            )


def _between(code: Ints, mean: Floats) -> float:
    """The variance between sources, or groups, of unit means, times the other units of the same one."""
    size = np.bincount(code)
    size, number, total = size[size > 0], len(np.unique(code)), len(code)
    if number < 2 or total <= number:
        return 0.0
    centre = np.bincount(code, mean) / np.maximum(np.bincount(code), 1)
    within = float(np.square(mean - centre[code]).sum()) / (total - number)
    between = float(np.square(centre[code] - mean.mean()).sum()) / (number - 1)
    each = (total - float(size @ size) / total) / (number - 1)
    return max((between - within) / each, 0.0) * (total / number - 1)


def _asked(data: Judgments, question: str | None) -> Part:
    by_question = {part.key["question"]: part for part in parts(data, by="question")}
    if question is None and len(by_question) == 1:
        return next(iter(by_question.values()))
    if question not in by_question:
        if question is None:
            raise InputError("a plan is for one question", remedy=f"name one: {', '.join(map(str, by_question))}")
        raise InputError(f"there is no question '{question}' in the pilot", remedy=nearest(question, list(by_question)))
    return by_question[question]
