"""Simulated ratings for the calibration bench. Nothing of Vantage is imported here: what judges stands apart.

A `Design` says who judges what, and how. An answer is a latent value (source, item, rater, noise) that is cut into an
answer on a scale. `simulate` draws one table of a design; `Design.large` is the population with its true value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

LARGE_ITEMS, LARGE_RATERS = 2400, 600
"""About as many items and raters as a population has."""


@dataclass(frozen=True, slots=True)
class Design:
    """Who judges what, and how. What is zero or false is absent."""

    name: str
    about: str = ""
    items: int = 80
    raters: int = 20
    per_item: int = 4
    layout: Literal["random", "crossed", "batches", "informative"] = "random"
    """`informative`: the severest raters judge the lowest items, as where people choose what they rate."""
    sources: int = 0
    """Of how many sources (conversations, documents) the items are; the property `genre` then belongs to sources."""
    source_sd: float = 0.0
    teams: int = 0
    """Of how many teams the raters are; the group then belongs to teams."""
    team_sd: float = 0.0
    item_sd: float = 1.0
    rater_sd: float = 0.5
    heavy: bool = False
    """Whether severities have heavy tails (Student's t with three degrees of freedom)."""
    slope_sd: float = 0.0
    """How much the effect of the condition or of the property of items varies between raters, around nothing."""
    occasions: bool = False
    """Whether everyone judges their items under two conditions."""
    groups: tuple[int, int] | None = None
    """How many raters are of either group; without it every second one is."""
    group_sd: tuple[float, float] | None = None
    group_noise: tuple[float, float] = (1.0, 1.0)
    scale: Literal["points", "slider", "binary", "labels"] = "points"
    points: int = 5
    middle: float = 0.0
    """Added to all latent values: what is rare, where answers crowd."""
    skewed: bool = False
    repeats: float = 0.0
    """How often a rater gives the answer before again."""
    models: int = 0
    """How many raters hardly vary and answer higher, as models do."""
    missing: float = 0.0
    """How strongly (on the logit scale) high answers go missing without a trace."""
    refusals: float = 0.0
    """The same of refusals, which have a status."""

    @property
    def each(self) -> int:
        """How many raters judge an item."""
        return self.raters if self.layout == "crossed" else self.per_item

    @property
    def large(self) -> Design:
        """The population: many items and raters of the same kind, as many answers an item."""
        times = max(8, LARGE_RATERS // self.raters)
        more = max(8, LARGE_ITEMS // self.items)
        groups = None if self.groups is None else (self.groups[0] * times, self.groups[1] * times)
        layout = "random" if self.layout == "crossed" else self.layout
        return replace(
            self, items=self.items * more, raters=self.raters * times, per_item=self.each, layout=layout,
            sources=self.sources * more, teams=self.teams * times, groups=groups, models=self.models * times,
        )  # fmt: skip

    def with_items(self, items: int) -> Design:
        """The same raters with so many items, about."""
        more = max(1, items // self.items)
        return replace(self, items=self.items * more, sources=self.sources * more)

    def cut(self, latent: Floats) -> Floats:
        """Latent values as answers."""
        latent = latent + self.middle
        if self.scale == "slider":
            return np.clip(np.rint(50 + 20 * latent), 0, 100)
        if self.scale == "binary":
            return (latent > 0).astype(np.float64)
        if self.scale == "labels":
            return np.digitize(latent, [-0.4, 0.8]).astype(np.float64)
        edges = np.linspace(-1.6, 1.6, self.points - 1) + (0.8 if self.skewed else 0.0)
        return np.digitize(latent, edges).astype(np.float64)

    @property
    def neutral(self) -> float:
        """The middle of the scale."""
        return {"slider": 50.0, "binary": 0.5, "labels": 1.0}.get(self.scale, (self.points - 1) / 2)


@dataclass(frozen=True, slots=True)
class Raters:
    """What is special to each rater of a table."""

    severity: Floats
    slope: Floats
    noise: Floats
    group: Ints
    model: NDArray[np.bool_]
    team: Ints


def draw_raters(design: Design, rng: np.random.Generator) -> Raters:
    """Raters of a design; of groups with other spreads where it says so."""
    n = design.raters
    # A t with three degrees of freedom has the variance 3.
    z = rng.standard_t(3, n) / np.sqrt(3) if design.heavy else rng.normal(size=n)
    team = np.arange(n) * design.teams // n if design.teams else np.arange(n)
    group = team % 2 if design.groups is None else np.repeat([0, 1], design.groups)
    sd = design.rater_sd if design.group_sd is None else np.array(design.group_sd)[group]
    severity, slope = sd * z, design.slope_sd * rng.normal(size=n)
    if design.teams:
        severity = severity + design.team_sd * rng.normal(size=design.teams)[team]
    model = np.arange(n) < design.models
    severity = np.where(model, 0.6 + 0.1 * z, severity)
    noise = np.where(model, 0.5, np.array(design.group_noise)[group])
    return Raters(severity, slope, noise, group, model, team)


def _allocated(design: Design, rng: np.random.Generator, latent: Floats, raters: Raters) -> tuple[Ints, Ints]:
    """Which rater judges which item."""
    k, n = design.each, design.items
    item = np.repeat(np.arange(n), k)
    if design.layout == "crossed":
        return item, np.tile(np.arange(design.raters), n)
    if design.layout == "batches":
        size = max(1, n * k // design.raters)
        return item, (item // size * k + np.tile(np.arange(k), n)) % design.raters
    wish = rng.random((n, design.raters))
    if design.layout == "informative":
        # Items and raters alike in their order meet more often.
        place = [np.argsort(np.argsort(x)) / len(x) for x in (latent, raters.severity)]
        wish = wish + np.abs(place[0][:, None] - place[1][None, :])
    return item, np.argsort(wish, axis=1)[:, :k].ravel()


def simulate(
    design: Design, rng: np.random.Generator, raters: Raters | None = None, *, complete: bool = False
) -> pl.DataFrame:
    """One table, with these raters or with others; `complete` is what it would be if all had answered.

    `latent` is what an item is like before raters and noise, from which a model's answers may be drawn.
    """
    raters = draw_raters(design, rng) if raters is None else raters
    source = np.arange(design.items) * design.sources // design.items if design.sources else np.arange(design.items)
    latent = rng.exponential(1.0, design.items) - 1 if design.skewed else rng.normal(size=design.items)
    latent = design.item_sd * latent
    if design.sources:
        latent = latent + design.source_sd * rng.normal(size=design.sources)[source]
    item, rater = _allocated(design, rng, latent, raters)
    genre = source % 2
    conditions = ("one", "two") if design.occasions else ("",)
    tables = []
    for number, condition in enumerate(conditions):
        effect = raters.slope[rater] * (number if design.occasions else genre[item])
        value = latent[item] + raters.severity[rater] + effect + raters.noise[rater] * rng.normal(size=len(item))
        tables.append(pl.DataFrame({"item": item, "rater": rater, "value": design.cut(value)}).with_columns(
            condition=pl.lit(condition)))  # fmt: skip
    table = pl.concat(tables)
    if design.repeats:
        table = _in_runs(table, design.repeats, rng)
    where, who = table["item"].to_numpy(), table["rater"].to_numpy()
    if design.sources:
        table = table.with_columns(source=pl.format("s{}", pl.Series(source[where])))
    if design.teams:
        table = table.with_columns(team=pl.format("t{}", pl.Series(raters.team[who])))
    table = table.with_columns(
        rater=pl.format("p{}", "rater"), latent=latent[where], genre=genre[where],
        group=pl.Series(np.array(["a", "b"])[raters.group[who]]),
        kind=pl.Series(np.where(raters.model[who], "model", "person")), status=pl.lit("answered"),
    )  # fmt: skip
    return table if complete else _answered(table, design, rng)


def _in_runs(table: pl.DataFrame, repeats: float, rng: np.random.Generator) -> pl.DataFrame:
    """Raters go through their items in random order and often give the answer before again."""
    table = table.with_columns(pl.Series("turn", rng.random(len(table)))).sort("rater", "turn")
    first = table["rater"].to_numpy() != np.roll(table["rater"].to_numpy(), 1)
    again = ~first & (rng.random(len(table)) < repeats)
    again[0] = False
    place = np.maximum.accumulate(np.where(again, 0, np.arange(len(table))))
    return table.with_columns(pl.Series("value", table["value"].to_numpy()[place])).drop("turn").sort("item", "rater")


def _answered(table: pl.DataFrame, design: Design, rng: np.random.Generator) -> pl.DataFrame:
    """The table without what goes missing, or is refused, the more often the higher the answer."""
    strength = design.missing or design.refusals
    if not strength:
        return table
    value = table["value"].to_numpy()
    spread = float(value.std()) or 1.0
    gone = rng.random(len(table)) < 1 / (1 + np.exp(1.3 - strength * (value - value.mean()) / spread))
    if design.missing:
        return table.filter(pl.Series(~gone))
    return table.with_columns(
        status=pl.when(pl.Series(gone)).then(pl.lit("refused")).otherwise("status"),
        value=pl.when(pl.Series(gone)).then(None).otherwise("value"),
    )


def with_model(table: pl.DataFrame, design: Design, rng: np.random.Generator, samples: int = 3) -> pl.DataFrame:
    """The table of people beside a model that answers each item a few times from what the item is like."""
    items = table.unique("item", maintain_order=True)
    replies = [
        items.with_columns(
            rater=pl.lit("model"), kind=pl.lit("model"), sample=pl.lit(n), status=pl.lit("answered"),
            value=pl.Series(design.cut(items["latent"].to_numpy() + 0.5 * rng.normal(size=len(items)))),
        )
        for n in range(samples)
    ]  # fmt: skip
    return pl.concat([table.with_columns(sample=pl.lit(0)), *replies])


def with_second(
    table: pl.DataFrame, design: Design, rng: np.random.Generator, related: float = 0.5
) -> pl.DataFrame:  # fmt: skip
    """The table with a second question, whose answers hang on the same latent value so much."""
    other = design.cut(related * table["latent"].to_numpy() + rng.normal(size=len(table)))
    return pl.concat([table.with_columns(question=pl.lit("a")),
                      table.with_columns(pl.Series("value", other), question=pl.lit("b"))])  # fmt: skip


STANDARD = (
    Design("crossed, 20 raters", "everyone judges everything", 60, 20, layout="crossed"),
    Design("crossed, 5 raters", "everyone judges everything", 60, 5, layout="crossed"),
    Design("sparse, 20 raters", "four of twenty raters an item"),
    Design("sparse, 200 raters", "five of 200 raters an item", 250, 200, 5),
    Design("batches", "the same five raters judge twenty items", 160, 40, 5, "batches"),
    Design("no rater effects", rater_sd=0.0),
    Design("strong rater effects", rater_sd=1.0),
    Design("3 points", points=3),
    Design("7 points", points=7),
    Design("0 to 100", scale="slider"),
    Design("skewed", skewed=True),
    Design("with three models", "three of the raters are models", models=3),
)
ORDINARY = (
    Design("few-items", "8 items, each judged by the same 3 raters", 8, 3, layout="crossed"),
    Design("few-items-10x5", "10 items, each judged by the same 5 raters", 10, 5, layout="crossed"),
    Design("one-option", "nine in ten answers are the same option", 60, 12, layout="crossed", scale="labels",
           middle=-2.35, item_sd=0.9, rater_sd=0.4),
    Design("rare-8", "a 0/1 answer that one in twelve gives, 8 items", 8, 12, 6, scale="binary", middle=-2.1),
    Design("rare-40", "a 0/1 answer that one in twelve gives, 40 items", 40, 12, 6, scale="binary", middle=-2.1),
    Design("4 raters", "the same 4 raters judge 60 items", 60, 4, layout="crossed"),
    Design("6 raters", "the same 6 raters judge 60 items", 60, 6, layout="crossed"),
    Design("8 raters", "four of 8 raters an item", 60, 8, 4),
    Design("sources", "12 sources of 5 items each, answers alike within a source", 60, 12, 6, sources=12,
           source_sd=0.9, item_sd=0.6),
    Design("teams", "8 teams of 3 raters each, answers alike within a team", 60, 24, 6, teams=8, team_sd=0.7,
           rater_sd=0.3),
    Design("runs", "raters repeat the answer before in three of ten cases", 60, 20, 5, repeats=0.3),
    Design("informative", "severe raters judge the low items", 80, 20, 4, "informative"),
    Design("heavy tails", "severities from a t with three degrees of freedom", 60, 16, 5, heavy=True, rater_sd=0.8),
    Design("three raters", "three of 20 raters an item", 100, 20, 3),
    Design("mixed kinds", "ten people and six models, pooled", 60, 16, 6, models=6),
    Design("slider-floor", "a slider from 0 to 100 on which half of the answers are 0", 60, 16, 5, scale="slider",
           middle=-2.5, item_sd=1.5),
    Design("missing-high", "high answers go missing without a trace", 60, 16, 8, missing=0.9),
    Design("refused-high", "high answers are refused more often", 60, 16, 8, refusals=0.9),
)  # fmt: skip
TESTED = (
    Design("within-raters", "two conditions within the same 16 raters, whose effects differ", 40, 16, layout="crossed",
           occasions=True, slope_sd=0.6),
    Design("slopes", "a property of items whose effect differs between 12 raters", 80, 12, layout="crossed",
           slope_sd=0.6),
    Design("unequal-groups", "6 against 30 raters with unequal spread, gaps", 40, 36, 12, groups=(6, 30),
           group_sd=(1.2, 0.3)),
    Design("unequal-noise", "two groups of raters, one of them noisier", 60, 24, 12, group_noise=(0.5, 2.0)),
)  # fmt: skip
DESIGNS = {design.name: design for design in (*STANDARD, *ORDINARY, *TESTED)}


# --- models of ratings, comparisons, sets and presentations ----------------------------------------------------------


def crossed_ratings(
    seed: int, *, raters: int = 24, each: int = 6, points: int = 0, spread: float = 0.5, effect: float = 0.0
) -> pl.DataFrame:
    """60 items, with a trait of raters that adds `effect`; on a scale of points, logistic noise."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(60), each)
    rater = np.argsort(rng.random((60, raters)), axis=1)[:, :each].ravel()
    first = rng.permutation(raters) < raters // 2
    value = rng.normal(size=60)[item] + (spread * rng.normal(size=raters) + effect * first)[rater]
    value = value + (rng.logistic(size=len(item)) if points else rng.normal(size=len(item)))
    if points:
        value = np.digitize(value, np.linspace(-2, 2, points - 1)).astype(float)
    return pl.DataFrame({"item": item, "rater": rater, "value": value, "group": np.where(first, "a", "b")[rater]})


THRESHOLDS = np.array([-1.3, -0.2, 0.3, 1.2])


def rasch(
    seed: int, *, shift: float = 0.0, each: int = 6, items: int = 200, noise: tuple[float, float] = (0.0, 0.0)
) -> tuple[pl.DataFrame, Floats, Floats, Floats]:
    """Answers of a rating scale model; severities of mean zero, locations, and differential ones of every tenth.

    `noise` is what each answer of the two groups has besides.
    """
    rng = np.random.default_rng(seed)
    severity, location = np.linspace(-1, 1, 20), rng.normal(size=items)
    item = np.repeat(np.arange(items), each)
    rater = np.argsort(rng.random((items, 20)), axis=1)[:, :each].ravel()
    moved = shift * (np.arange(items) % 10 == 0)
    at = location[item] - severity[rater] + moved[item] * (rater % 2 == 0)
    if any(noise):
        at = at + np.array(noise)[rater % 2] * rng.normal(size=len(item))
    p = np.exp(at[:, None] * np.arange(5) - np.concatenate([[0], np.cumsum(THRESHOLDS)]))
    value = ((p / p.sum(axis=1, keepdims=True)).cumsum(axis=1) < rng.random((len(item), 1))).sum(axis=1).astype(float)
    frame = pl.DataFrame({"item": item, "rater": rater, "value": value, "group": np.where(rater % 2 == 0, "a", "b")})
    return frame, severity, location, moved


def fair_averages(location: Floats) -> Floats:
    """What a rater of mean severity would answer on average."""
    p = np.exp(location[:, None] * np.arange(5) - np.concatenate([[0], np.cumsum(THRESHOLDS)]))
    return np.asarray(p @ np.arange(5) / p.sum(axis=1))


MEMBERS, TASTE = 30, 0.5
WORTH = np.random.default_rng(99).normal(0, 1.2, MEMBERS)
"""How good the texts are that are compared; each rater likes each of them more or less, with the deviation TASTE."""


def balanced_tuples(rng: np.random.Generator, each: int = 8) -> Ints:
    """Tuples of four different texts in which every text stands so many times."""
    rounds: list[Ints] = []
    while len(rounds) < each * MEMBERS // 4:
        # Two rounds of all texts, in pairs of two rounds, fill fifteen tuples.
        cards = np.concatenate([rng.permutation(MEMBERS), rng.permutation(MEMBERS)]).reshape(-1, 4)
        if all(len(set(row)) == 4 for row in cards.tolist()):
            rounds += list(cards)
    return np.array(rounds)


def best_worst(rng: np.random.Generator, tuples: Ints, raters: int, each: int = 4) -> pl.DataFrame:
    """Best and worst of each tuple, by so many of the raters."""
    liked = WORTH + TASTE * rng.normal(size=(raters, MEMBERS))
    unit = np.repeat(np.arange(len(tuples)), each)
    rater = np.argsort(rng.random((len(tuples), raters)), axis=1)[:, :each].ravel()
    felt = liked[rater[:, None], tuples[unit]] + rng.gumbel(size=(len(unit), tuples.shape[1]))
    about = {"item": unit, "rater": rater}
    about |= {f"item_{place + 1}": np.char.add("t", tuples[unit, place].astype(str)) for place in range(4)}
    return pl.concat(
        pl.DataFrame({**about, "question": name, "value": (choose(felt, axis=1) + 1).astype(float)})
        for name, choose in (("best", np.argmax), ("worst", np.argmin))
    )


def sets(rng: np.random.Generator, items: int, raters: int, each: int) -> pl.DataFrame:
    """Which of four options apply; raters are stricter or milder about each."""
    item = np.repeat(np.arange(items), each)
    rater = np.argsort(rng.random((items, raters)), axis=1)[:, :each].ravel()
    shape = (len(item), 4)
    value = rng.normal(size=(items, 4))[item] + 0.5 * rng.normal(size=(raters, 4))[rater] + rng.normal(size=shape)
    return pl.concat(
        pl.DataFrame(
            {"item": item, "rater": rater, "question": f"mood.{n}", "value": (value[:, n] > 0.3).astype(float)}
        )
        for n in range(4)
    )


def presented(rng: np.random.Generator, items: int) -> pl.DataFrame:
    """Answers of a model in two orders and three wordings, twice each."""
    item, order, wording, sample = (grid.ravel() for grid in np.indices((items, 2, 3, 2)))
    value = rng.normal(size=items)[item] + 0.4 * order + np.array([0.0, 0.3, -0.2])[wording]
    value = value + 0.5 * rng.normal(size=(items, 2))[item, order] + 0.4 * rng.normal(size=(items, 3))[item, wording]
    shown = np.array([f"order={o} wording={w}" for o in ("up", "down") for w in (1, 2, 3)])[order * 3 + wording]
    return pl.DataFrame(
        {"item": item, "rater": "model", "sample": sample, "presentation": shown,
         "value": value + 0.7 * rng.normal(size=len(item))}
    )  # fmt: skip


def judges(rng: np.random.Generator, items: int, correlation: float, members: int, people: int = 20) -> pl.DataFrame:
    """Models whose errors have this correlation beside people who answer around the same value, on 21 points."""
    truth = rng.normal(size=(items, 1))
    errors = np.sqrt(correlation) * rng.normal(size=(items, 1)) + np.sqrt(1 - correlation) * rng.normal(
        size=(items, members)
    )
    value = np.hstack([truth + errors, truth + rng.normal(size=(items, people))])
    item, rater = (grid.ravel() for grid in np.indices(value.shape))
    kind = np.where(rater < members, "model", "person")
    return pl.DataFrame({"item": item, "rater": rater, "kind": kind, "value": value.ravel().round(1)})


def systems(items: int, rng: np.random.Generator, noise: tuple[tuple[float, ...], ...]) -> pl.DataFrame:
    """Errors of models on each item under two conditions, drawn with so much noise."""
    return pl.concat(
        pl.DataFrame({"item": np.arange(items), "value": np.abs(spread * rng.normal(size=items))}).with_columns(
            rater=pl.lit(f"m{n}"), condition=pl.lit(condition)
        )
        for condition, spreads in zip(("context", "plain"), noise, strict=True)
        for n, spread in enumerate(spreads)
    )
