"""The table of the calibration bench: what is measured, in which design, and to what it should generalise.

A row is an interval or a test. How each measure is called stands in `INTERVALS` and `TESTS`, and `CASES` has those that
need tables of their own; the simulators are in benchmarks/simulators.py, which knows nothing of Vantage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl

from benchmarks import simulators
from benchmarks.simulators import DESIGNS, ORDINARY, STANDARD, Design
from vantage import measures, read
from vantage.errors import InputError

Row: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Callable[[pl.DataFrame, Design, int, str], Row | None]
Target = Literal["items and raters", "items", "nothing there", "planted"]
"""To what an interval should generalise (other items, with these or other raters), or that a test has nothing to find.

`planted`: the case has a truth of its own."""

RESAMPLES: Final = 200
MODEL: Final = "model"
SYSTEMS: Final = (0.6, 0.75, 0.95, 1.2, 1.5, 1.9)
"""How noisy the models are that are ranked in two conditions."""


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the table."""

    measure: str
    design: str
    target: Target

    @property
    def is_test(self) -> bool:
        """Whether hits are rejections, which should be few."""
        return self.target == "nothing there"


# --- intervals -------------------------------------------------------------------------------------------------------


def _first(frame: pl.DataFrame, **where: Any) -> Row | None:
    frame = frame.filter(**where) if where and len(frame) else frame
    return frame.row(0, named=True) if len(frame) else None


