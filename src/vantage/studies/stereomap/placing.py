"""Where each source places the groups: scores, clusters, how sure they are, and competence against warmth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.instruments import Instrument
from vantage.measures.cluster_stability import (
    Stability,
    mean_over_runs,
    nearest_centroid,
    run_replicates,
    stability,
)
from vantage.measures.clusters import Clusters, k_table, kmeans
from vantage.measures.compare import compare
from vantage.measures.composites import answer_replicates, composites, expected_values, scores_by_run
from vantage.measures.intervals import percentile
from vantage.measures.ratings import Floats

AXES: Final = ("competence", "warmth")
ALL: Final = "all models"
"""The source that puts all models together."""


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """One model, or all of them together, and where it places the groups."""

    name: str
    scores: pl.DataFrame
    """Composite scores, one row per group, run and score."""
    items: tuple[str, ...]
    """The groups that have both scores."""
    cube: Floats
    """Groups × competence and warmth × runs."""
    replicates: Floats
    """How the means might have come out: resamples × groups × scores; none where there is but one run."""
    clusters: Clusters | None = None
    sure: Stability | None = None
    reason: str = ""
    """Why there are no clusters."""

    @property
    def points(self) -> Floats:
        """The means over runs, groups × competence and warmth."""
        return mean_over_runs(self.cube)

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return int(self.cube.shape[2])

    def cluster_of(self) -> dict[str, str]:
        """The cluster of each group that has one."""
        found = self.clusters
        return {item: found.of(item) for item in found.items} if found else {}


def place(
    judgments: pl.DataFrame,
    instrument: Instrument,
    *,
    k: int = 5,
    members: str = "all",
    runs: int = 10,
    resamples: int = 200,
    seed: int = 0,
) -> list[Source]:
    """The sources of judgments made under one condition: every rater and, where there are several, all of them.

    Args:
        judgments: The ratings of groups, one condition only.
        instrument: What was asked.
        k: How many clusters.
        members: Whether a score needs all of its questions (`all`) or any (`some`).
        runs: For a model that was read by option scoring: of how many runs the uncertainty is told.
        resamples: Of runs.
        seed: Of clusters and resamples.
    """
    rated = judgments.filter(pl.col("question").is_in([question.id for question in instrument.questions]))
    scores = composites(expected_values(rated), instrument, members="all" if members == "all" else "some")
    raters = scores["rater"].unique().sort().to_list()
    found = []
    for name in [*raters, ALL] if len(raters) > 1 else raters:
        mine = scores if name == ALL else scores.filter(pl.col("rater") == name)
        answers = rated if name == ALL else rated.filter(pl.col("rater") == name)
        ends = instrument.questions[0].scale.ends
        found.append(_placed(name, mine, answers, instrument, ends, k, runs, resamples, seed))
    return found


def _placed(
    name: str,
    scores: pl.DataFrame,
    answers: pl.DataFrame,
    instrument: Instrument,
    ends: tuple[float, float],
    k: int,
    runs: int,
    resamples: int,
    seed: int,
) -> Source:
    items, _, cube = scores_by_run(scores, AXES)
    means = mean_over_runs(cube)
    known = np.asarray(np.isfinite(means).all(axis=1))
    items, cube = [item for item, there in zip(items, known, strict=True) if there], cube[known]
    replicates = _replicates(items, cube, answers, instrument, runs, resamples, seed)
    source = Source(name, scores, tuple(items), cube, replicates)
    points = source.points
    told = f"{len(items)} of {len(known)} groups have both scores"
    if len(items) < k:
        return _without(source, f"{told}, too few for {k} clusters")
    if (distinct := len(np.unique(points, axis=0))) < k:
        return _without(source, f"the groups have only {distinct} different places, too few for {k} clusters")
    clusters = kmeans(items, points, axes=AXES, k=k, scale=ends, seed=seed)
    sure = stability(clusters, replicates, seed=seed) if len(replicates) else None
    return Source(name, scores, tuple(items), cube, replicates, clusters, sure)


def _without(source: Source, reason: str) -> Source:
    return Source(source.name, source.scores, source.items, source.cube, source.replicates, reason=reason)


def _replicates(
    items: Sequence[str],
    cube: Floats,
    answers: pl.DataFrame,
    instrument: Instrument,
    runs: int,
    resamples: int,
    seed: int,
) -> Floats:
    """Resampled runs or, where every rater was read by option scoring, runs drawn from its distributions."""
    scored = (
        "probabilities" in answers.columns
        and answers.filter(pl.col("value").is_not_null())["probabilities"].is_not_null().all()
    )
    if scored and items:
        parts = []
        for number, (_, mine) in enumerate(sorted(answers.group_by("rater"), key=lambda part: str(part[0]))):
            known, drawn = answer_replicates(mine, instrument, AXES, runs=runs, resamples=resamples, seed=seed + number)
            if not set(items) <= set(known):
                return np.zeros((0, *cube.shape[:2]))
            parts.append(drawn[:, [known.index(item) for item in items]])
        return np.asarray(np.mean(parts, axis=0))
    if cube.shape[2] < 2:
        return np.zeros((0, *cube.shape[:2]))
    return run_replicates(cube, resamples=resamples, seed=seed)


def group_table(sources: Sequence[Source], labels: Mapping[str, str]) -> pl.DataFrame:
    """One row per source and group: its scores with intervals over runs, its cluster, and how firmly it is there."""
    rows: list[dict[str, Any]] = []
    for source in sources:
        points = source.points
        ranges = np.quantile(source.replicates, [0.025, 0.975], axis=0) if len(source.replicates) else None
        for n, item in enumerate(source.items):
            row: dict[str, Any] = {"source": source.name, "item": item, "group": labels.get(item, item)}
            for d, axis in enumerate(AXES):
                row[axis] = float(points[n, d])
                row[f"{axis}_low"] = None if ranges is None else float(ranges[0, n, d])
                row[f"{axis}_high"] = None if ranges is None else float(ranges[1, n, d])
            held = source.sure.held[n] if source.sure is not None else np.nan
            row["cluster"] = source.cluster_of().get(item)
            row["held"] = float(held) if np.isfinite(held) else None
            row["runs"] = int(np.isfinite(source.cube[n]).all(axis=0).sum())
            rows.append(row)
    bounds = [f"{axis}{end}" for axis in AXES for end in ("", "_low", "_high")]
    texts = dict.fromkeys(("source", "item", "group", "cluster"), pl.String)
    schema = {**texts, **dict.fromkeys((*bounds, "held"), pl.Float64), "runs": pl.Int64}
    order = ["source", "item", "group", *bounds, "cluster", "held", "runs"]
    return pl.DataFrame(rows, schema=schema).select(order)


def cluster_table(sources: Sequence[Source], labels: Mapping[str, str]) -> pl.DataFrame:
    """One row per source and cluster: centroid, competence minus warmth with its test over runs, and the groups.

    Each run is tested with every group in the cluster in which the *other* runs put it, so that the runs that are
    tested had no part in the choice of the groups. `dz` is the mean difference over its standard deviation between
    runs (Cohen 1988); p-values are corrected after Holm (1979) within the source.
    """
    found = []
    for source in sources:
        if source.clusters is None:
            continue
        table = source.clusters.table().with_columns(
            (pl.col("competence") - pl.col("warmth")).alias("difference"), pl.lit(source.name).alias("source")
        )
        lows, highs, groups = [], [], []
        for number, _ in enumerate(source.clusters.names):
            inside = source.clusters.labels == number
            each = source.replicates[:, inside].mean(axis=1) if len(source.replicates) else np.zeros((0, 2))
            low, high = percentile(each[:, 0] - each[:, 1])
            lows.append(low)
            highs.append(high)
            groups.append(", ".join(labels.get(i, i) for i, here in zip(source.items, inside, strict=True) if here))
        table = table.with_columns(
            pl.Series("difference_low", lows, dtype=pl.Float64),
            pl.Series("difference_high", highs, dtype=pl.Float64),
            pl.Series("groups", groups, dtype=pl.String),
        )
        found.append(table.join(_tests(source), on="cluster", how="left", maintain_order="left"))
    return pl.concat(found) if found else pl.DataFrame()


def _tests(source: Source) -> pl.DataFrame:
    """Competence against warmth over runs, cluster by cluster."""
    assert source.clusters is not None  # noqa: S101 - asked for sources with clusters only
    names = source.clusters.names
    columns: dict[str, Any] = {"cluster": pl.String, "dz": pl.Float64, "dz_low": pl.Float64, "dz_high": pl.Float64}
    columns |= {"p": pl.Float64, "p_holm": pl.Float64, "runs": pl.Int64, "relation": pl.String, "reason": pl.String}
    if source.runs < 2:
        told = "one run only: there is nothing to test over"
        return pl.DataFrame([{"cluster": name, "reason": told, "runs": 1} for name in names], schema=columns)
    rows = []
    for run in range(source.runs):
        others = mean_over_runs(np.delete(source.cube, run, axis=2))
        usable = np.isfinite(others).all(axis=1) & np.isfinite(source.cube[:, :, run]).all(axis=1)
        where = nearest_centroid(others[usable], source.clusters.centroids)
        for item, label in zip(np.flatnonzero(usable), where, strict=True):
            for d, axis in enumerate(AXES):
                key = {"item": source.items[item], "rater": source.name, "sample": run, "question": axis}
                rows.append({**key, "value": float(source.cube[item, d, run]), "cluster": names[label]})
    if not rows:
        told = "no run has groups with both scores"
        return pl.DataFrame([{"cluster": name, "reason": told, "runs": 0} for name in names], schema=columns)
    tested = compare(
        pl.DataFrame(rows), between="question", values=AXES, by="cluster", unit="sample", correction="holm"
    )
    found = tested.select(
        "cluster",
        pl.col("estimate").alias("dz"),
        pl.col("low").alias("dz_low"),
        pl.col("high").alias("dz_high"),
        "p",
        pl.col("p_adjusted").alias("p_holm"),
        pl.col("units").alias("runs"),
        pl.col("difference").alias("__held_out"),
        "reason",
    )
    certain = pl.col("p_holm") < 0.05
    relation = (
        pl.when(certain & (pl.col("__held_out") > 0))
        .then(pl.lit(">"))
        .when(certain & (pl.col("__held_out") < 0))
        .then(pl.lit("<"))
        .when(pl.col("p_holm").is_not_null())
        .then(pl.lit("="))
    )
    return found.with_columns(relation.alias("relation")).select(
        pl.col(name).cast(kind) for name, kind in columns.items()
    )


def stability_table(sources: Sequence[Source]) -> pl.DataFrame:
    """One row per source: how far the clusters come out the same from resampled runs and from other starts."""
    rows: list[dict[str, Any]] = []
    for source in sources:
        row: dict[str, Any] = {"source": source.name, "groups": len(source.items), "runs": source.runs}
        if source.sure is not None:
            summary = source.sure.summary()
            row |= {"estimate": summary["agreement"], "low": summary["low"], "high": summary["high"]}
            row |= {"starts": summary["seeds"], "held": float(np.nanmean(source.sure.held))}
        else:
            row["reason"] = source.reason or "one run only: there is nothing to resample"
        rows.append(row)
    numbers = dict.fromkeys(("estimate", "low", "high", "starts", "held"), pl.Float64)
    schema = {"source": pl.String, "groups": pl.Int64, "runs": pl.Int64, **numbers, "reason": pl.String}
    return pl.DataFrame(rows, schema=schema)


def k_tables(sources: Sequence[Source], *, most: int = 8, seed: int = 0) -> pl.DataFrame:
    """The silhouette and the gap of each number of clusters, source by source."""
    found = [
        k_table(source.points, most=most, seed=seed).with_columns(pl.lit(source.name).alias("source"))
        for source in sources
        if source.clusters is not None
    ]
    return pl.concat(found).select("source", pl.all().exclude("source")) if found else pl.DataFrame()
