"""What is analysed: where each source places the groups, clusters, how sure both are, and keywords and reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Final

import numpy as np
import polars as pl
from scipy import special, stats

from vantage.instruments import Instrument
from vantage.measures import (
    Clusters,
    Dictionary,
    Floats,
    Stability,
    composites,
    expected_values,
    kmeans,
    mean_over_runs,
    nearest_centroid,
    run_replicates,
    scores_by_run,
)
from vantage.measures.texts.clusters import stability
from vantage.measures.texts.dictionary import lemmas
from vantage.measures.texts.keywords import matched
from vantage.report.engine import Analysis
from vantage.report.ledger import LEVEL
from vantage.studies.stereomap import elicitation
from vantage.studies.stereomap.elicitation import USUAL, StereomapOptions

ALL: Final = "all models"
"""The source that puts all models together."""
PEOPLE: Final = "people"
"""The source of everyone who is a person; each of them is one run."""
ROUNDING: Final = 1e-12
"""Differences between runs that vary by less, as a share of them, do not vary."""
FEWEST: Final = 5
"""From so many runs on there is an ellipse; of fewer, the region of two means is wider than most maps."""


def contrast(axes: Sequence[str], first: str, second: str) -> tuple[float, ...]:
    """The weights of one score minus another.

    >>> contrast(("competence", "warmth"), "competence", "warmth")
    (1.0, -1.0)
    """
    return tuple(float(axis == first) - float(axis == second) for axis in axes)


@dataclass(frozen=True, eq=False)
class PlacedGroups:
    """One model, all of them together, or people, and where the groups are placed."""

    name: str
    axes: tuple[str, ...]
    scores: pl.DataFrame
    """Composite scores, one row per group, run and score."""
    items: tuple[str, ...]
    """The groups that have all scores."""
    cube: Floats
    """Groups × axes × runs; of people, everyone is a run."""
    replicates: Floats
    """How the means might have come out: resamples × groups × scores; none where there is but one run."""
    clusters: Clusters | None = None
    sure: Stability | None = None
    reason: str = ""
    """Why there are no clusters."""

    @cached_property
    def points(self) -> Floats:
        """The means over runs, groups × axes."""
        return mean_over_runs(self.cube)

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return int(self.cube.shape[2])

    @cached_property
    def cluster_of(self) -> dict[str, str]:
        """The cluster of each group that has one."""
        clusters = self.clusters
        return {item: clusters.of(item) for item in clusters.items} if clusters else {}

    def over_runs(self, inside: Sequence[int], weights: Sequence[float]) -> tuple[float | None, float | None]:
        """The 95 % interval of a weighted sum of the scores, averaged over the groups `inside`.

        It is Student's (1908) over runs, which holds for few of them. Runs of different models are no
        replicates of each other, and runs that do not differ say nothing about others: both have no interval. Nor has
        a model that was read by option scoring, which has one run only.
        """
        if self.name == ALL or not len(self.replicates) or not len(inside):
            return None, None
        estimate = float((self.points[inside] @ weights).mean())
        used = [d for d, weight in enumerate(weights) if weight]
        each = np.tensordot(self.cube[inside][:, used], [weights[d] for d in used], axes=(1, 0))
        known = each[:, np.isfinite(each).any(axis=0)]
        # Groups that some runs did not place enter with their deviation from their own mean.
        away = np.nanmean(known - np.nanmean(known, axis=1, keepdims=True), axis=0) if known.size else np.zeros(0)
        error = float(away.std(ddof=1) / np.sqrt(len(away))) if len(away) > 1 else 0.0
        if error < 1e-12:
            return None, None
        reach = float(stats.t.ppf(0.975, len(away) - 1)) * error
        return estimate - reach, estimate + reach

    def ellipse(self, group: int, pair: Sequence[int]) -> tuple[float, float, float] | None:
        """The 95 % region of a group's two means: its width, its height, and the angle of its width in degrees.

        It is Hotelling's (1931).
        """
        runs = self.cube[group][pair]
        known = runs[:, np.isfinite(runs).all(axis=0)]
        n = known.shape[1]
        if self.name == ALL or n < FEWEST:
            return None
        factor = 2 * (n - 1) / (n - 2) * float(stats.f.ppf(0.95, 2, n - 2))
        sizes, directions = np.linalg.eigh(np.cov(known) / n)
        if sizes[1] < 1e-12:
            return None
        height, width = 2 * np.sqrt(factor * np.maximum(sizes, 0.0))
        return float(width), float(height), float(np.degrees(np.arctan2(directions[1, 1], directions[0, 1])))


def place(
    judgments: pl.DataFrame,
    instrument: Instrument,
    *,
    axes: Sequence[str] = USUAL,
    k: int = 5,
    resamples: int = 200,
    seed: int = 0,
) -> list[PlacedGroups]:
    """The sources of judgments made under one condition: people, every model, and all models where there are several.

    Args:
        judgments: The ratings of groups, one condition only; people are one rater, `PEOPLE`.
        instrument: What was asked.
        axes: The scores of the map.
        k: How many clusters.
        resamples: Of runs.
        seed: Of clusters and resamples.
    """
    rated = judgments.filter(pl.col("question").is_in([question.id for question in instrument.questions]))
    scores = composites(expected_values(rated), instrument)
    raters = scores["rater"].unique().sort().to_list()
    models = [name for name in raters if name != PEOPLE]
    placed: list[PlacedGroups] = []
    for name in [*(name for name in raters if name == PEOPLE), *models, *([ALL] if len(models) > 1 else [])]:
        named = pl.col("rater").is_in(models if name == ALL else [name])
        mine = scores.filter(named)
        items, _, cube = scores_by_run(mine, axes)
        known = np.asarray(np.isfinite(mean_over_runs(cube)).all(axis=1))
        if name == ALL:  # A group that a model did not place would be where the others put it.
            by_each = [one.items for one in placed if one.name != PEOPLE and one.items]
            known &= [all(item in theirs for theirs in by_each) for item in items]
        items, cube = [item for item, there in zip(items, known, strict=True) if there], cube[known]
        if items:  # A run without a single answer, all of whose calls failed, is none.
            cube = cube[:, :, np.isfinite(cube).any(axis=(0, 1))]
        several = cube.shape[2] > 1
        drawn = run_replicates(cube, resamples=resamples, seed=seed) if several else np.zeros((0, *cube.shape[:2]))
        source = PlacedGroups(name, tuple(axes), mine, tuple(items), cube, drawn)
        placed.append(_clustered(source, k, instrument.questions[0].scale.ends, len(known), seed))
    return placed


def _clustered(source: PlacedGroups, k: int, ends: tuple[float, float], asked: int, seed: int) -> PlacedGroups:
    """The source with its clusters, or with the reason why there are none."""
    if len(source.items) < k:
        reason = f"{len(source.items)} of {asked} groups have all scores, too few for {k} clusters"
        return replace(source, reason=reason)
    if (distinct := len(np.unique(source.points, axis=0))) < k:
        reason = f"the groups have only {distinct} different places, too few for {k} clusters"
        return replace(source, reason=reason)
    clusters = kmeans(source.items, source.points, axes=source.axes, k=k, scale=ends, seed=seed)
    sure = stability(clusters, source.replicates, seed=seed) if len(source.replicates) else None
    return replace(source, clusters=clusters, sure=sure)


def one_against_another(source: PlacedGroups) -> pl.DataFrame:
    """Every score against every later one over the runs of a source, cluster by cluster.

    `difference` is that of the centroid. In the test, each run comes with every group in
    the cluster in which the *other* runs put it, so that the runs that are tested had no part in the choice of the
    groups. `held_out` is their mean difference, `dz` that over its standard deviation between runs (Cohen 1988). Two
    runs share most of the runs that chose their groups, so they vary together; the test and the interval of dz count
    that (Nadeau and Bengio 2003). `relation` is by p values times the tests of the source, as in the ledger of claims.
    The runs of several models together are no replicates of each other and are not tested.
    """
    assert source.clusters is not None  # noqa: S101 - asked for sources with clusters only
    pairs, rows = list(combinations(source.axes, 2)), []
    for label, name in enumerate(source.clusters.names):
        inside = np.flatnonzero(source.clusters.labels == label).tolist()
        for pair in pairs:
            weights = contrast(source.axes, *pair)
            mean = float((source.points[inside] @ weights).mean())
            rows.append((name, *pair, mean))
    keys = ["cluster", "first", "second"]
    schema = {**dict.fromkeys(keys, pl.String), "difference": pl.Float64}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    why = "one run only: there is nothing to test over" if source.runs < 2 else ""
    why = "runs of several models are not replicates of each other" if source.name == ALL else why
    scores = pl.DataFrame() if why else _held_out(source)
    if scores.is_empty():
        none = dict.fromkeys(("held_out", "dz", "dz_low", "dz_high", "p"), pl.lit(None, pl.Float64))
        untested = {"relation": pl.lit(None, pl.String), "reason": pl.lit(why or "no run has groups with all scores")}
        return table.with_columns(**none, runs=pl.lit(source.runs, pl.Int64), **untested)
    parts = [_over_runs(scores, *pair) for pair in pairs]
    tested = table.join(pl.concat(parts), on=keys, how="left", maintain_order="left")
    over_runs = [_over_shared_runs(*row) for row in tested.select("dz", "runs").iter_rows()]
    results = pl.DataFrame(over_runs, schema=dict.fromkeys(("dz_low", "dz_high", "p"), pl.Float64), orient="row")
    tested = tested.hstack(results)
    signs = pl.col("held_out").sign().cast(pl.Int64).replace_strict({1: ">", -1: "<"}, default="=")
    clear = pl.col("p") * pl.col("p").count() < LEVEL
    shown = pl.when(clear).then(signs).when(pl.col("p").is_not_null()).then(pl.lit("="))
    return tested.with_columns(shown.alias("relation"))


def _over_runs(scores: pl.DataFrame, first: str, second: str) -> pl.DataFrame:
    """The mean difference of two scores over runs in each cluster, and dz where it varies between them."""
    means = scores.group_by("cluster", "sample").agg(
        (pl.col("value").filter(question=first).mean() - pl.col("value").filter(question=second).mean()).alias("apart")
    )
    means = means.sort("cluster", "sample")
    apart = pl.col("apart").drop_nulls()
    runs, spread = apart.len(), apart.std()
    few, alike = runs < 2, spread <= ROUNDING * pl.max_horizontal(apart.abs().max(), 1.0)
    return means.group_by("cluster").agg(
        pl.lit(first).alias("first"),
        pl.lit(second).alias("second"),
        pl.when(~few).then(apart.mean()).alias("held_out"),
        pl.when(~few & ~alike).then(apart.mean() / spread).alias("dz"),
        runs.cast(pl.Int64).alias("runs"),
        pl.when(few)
        .then(pl.lit("fewer than two runs have both scores"))
        .when(alike)
        .then(pl.lit("the runs do not vary, so the effect has no unit"))
        .alias("reason"),
    )


def _over_shared_runs(dz: float | None, runs: int | None) -> tuple[float | None, float | None, float | None]:
    """The interval and the p value of dz where each run was tested on groups that all others chose.

    >>> [round(one, 3) for one in _over_shared_runs(1.5, 10)]
    [0.344, 2.604, 0.01]
    """
    if dz is None or runs is None:
        return None, None, None
    scale = 1 / np.sqrt(1 / runs + 1 / (runs - 1))
    low, high = (float(special.nctdtrinc(runs - 1.0, tail, dz * scale) / scale) for tail in (0.975, 0.025))
    return low, high, float(2 * stats.t.sf(abs(dz) * scale, runs - 1))


def _held_out(source: PlacedGroups) -> pl.DataFrame:
    """The scores of every run, each group under the cluster in which the other runs put it."""
    assert source.clusters is not None  # noqa: S101 - asked for sources with clusters only
    rows = []
    for run in range(source.runs):
        others = mean_over_runs(np.delete(source.cube, run, axis=2))
        usable = np.isfinite(others).all(axis=1) & np.isfinite(source.cube[:, :, run]).all(axis=1)
        where = nearest_centroid(others[usable], source.clusters.centroids)
        for item, label in zip(np.flatnonzero(usable), where, strict=True):
            key = {"item": source.items[item], "rater": source.name, "sample": run}
            for axis, value in zip(source.axes, source.cube[item, :, run].tolist(), strict=True):
                rows.append({**key, "question": axis, "value": value, "cluster": source.clusters.names[label]})
    return pl.DataFrame(rows)


class Stereomap(Analysis):
    """A corpus of judged groups and what follows from it, computed once."""

    options: StereomapOptions

    @cached_property
    def instrument(self) -> Instrument:
        """The instrument of the corpus that declares scores."""
        declared = (one for one in self.corpus.instruments if one.aggregates)
        return next(declared, None) or elicitation.instrument_of(self.options)

    @cached_property
    def dimensions(self) -> tuple[str, ...]:
        """The scores of the map."""
        return elicitation.axes_of(self.instrument, self.options.axes)

    @property
    def usual(self) -> bool:
        """Whether the map is the one that is known of people: competence and warmth."""
        return self.dimensions == USUAL

    @property
    def language(self) -> str:
        """The language of the questions."""
        return self.instrument.language or "en"

    @cached_property
    def ratings(self) -> pl.DataFrame:
        """The judgments of groups by the instrument, under all conditions.

        People are one rater, and each of them is one run: of someone who judged a group twice, the first answer counts.
        """
        asked = [question.id for question in self.instrument.questions]
        corpus = self.corpus.included()
        rated = corpus.judgments.filter(pl.col("question").is_in(asked))
        is_person = pl.col("rater").is_in(corpus.people().raters["rater"].to_list())
        theirs = rated.filter(is_person).sort("sample", maintain_order=True)
        theirs = theirs.unique(["item", "question", "rater", "condition"], keep="first", maintain_order=True)
        person = (pl.col("rater").rank("dense") - 1).cast(rated.schema["sample"])
        return pl.concat([rated.filter(~is_person), theirs.with_columns(sample=person, rater=pl.lit(PEOPLE))])

    @cached_property
    def asked(self) -> pl.DataFrame:
        """Those of them that answer the prompt as it is, not one of its variants."""
        return self.ratings.filter(pl.col("condition") == "")

    @cached_property
    def models(self) -> pl.DataFrame:
        """Those of them that models made."""
        return self.asked.filter(pl.col("rater") != PEOPLE)

    @cached_property
    def sources(self) -> list[PlacedGroups]:
        """People where there are some, every model and, where there are several, all models together."""
        chosen = {name: getattr(self.options, name) for name in ("k", "resamples")}
        return place(self.asked, self.instrument, axes=self.dimensions, seed=self.seed, **chosen)

    @cached_property
    def labels(self) -> dict[str, str]:
        """The short name of each group."""
        return self._of_items("label")

    @cached_property
    def reference(self) -> dict[str, str]:
        """The human cluster of each group that has one."""
        return self._of_items("reference")

    @cached_property
    def names(self) -> dict[str, list[str]]:
        """All names of each group, for masking."""
        return {item: names.split("; ") for item, names in self._of_items("names").items() if names}

    @cached_property
    def clusters(self) -> pl.DataFrame:
        """One row per model and group with its cluster."""
        rows = [(s.name, *one) for s in self.sources if s.name != ALL for one in s.cluster_of.items()]
        return pl.DataFrame(rows, schema=dict.fromkeys(("rater", "item", "cluster"), pl.String), orient="row")

    @cached_property
    def keywords(self) -> pl.DataFrame:
        """All keywords, under all conditions."""
        return elicitation.keywords_of(self.corpus)

    @cached_property
    def dictionary(self) -> Dictionary:
        """Where keywords are looked up."""
        return elicitation.dictionary_of(self.options)

    @cached_property
    def matches(self) -> pl.DataFrame:
        """The keywords that answer the prompt as it is, with what the dictionary says of them."""
        given = self.keywords.filter(pl.col("condition") == "")
        return matched(given, self.dictionary, lemmatize=lambda word, parts: lemmas(word, parts, self.language))

    @cached_property
    def reasons(self) -> pl.DataFrame:
        """Every reason that was given, with keywords and with ratings, under all conditions."""
        keys = ["item", "rater", "condition", "sample"]
        given = self.keywords.drop_nulls("reason").select(*keys, "about", pl.col("reason").alias("text"))
        rated = self.ratings.drop_nulls("rationale").filter(
            pl.col("status").cast(pl.String) == "answered", pl.col("rater") != PEOPLE
        )
        rationales = rated.select(*keys, pl.col("question").alias("about"), pl.col("rationale").alias("text"))
        return pl.concat([given, rationales.cast({"sample": pl.Int64})])

    def beside(self, column: str, source: str = "source") -> pl.Expr:
        """A column for figures, with the model before it where there are several."""
        return pl.col(column) if len(self.sources) < 2 else pl.concat_str(source, pl.lit(" · "), column)

    def _of_items(self, column: str) -> dict[str, str]:
        items = self.corpus.items
        return dict(items.select("item", column).drop_nulls().iter_rows()) if column in items.columns else {}