def people(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """The answers of whoever is pooled in the design, with only the columns that are asked for, and sources."""
    some = [name for name in ("source", "team", *columns) if name in frame.columns]
    return frame.filter(pl.col("rater") != MODEL).select("item", "rater", "value", "status", *some)


def declared(frame: pl.DataFrame) -> Any:
    """The answers as a corpus whose design says what its sources, or teams of raters, are, where there are any."""
    design = {use: name for use, name in (("sources", "source"), ("groups", "team")) if name in frame.columns}
    if not design:
        return frame
    traits = [name for name in ("team", "group") if name in frame.columns]
    columns = {name: name for name in frame.columns if name not in ("item", "rater", "value", "status", *traits)}
    return read(frame.drop("status"), traits=traits, map=columns, question="q").with_design(**design)


def _opted_out(frame: pl.DataFrame, status: str) -> pl.DataFrame:
    """Answers at the top of the scale become opt-outs, which then depend on item and rater."""
    out = pl.col("value") >= pl.col("value").max()
    return people(frame).with_columns(
        status=pl.when(out).then(pl.lit(status)).otherwise("status"),
        value=pl.when(out).then(None).otherwise(pl.col("value")),
    )


def _of(function: Callable[..., pl.DataFrame], prepare: Callable[[pl.DataFrame], pl.DataFrame] = people,
        where: Mapping[str, Any] | None = None, **options: Any) -> Rows:  # fmt: skip
    """The row of a measure; resamples and seed go where it takes them."""

    def row(frame: pl.DataFrame, design: Design, seed: int, ci: str) -> Row | None:
        known = {"resamples": RESAMPLES, "seed": seed, "ci": ci}
        taken = measures.find(_name(function)).options
        given = {name: value for name, value in known.items() if name in taken} | options
        if "neutral" in taken and "neutral" not in options:
            given["neutral"] = design.neutral
        return _first(function(declared(prepare(frame)), **given), **(where or {}))

    return row


def _name(function: Callable[..., pl.DataFrame]) -> str:
    return str(function.__name__).replace("_", "-")


def _drawn(frame: pl.DataFrame, design: Design, seed: int, samples: int = 1) -> pl.DataFrame:
    """People beside a model; its answers come from the table's own seed."""
    both = simulators.with_model(frame, design, np.random.default_rng([seed, 5, len(frame)]), samples)
    return both.select("item", "rater", "value", "status", "kind", "sample")


def _of_model(function: Callable[..., pl.DataFrame], samples: int = 1, **options: Any) -> Rows:
    def row(frame: pl.DataFrame, design: Design, seed: int, ci: str) -> Row | None:
        data = _drawn(frame, design, seed, samples)
        return _first(function(data, ci=ci, resamples=RESAMPLES, seed=seed, **options))

    return row


def _advantage(frame: pl.DataFrame, design: Design, seed: int, ci: str) -> Row | None:
    row = _of_model(measures.alt_test, alignment="mae", min_items=5)(frame, design, seed, ci)
    named = {"estimate": "advantage", "low": "advantage_low", "high": "advantage_high", "over": "advantage_over"}
    return None if row is None else {**row, **{name: row[column] for name, column in named.items()}}


def _two_questions(frame: pl.DataFrame, design: Design, seed: int, related: float = 0.5) -> pl.DataFrame:
    rng = np.random.default_rng([seed, 6, len(frame)])
    both = simulators.with_second(frame.filter(pl.col("rater") != MODEL), design, rng, related)
    return both.select("item", "rater", "question", "value", "status")


def _correlate(frame: pl.DataFrame, design: Design, seed: int, ci: str) -> Row | None:
    data = _two_questions(frame, design, seed)
    return _first(measures.correlate(data, ci=ci, resamples=RESAMPLES, seed=seed))  # type: ignore[arg-type]


def _opposed(frame: pl.DataFrame, design: Design, seed: int, ci: Any) -> Row | None:
    data = _two_questions(frame, design, seed)
    options: dict[str, Any] = {"between": "questions", "neutral": design.neutral, "resamples": RESAMPLES}
    return _first(measures.split_items(data, by=(), ci=ci, seed=seed, **options))


def _ranks(frame: pl.DataFrame, design: Design, seed: int, ci: Any) -> Row | None:
    noise = (SYSTEMS, (0.75, 0.6, 1.2, 0.95, 1.9, 1.5))
    data = simulators.systems(frame["item"].n_unique(), np.random.default_rng([seed, 3, len(frame)]), noise)
    return _first(measures.ranks(data, kinds="all", ci=ci, resamples=RESAMPLES, seed=seed))


def _precision(frame: pl.DataFrame, design: Design, seed: int, ci: str) -> Row | None:
    """How often a model is right where it answers above the middle."""
    high = frame.with_columns(value=(pl.col("value") > design.neutral).cast(pl.Float64))
    data = _drawn(high, replace(design, scale="binary"), seed)
    options: dict[str, Any] = {"raters": [MODEL], "reference": "majority", "metric": "precision_class"}
    rows = measures.accuracy(data, ci=ci, resamples=RESAMPLES, seed=seed, **options)  # type: ignore[arg-type]
    return _first(rows.filter(pl.col("class") == "1"))


def _compared(between: str, shift: float) -> Rows:
    """The difference between groups of which one is so much higher."""

    def row(frame: pl.DataFrame, _: Design, seed: int, ci: str) -> Row | None:
        del seed
        data = people(frame, between)
        higher = (pl.col(between) == data[between].max()).cast(pl.Float64)
        data = data.with_columns(value=pl.col("value") + shift * higher)
        return _first(measures.compare(data, between=between, ci=ci))  # type: ignore[arg-type]

    return row


def _pair(frame: pl.DataFrame, _: Design, seed: int, ci: str) -> Row | None:
    """How often the first two raters agree."""
    options: dict[str, Any] = {"min_items": 10, "ci": "none" if ci == "none" else "items", "resamples": RESAMPLES}
    return _first(measures.rater_matrix(people(frame), seed=seed, **options), rater_a="p0", rater_b="p1")


INTERVALS: Final[dict[str, Rows]] = {
    "alpha": _of(measures.alpha, level="ordinal"),
    "alpha, nominal": _of(measures.alpha, level="nominal"),
    "fleiss": _of(measures.fleiss),
    "ac1": _of(measures.ac1),
    "randolph": _of(measures.randolph),
    "cohen": _of(measures.cohen),
    "pairwise": _of(measures.pairwise),
    "difference": _of(measures.difference),
    "unanimity": _of(measures.unanimity),
    "icc(2,1)": _of(measures.icc, where={"form": "ICC(2,1)"}),
    "components, item": _of(measures.reliability, show="components", where={"component": "item"}),
    "components, rater": _of(measures.reliability, show="components", where={"component": "rater"}),
    "split-half": _of(measures.split_half, splits=30),
    "reliability": _of(measures.reliability, up_to=1),
    "mean": _of(measures.mean),
    "prevalence": _of(measures.prevalence, value=1.0),
    "entropy": _of(measures.entropy),
    "ambiguity": _of(measures.ambiguity, lambda f: _opted_out(f, "ambiguous")),
    "opt-outs": _of(measures.opt_outs, lambda f: _opted_out(f, "not_mentioned")),
    "refusals": _of(measures.refusals, lambda f: _opted_out(f, "refused"), by=()),
    "split-items": _of(measures.split_items),
    "split-items, questions": _opposed,
    "aggregate, bands": _of(measures.aggregate, method="signs", ties="neutral", per="band", where={"band": "low"}),
    "distance": _of(measures.distance, lambda f: people(f, "group"), between="group", relabellings=1),
    "accuracy, mae": _of_model(measures.accuracy, raters=[MODEL], reference="mean", metric="mae"),
    "accuracy, precision": _precision,
    "calibration": _of_model(measures.calibration, 3, raters=[MODEL], kinds="all"),
    "alt-test": _advantage,
    "correlate": _correlate,
    "compare, items": _compared("genre", 1.0),
    "compare, raters": _compared("group", 0.0),
    "ranks": _ranks,
    "rater-quality": _of(measures.rater_quality, where={"rater": "p0"}),
    "rater-matrix": _pair,
}
"""How each interval is made from a table of a design."""
ITEMS_ONLY: Final = ("aggregate, bands", "calibration", "correlate", "ranks", "rater-quality", "rater-matrix")
"""Intervals that are about other items alone, by their definition: the last two are of single raters."""
PAIRS: Final = ("cohen",)
"""Their population is a table in which everyone judges everything."""
SHARE_OF_ITEMS: Final = ("icc(2,1)",)
"""Its population value is the share of the items, which is quicker to estimate."""


def true_row(name: str) -> Rows:
    """How the value of a population is measured."""
    return INTERVALS["components, item" if name in SHARE_OF_ITEMS else name]


# --- tests -----------------------------------------------------------------------------------------------------------


def _p(frame: pl.DataFrame, column: str = "p", **where: Any) -> tuple[float | None, str | None]:
    row = _first(frame, **where)
    return (None, None) if row is None else (row[column], row.get("reason"))


def _test_compare(between: str) -> Callable[[pl.DataFrame, Design, int], Any]:
    def test(frame: pl.DataFrame, _: Design, seed: int) -> tuple[float | None, str | None]:
        del seed
        return _p(measures.compare(declared(people(frame, between)), between=between, ci="none"))

    return test


def _test_correlate(frame: pl.DataFrame, design: Design, seed: int, **options: Any) -> tuple[float | None, str | None]:
    """Two questions that have nothing to do with each other, asked of the same raters."""
    return _p(measures.correlate(_two_questions(frame, design, seed, 0.0), ci="none", **options))


CLEAREST: Final = "clearest difference"
"""What the row of a term's one test is called in `explain`."""


def _test_explain(frame: pl.DataFrame, _: Design, seed: int) -> tuple[float | None, str | None]:
    rows = measures.explain(people(frame, "group"), traits="group", permutations=1, seed=seed)
    return _p(rows, versus=CLEAREST)


def _test_groups(frame: pl.DataFrame, _: Design, seed: int) -> tuple[float | None, str | None]:
    del seed
    return _p(measures.groups(people(frame, "group"), traits="group"), "p_trait")


def _test_error_gaps(frame: pl.DataFrame, design: Design, seed: int) -> tuple[float | None, str | None]:
    """A model that knows nothing of the people, and groups of them that differ in nothing."""
    people_alone = frame.filter(pl.col("kind") == "person") if "kind" in frame.columns else frame
    both = simulators.with_model(people_alone, design, np.random.default_rng([seed, 5, len(frame)]), 1)
    return _p(measures.error_gaps(both, traits=["group"], level="ordinal"))


def _test_regress(frame: pl.DataFrame, _: Design, seed: int) -> tuple[float | None, str | None]:
    rows = measures.regress(declared(people(frame, "genre")), on="genre", seed=seed)
    return _p(rows, term="genre")


def _test_distance(frame: pl.DataFrame, _: Design, seed: int) -> tuple[float | None, str | None]:
    data = people(frame, "group")
    return _p(measures.distance(data, between="group", relabellings=39, ci="items", resamples=50, seed=seed))


def _test_dif(frame: pl.DataFrame, _: Design, seed: int) -> tuple[float | None, str | None]:
    """One item of many: the share of tests of single items that reject is that of one."""
    rows = measures.dif(people(frame, "group"), between="group", correction="none").drop_nulls("p")
    return (None, None) if rows.is_empty() else _p(rows.sample(1, seed=seed))


TESTS: Final[dict[str, Callable[[pl.DataFrame, Design, int], tuple[float | None, str | None]]]] = {
    "compare, condition": _test_compare("condition"),
    "compare, property of items": _test_compare("genre"),
    "compare, groups of raters": _test_compare("group"),
    "correlate, two questions": _test_correlate,
    "correlate, two questions (Spearman)": partial(_test_correlate, correlation="spearman"),
    "explain, trait of raters": _test_explain,
    "groups, trait of raters": _test_groups,
    "error-gaps, trait of people": _test_error_gaps,
    "regress, property of items": _test_regress,
    "distance, groups of raters": _test_distance,
    "dif, one item": _test_dif,
}


# --- cases with a truth of their own ---------------------------------------------------------------------------------


def _within(rows: pl.DataFrame, truth: Any) -> float:
    """The share of intervals that hold the truth; one that is not given holds nothing."""
    low, high = (rows[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in ("low", "high"))
    return float(((low <= truth) & (truth <= high)).mean())


def _effects(seed: int, family: Any, raters: int, effect: float = 0.0) -> dict[str, float]:
    data = simulators.crossed_ratings(seed, raters=raters, points={"ordinal": 5, "binary": 2}.get(family, 0),
                                      effect=effect)  # fmt: skip
    # Permutations must not be made of the random numbers that made the table.
    rows = measures.explain(data, traits="group", family=family, permutations=199, seed=seed + 10_000)
    # A linear model compares the two groups, the others each with their mean.
    linear = family == "gaussian"
    versus, truth = (CLEAREST, 0.0) if not effect else ("b", effect) if linear else ("mean of levels", effect / 2)
    row = rows.filter(term="group", versus=versus)
    shares = {"trait, held": _within(row if not effect else row.filter(level="a"), truth)}
    if not effect:
        tests = ("p",) if linear else ("p_lr", "p_permutation")
        shares |= {f"{name}, rejected": float(row[name][0] < 0.05) for name in tests}
    return shares


def _variances(seed: int, family: Any, raters: int, spread: float = 0.5) -> dict[str, float]:
    data = simulators.crossed_ratings(seed, raters=raters, points=5 if family == "ordinal" else 0, spread=spread)
    rows = measures.explain(data, show="variance", family=family)
    truth = np.array([1.0, spread**2, 1.0])[: len(rows)]
    return {f"variance of {name}, held": _within(rows[n : n + 1], truth[n]) for n, name in enumerate(rows["component"])}


def _mixed(seed: int, raters: int) -> dict[str, float]:
    data = simulators.crossed_ratings(seed, raters=raters)
    return {"p, rejected": float(measures.compare(data, between="group", ci="none")["p"][0] < 0.05)}


def _facets(seed: int, each: int = 6, items: int = 200) -> dict[str, float]:
    data, severity, location, _ = simulators.rasch(seed, each=each, items=items)
    rows, places = measures.facets(data).sort("rater"), measures.facets(data, show="items").sort("item")
    fair = places.select(low="fair_low", high="fair_high")
    known = places["item"].to_numpy()
    return {
        "severity, held": _within(rows, severity),
        "location, held": _within(places, location[known]),
        "fair average, held": _within(fair, simulators.fair_averages(location)[known]),
        "spread of severities, mean": float(rows["estimate"].std() / severity.std(ddof=1)),
    }


def _dif(seed: int, shift: float, noise: tuple[float, float] = (0.0, 0.0)) -> dict[str, float]:
    data, _, _, moved = simulators.rasch(seed, shift=shift, each=12, items=60, noise=noise)
    rows = measures.dif(data, between="group", values=["a", "b"]).drop_nulls("p")
    if not shift:
        whole = measures.dif(data, between="group", values=["a", "b"], show="invariance")
        some = bool((rows["p_adjusted"] < 0.05).any())
        return {"item, rejected": float((rows["p"] < 0.05).mean()), "any item after correction, rejected": float(some),  # type: ignore[arg-type]
                "all, rejected": float(whole["p"][0] < 0.05)}  # fmt: skip
    ends = rows.with_columns(low=pl.col("logits") - 1.96 * pl.col("se"), high=pl.col("logits") + 1.96 * pl.col("se"))
    planted = (ends["item"] % 10 == 0).to_numpy()
    truth = (moved - moved.mean())[ends["item"].to_numpy()]
    return {
        "difference of planted items, held": _within(ends.filter(planted), truth[planted]),
        "difference of other items, held": _within(ends.filter(~planted), truth[~planted]),
    }


@cache
def _true_scores(method: Any) -> dict[str, float]:
    """The scores of the texts in many tuples, each judged by raters of its own."""
    rng = np.random.default_rng(1)
    tuples = np.argsort(rng.random((4000, simulators.MEMBERS)), axis=1)[:, :4]
    rows = measures.scaling(simulators.best_worst(rng, tuples, 400), method=method, ci="none")
    return dict(rows.select("member", "estimate").iter_rows())


def compared(seed: int, raters: int) -> pl.DataFrame:
    """Best and worst of tuples in which every text stands eight times."""
    rng = np.random.default_rng([seed, 2])
    return simulators.best_worst(rng, simulators.balanced_tuples(rng), raters)


def _scored(seed: int, method: Any, raters: int) -> dict[str, float]:
    rows = measures.scaling(compared(seed, raters), method=method, ci="both", resamples=RESAMPLES, seed=seed)
    truth = _true_scores(method)
    return {"score, held": _within(rows, np.array([truth[name] for name in rows["member"]]))}


@cache
def _true_reliability(raters: int) -> float:
    rows = (
        measures.scaling(compared(10_000 + n, raters), show="reliability", ci="none", splits=20) for n in range(200)
    )
    return float(np.mean([row["estimate"][0] for row in rows]))


def _halved(seed: int, raters: int) -> dict[str, float]:
    rows = measures.scaling(compared(seed, raters), show="reliability", splits=20, seed=seed)
    return {"reliability, held": _within(rows, _true_reliability(raters))}


@cache
def _true_set_alpha() -> float:
    return float(measures.set_alpha(simulators.sets(np.random.default_rng(1), 6000, 1500, 4), ci="none")["estimate"][0])


def _sets(seed: int, items: int, raters: int) -> dict[str, float]:
    data = simulators.sets(np.random.default_rng([seed, 3]), items, raters, 4)
    return {"alpha, held": _within(measures.set_alpha(data, resamples=RESAMPLES, seed=seed), _true_set_alpha())}


@cache
def _true_votes(correlation: float, members: int) -> tuple[float, float]:
    whole = measures.panel(
        simulators.judges(np.random.default_rng(1), 20_000, correlation, members), level="ordinal", ci="none"
    )
    return float(whole["estimate"][0]), float(whole["correlation"][0])


def _voted(seed: int, correlation: float, members: int, items: int) -> dict[str, float]:
    data = simulators.judges(np.random.default_rng([seed, members]), items, correlation, members)
    votes, pairs = _true_votes(correlation, members)
    matrix = measures.panel(data, level="ordinal", show="matrix", seed=seed).drop_nulls("low")
    return {
        "votes, held": _within(measures.panel(data, level="ordinal", seed=seed), votes),
        "error correlation, held": _within(matrix, pairs),
    }


@cache
def _true_shares(show: Any) -> pl.DataFrame:
    data = simulators.presented(np.random.default_rng(1), 20_000)
    return measures.reliability(data, by="rater", presentations=True, show=show, up_to=2, ci="none")


def _generalized(seed: int, items: int) -> dict[str, float]:
    data = simulators.presented(np.random.default_rng([seed, 4]), items)
    options: dict[str, Any] = {"by": "rater", "presentations": True}
    rows, truth = measures.reliability(data, show="components", **options), _true_shares("components")
    held = {
        f"share of {name}, held": _within(rows.filter(component=name), truth.filter(component=name)["estimate"][0])
        for name in rows.drop_nulls("low")["component"]
    }
    rows, truth = measures.reliability(data, up_to=2, **options), _true_shares("means")
    ends = rows.select(low="consistent_low", high="consistent_high")
    held["dependability, held"] = _within(rows[1:2], truth["estimate"][1])
    return held | {"generalisability, held": _within(ends[1:2], truth["consistent"][1])}


CASES: Final[dict[str, tuple[str, Callable[[int], dict[str, float]], int]]] = {
    "gaussian, 24 raters": ("explain", partial(_effects, family="gaussian", raters=24), 1),
    "gaussian, 8 raters": ("explain", partial(_effects, family="gaussian", raters=8), 1),
    "gaussian, 24 raters, effect 0.8": ("explain", partial(_effects, family="gaussian", raters=24, effect=0.8), 1),
    "ordinal, 24 raters": ("explain", partial(_effects, family="ordinal", raters=24), 2),
    "ordinal, 24 raters, effect 0.8": ("explain", partial(_effects, family="ordinal", raters=24, effect=0.8), 2),
    "binary, 24 raters": ("explain", partial(_effects, family="binary", raters=24), 2),
    "gaussian variances, 24 raters": ("explain", partial(_variances, family="gaussian", raters=24), 1),
    "gaussian variances, 8 raters": ("explain", partial(_variances, family="gaussian", raters=8), 1),
    "gaussian variances, raters alike": ("explain", partial(_variances, family="gaussian", raters=24, spread=0.05), 1),
    "ordinal variances, 24 raters": ("explain", partial(_variances, family="ordinal", raters=24), 2),
    "ordinal variances, raters alike": ("explain", partial(_variances, family="ordinal", raters=24, spread=0.05), 2),
    "compare, mixed model, 24 raters": ("compare", partial(_mixed, raters=24), 1),
    "compare, mixed model, 12 raters": ("compare", partial(_mixed, raters=12), 1),
    "rating scale model": ("facets", _facets, 5),
    "rating scale model, three raters an item": ("facets", partial(_facets, each=3, items=100), 3),
    "differential items, none": ("dif", partial(_dif, shift=0.0), 2),
    "differential items, none, groups with other noise": ("dif", partial(_dif, shift=0.0, noise=(0.0, 1.5)), 2),
    "differential items, one in ten by 1 logit": ("dif", partial(_dif, shift=1.0), 2),
    "best–worst scaling, 12 raters": ("scaling", partial(_scored, method="counts", raters=12), 1),
    "best–worst scaling, 30 raters": ("scaling", partial(_scored, method="counts", raters=30), 1),
    "Bradley–Terry, 30 raters": ("scaling", partial(_scored, method="bradley-terry", raters=30), 5),
    "split-half of scaling, 12 raters": ("scaling", partial(_halved, raters=12), 1),
    "split-half of scaling, 30 raters": ("scaling", partial(_halved, raters=30), 1),
    "set-alpha, 20 raters": ("set-alpha", partial(_sets, items=80, raters=20), 1),
    "set-alpha, 60 raters": ("set-alpha", partial(_sets, items=150, raters=60), 1),
    "panel, 3 models, 150 items": ("panel", partial(_voted, correlation=0.0, members=3, items=150), 1),
    "panel, 4 models, 150 items": ("panel", partial(_voted, correlation=0.3, members=4, items=150), 1),
    "panel, 6 models, 200 items": ("panel", partial(_voted, correlation=0.6, members=6, items=200), 1),
    "G-study, 40 items": ("reliability", partial(_generalized, items=40), 1),
    "G-study, 120 items": ("reliability", partial(_generalized, items=120), 1),
}
"""The measure, what is simulated, and of how many tables one is, slow ones being fewer."""


# --- the table -------------------------------------------------------------------------------------------------------

AGREEMENT: Final = ("alpha", "fleiss", "ac1", "pairwise", "difference", "icc(2,1)")
LEVELS: Final = ("mean", "entropy", "ambiguity", "opt-outs", "refusals")
MODELS: Final = ("accuracy, mae", "accuracy, precision")
BOTH: Final[Target] = "items and raters"
NONE: Final[Target] = "nothing there"
_ORDINARY: Final[dict[str, tuple[str, ...]]] = {
    "few-items-10x5": AGREEMENT[:4],
    "one-option": ("alpha, nominal", "fleiss", "ac1", "pairwise", "icc(2,1)", "prevalence"),
    "rare-8": ("mean", "prevalence"),
    "rare-40": ("mean", "prevalence"),
    "4 raters": ("alpha", "pairwise", *LEVELS, *MODELS),
    "6 raters": ("alpha", "pairwise", *LEVELS, *MODELS),
    "8 raters": ("alpha", "pairwise", *LEVELS, *MODELS),
    "sources": ("alpha", "icc(2,1)", "pairwise", "mean", "entropy", "components, item"),
    "teams": ("alpha", "pairwise", "mean", "entropy"),
    "runs": ("alpha", "pairwise", "mean", "split-half", "icc(2,1)"),
    "informative": ("alpha", "mean", "icc(2,1)", "pairwise"),
    "heavy tails": ("alpha", "mean", "icc(2,1)", "pairwise", "components, rater"),
    "three raters": ("alpha", "fleiss", "pairwise", "mean", "icc(2,1)", "split-half"),
    "mixed kinds": ("alpha", "mean", "pairwise"),
    "slider-floor": ("alpha", "mean", "icc(2,1)", "difference"),
    "missing-high": ("mean", "alpha"),
    "refused-high": ("mean", "alpha"),
}
_TESTED: Final[dict[str, tuple[str, ...]]] = {
    "within-raters": ("compare, condition",),
    "sources": ("compare, property of items", "regress, property of items"),
    "teams": ("compare, groups of raters",),
    "slopes": ("compare, property of items", "regress, property of items"),
    "unequal-groups": ("compare, groups of raters",
                       "explain, trait of raters"),
    "unequal-noise": ("compare, groups of raters", "dif, one item"),
}  # fmt: skip


def lines() -> list[Line]:
    """All rows of the table."""
    table: list[Line] = []
    for design in STANDARD:
        fit = [name for name in INTERVALS if not _unfit(name, design)]
        table += [Line(name, design.name, "items" if name in ITEMS_ONLY else BOTH) for name in fit]
        table += [Line(name, design.name, NONE) for name in TESTS if name != "compare, condition"]
    table += [Line(name, "few-items", "items") for name in ("alpha", "fleiss", "ac1", "pairwise", "mean")]
    table += [Line(name, design, BOTH) for design, names in _ORDINARY.items() for name in names]
    table += [Line(name, design, NONE) for design, names in _TESTED.items() for name in names]
    return [*table, *(Line(name, case, "planted") for case, (name, _, _) in CASES.items())]


def _unfit(name: str, design: Design) -> bool:
    """What a design says nothing about."""
    # Models come first and answer higher, so that groups of raters differ where some are models.
    apart = name in (*PAIRS, "rater-matrix") and design.layout != "crossed"
    return apart or (name == "compare, raters" and design.models > 0)


assert {design.name for design in ORDINARY} <= {*_ORDINARY, "few-items"}
assert {*_ORDINARY, *_TESTED} <= set(DESIGNS)


def measured(name: str, frame: pl.DataFrame, design: Design, seed: int, ci: str = "auto") -> Row | None:
    """The row of an interval, or none where the measure refuses the table."""
    try:
        return INTERVALS[name](frame, design, seed, ci)
    except InputError as error:
        return {"estimate": None, "low": None, "high": None, "over": None, "reason": str(error)}
