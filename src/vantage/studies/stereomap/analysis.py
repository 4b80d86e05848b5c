"""What is analysed: where each source places the groups, clusters, how sure both are, and keywords and reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Final

import numpy as np
import polars as pl
from scipy import special, stats

from vantage import measures
from vantage.instruments import Instrument
from vantage.measures import Clusters, Dictionary, Floats, Stability
from vantage.measures.texts.clusters import stability
from vantage.measures.texts.dictionary import lemmas
from vantage.measures.texts.keywords import matched
from vantage.report.engine import Analysis
from vantage.report.ledger import LEVEL
from vantage.studies.stereomap import elicitation
from vantage.studies.stereomap.elicitation import USUAL

ALL: Final = "all models"
PEOPLE: Final = "people"
"""The source of all people, each of whom is one run."""
ROUNDING: Final = 1e-12
"""Differences between runs that vary by less, as a share of them, do not vary."""
FEWEST: Final = 5
"""With fewer runs there is no ellipse: the region of two means is wider than most maps."""


@dataclass(frozen=True, eq=False)
class PlacedGroups:
    """Where one model, all of them together, or people place the groups."""

    name: str
    axes: tuple[str, ...]
    scores: pl.DataFrame
    """One row per group, run and score."""
    items: tuple[str, ...]
    """The groups that have all scores."""
    cube: Floats
    """Groups × axes × runs; of people, everyone is a run."""
    replicates: Floats
    """The means of resampled runs: resamples × groups × scores; none where there is one run only."""
    clusters: Clusters | None = None
    sure: Stability | None = None
    reason: str = ""
    """Why there are no clusters."""

    @cached_property
    def points(self) -> Floats:
        """The means over runs, groups × axes."""
        return measures.mean_over_runs(self.cube)

    @property
    def runs(self) -> int:
        """The number of runs."""
        return int(self.cube.shape[2])

    @cached_property
    def cluster_of(self) -> dict[str, str]:
        """The cluster of each group that has one."""
        clusters = self.clusters
        return {item: clusters.of(item) for item in clusters.items} if clusters else {}

    def over_runs(self, inside: Sequence[int], weights: Sequence[float]) -> tuple[float | None, float | None]:
        """Student's 95 % interval over runs of a weighted sum of the scores, averaged over the groups `inside`.

        There is none for a single run, for runs that do not differ, and for runs of several models, which are no
        replicates of each other.
        """
        if self.name == ALL or not len(self.replicates) or not len(inside):
            return None, None
        estimate = float((self.points[inside] @ weights).mean())
        used = [d for d, weight in enumerate(weights) if weight]
        each = np.tensordot(self.cube[inside][:, used], [weights[d] for d in used], axes=(1, 0))
        known = each[:, np.isfinite(each).any(axis=0)]
        # Groups that some runs did not place enter with their deviation from their own mean.
        away = np.nanmean(known - np.nanmean(known, axis=1, keepdims=True), axis=0) if known.size else np.zeros(0)
        if len(away) < 2 or away.std(ddof=1) < 1e-12:
            return None, None
        return measures.student_interval(estimate + away - away.mean())

    def ellipse(self, group: int, pair: Sequence[int]) -> tuple[float, float, float] | None:
        """The 95 % region of a group's two means (Hotelling 1931): width, height, and the angle of the width."""
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
    """The sources of judgments under one condition: people (one rater), every model and, of several, all of them."""
    rated = judgments.filter(pl.col("question").is_in([question.id for question in instrument.questions]))
    scores = measures.composites(measures.expected_values(rated), instrument)
    raters = scores["rater"].unique().sort().to_list()
    models = [name for name in raters if name != PEOPLE]
    placed: list[PlacedGroups] = []
    for name in [*(name for name in raters if name == PEOPLE), *models, *([ALL] if len(models) > 1 else [])]:
        named = pl.col("rater").is_in(models if name == ALL else [name])
        mine = scores.filter(named)
        items, _, cube = measures.scores_by_run(mine, axes)
        known = np.asarray(np.isfinite(measures.mean_over_runs(cube)).all(axis=1))
        if name == ALL:  # A group that a model did not place would be where the others put it.
            by_each = [one.items for one in placed if one.name != PEOPLE and one.items]
            known &= [all(item in theirs for theirs in by_each) for item in items]
        items, cube = [item for item, there in zip(items, known, strict=True) if there], cube[known]
        if items:  # A run without a single answer, all of whose calls failed, is none.
            cube = cube[:, :, np.isfinite(cube).any(axis=(0, 1))]
        drawn = np.zeros((0, *cube.shape[:2]))
        if cube.shape[2] > 1:
            drawn = measures.run_replicates(cube, resamples=resamples, seed=seed)
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
    clusters = measures.kmeans(source.items, source.points, axes=source.axes, k=k, scale=ends, seed=seed)
    sure = stability(clusters, source.replicates, seed=seed) if len(source.replicates) else None
    return replace(source, clusters=clusters, sure=sure)


def one_against_another(source: PlacedGroups) -> pl.DataFrame:
    """Every score against every later one over the runs of a source, cluster by cluster.

    `difference` is that of the centroid. In the test, each run comes with every group in the cluster in which the
    *other* runs put it, so that the runs that are tested had no part in the choice of the groups. `held_out` is their
    mean difference, `dz` that over its standard deviation between runs (Cohen 1988). `relation` is by p values times
    the tests of the source, as in the ledger of claims. Runs of several models are no replicates and are not tested.
    """
    assert source.clusters is not None  # noqa: S101 - asked for sources with clusters only
    why = "one run only: there is nothing to test over" if source.runs < 2 else ""
    why = "runs of several models are not replicates of each other" if source.name == ALL else why
    means = None if why else _held_out(source)
    rows: list[dict[str, Any]] = []
    for label, name in enumerate(source.clusters.names):
        for one, two in combinations(range(len(source.axes)), 2):
            inside = source.points[source.clusters.labels == label]
            tested = {"reason": why, "runs": source.runs} if means is None else _over_runs(means[label, :, [one, two]])
            pair = {"cluster": name, "first": source.axes[one], "second": source.axes[two]}
            rows.append({**pair, "difference": float((inside[:, one] - inside[:, two]).mean()), **tested})
    numbers = dict.fromkeys(("difference", "held_out", "dz", "dz_low", "dz_high", "p"), pl.Float64)
    texts = dict.fromkeys(("cluster", "first", "second"), pl.String)
    table = pl.DataFrame(rows, schema={**texts, **numbers, "runs": pl.Int64, "reason": pl.String})
    signs = pl.col("held_out").sign().cast(pl.Int64).replace_strict({1: ">", -1: "<"}, default="=")
    clear = pl.col("p") * pl.col("p").count() < LEVEL
    shown = pl.when(clear).then(signs).when(pl.col("p").is_not_null()).then(pl.lit("="))
    return table.with_columns(shown.alias("relation"))


def _over_runs(scores: Floats) -> dict[str, Any]:
    """The test of one score less another, given by run (2 × runs), over the runs that have both.

    Two runs share most of the runs that chose their groups, so they vary together, which the test and the interval of
    dz count (Nadeau and Bengio 2003).

    >>> row = _over_runs(np.array([[3.0, 3.2, 3.1, 3.3], [2.0, 2.4, 1.9, 2.5]]))
    >>> round(row["held_out"], 2), round(row["dz"], 1), round(row["p"], 3)
    (0.95, 5.0, 0.007)
    """
    apart = scores[0] - scores[1]
    apart = apart[np.isfinite(apart)]
    if (runs := len(apart)) < 2:
        return {"runs": runs, "reason": "fewer than two runs have both scores"}
    row = {"runs": runs, "held_out": float(apart.mean())}
    if apart.std(ddof=1) <= ROUNDING * max(np.abs(apart).max(), 1.0):
        return {**row, "reason": "the runs do not vary, so the effect has no unit"}
    dz = float(apart.mean() / apart.std(ddof=1))
    scale = 1 / np.sqrt(1 / runs + 1 / (runs - 1))
    low, high = (float(special.nctdtrinc(runs - 1.0, tail, dz * scale) / scale) for tail in (0.975, 0.025))
    return {**row, "dz": dz, "dz_low": low, "dz_high": high, "p": float(2 * stats.t.sf(abs(dz) * scale, runs - 1))}


def _held_out(source: PlacedGroups) -> Floats:
    """Mean scores by cluster, run and score, each group under the cluster in which the other runs put it."""
    assert source.clusters is not None  # noqa: S101 - asked for sources with clusters only
    means = np.full((len(source.clusters.names), source.runs, len(source.axes)), np.nan)
    for run in range(source.runs):
        others, mine = measures.mean_over_runs(np.delete(source.cube, run, axis=2)), source.cube[:, :, run]
        usable = np.isfinite(others).all(axis=1) & np.isfinite(mine).all(axis=1)
        where = measures.nearest_centroid(others[usable], source.clusters.centroids)
        for label in np.unique(where):
            means[label, run] = mine[usable][where == label].mean(axis=0)
    return means


class Stereomap(Analysis):
    """A corpus of judged groups and what follows from it, computed once."""

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
        """The judgments of groups, under all conditions; people are one rater, each person's first answers a run."""
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
        """A column for figures, with the source before it where there are several."""
        return pl.col(column) if len(self.sources) < 2 else pl.concat_str(source, pl.lit(" · "), column)

    def _of_items(self, column: str) -> dict[str, str]:
        items = self.corpus.items
        return dict(items.select("item", column).drop_nulls().iter_rows()) if column in items.columns else {}
