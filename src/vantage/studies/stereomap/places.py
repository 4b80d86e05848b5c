"""The map: the groups at both ends, every group's place, the clusters, and how sure they are."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures.texts.clusters import described, k_table
from vantage.report.cells import minus
from vantage.report.engine import Data
from vantage.studies.stereomap.analysis import Stereomap
from vantage.studies.stereomap.placing import APART, competence_against_warmth

NAMED: Final = 3
"""So many groups stand for an end of the map."""
CROWD: Final = 40
"""So many names fit into half of the page."""
FEW: Final = 8
"""From fewer runs than these, resampled runs show less spread than there is."""


def ends(analysis: Stereomap) -> pl.DataFrame | None:
    """One row per source: the groups whose competence is furthest above their warmth, and vice versa."""
    if analysis.asked.is_empty():
        return None
    placed, rows = groups(analysis).sort("apart", "item"), []
    for source in analysis.sources:
        mine = placed.filter(source=source.name)
        above = mine.filter(pl.col("apart") > 0).reverse().head(NAMED)
        below = mine.filter(pl.col("apart") < 0).head(NAMED)
        rows.append((source.name, len(mine), _listed(above), _listed(below)))
    columns = {"source": pl.String, "groups": pl.Int64, "competent": pl.String, "warm": pl.String}
    return pl.DataFrame(rows, schema=columns, orient="row")


def group_map(analysis: Stereomap) -> Data:
    """The map, and how much room its names need."""
    placed = groups(analysis).with_columns(pl.col("cluster").fill_null("none"))
    many = placed["item"].n_unique() > CROWD
    return Data(placed, {"map_columns": 1 if many else 2, "map_height": 8.2 if many else 5.2})


def groups(analysis: Stereomap) -> pl.DataFrame:
    """One row per source and group: its scores with intervals over runs, its cluster, and how firmly it is there."""
    rows: list[dict[str, Any]] = []
    weights = {"competence": (1.0, 0.0), "warmth": (0.0, 1.0), "apart": APART}
    for source in analysis.sources:
        for n, item in enumerate(source.items):
            row: dict[str, Any] = {"source": source.name, "item": item, "group": analysis.labels.get(item, item)}
            for name, weight in weights.items():
                low, high, _ = source.over_runs([n], weight)
                row |= {name: float(source.points[n] @ weight), f"{name}_low": low, f"{name}_high": high}
            held = source.sure.held[n] if source.sure is not None else np.nan
            row |= {"cluster": source.cluster_of.get(item), "held": float(held) if np.isfinite(held) else None}
            rows.append({**row, "runs": int(np.isfinite(source.cube[n]).all(axis=0).sum())})
    low, high = analysis.instrument.questions[0].scale.ends
    # Few runs have wide intervals, which cannot leave the scale.
    ends = {"competence": (low, high), "warmth": (low, high), "apart": (low - high, high - low)}
    inside = [pl.col(f"{name}_low", f"{name}_high").clip(*bounds) for name, bounds in ends.items()]
    numbers = [f"{name}{end}" for name in weights for end in ("", "_low", "_high")]
    texts = ("source", "item", "group", "cluster")
    schema = {**dict.fromkeys(texts, pl.String), **dict.fromkeys((*numbers, "held"), pl.Float64), "runs": pl.Int64}
    return pl.DataFrame(rows, schema=schema).with_columns(inside)


def clusters(analysis: Stereomap) -> pl.DataFrame | None:
    """One row per source and cluster: its centroid, and competence minus warmth with its test over runs."""
    frames = []
    for source in analysis.sources:
        if source.clusters is None:
            continue
        inside = [np.flatnonzero(source.clusters.labels == n).tolist() for n in range(len(source.clusters.names))]
        apart = [source.over_runs(rows) for rows in inside]
        table = source.clusters.table().with_columns(
            (pl.col("competence") - pl.col("warmth")).alias("difference"),
            pl.Series("difference_low", [one.low for one in apart], dtype=pl.Float64),
            pl.Series("difference_high", [one.high for one in apart], dtype=pl.Float64),
            pl.lit(source.name).alias("source"),
        )
        frames.append(table.join(competence_against_warmth(source), on="cluster", how="left", maintain_order="left"))
    if not frames:
        return None
    position = pl.col("cluster").map_elements(described, pl.String).str.replace(", ", " and ")
    return (
        pl.concat(frames).with_columns(position.alias("position")).with_columns(analysis.beside("position").alias("of"))
    )


def members(analysis: Stereomap) -> pl.DataFrame:
    """What the names of the clusters mean, and which groups are in them."""
    rows = [
        (source.name, name, described(name), ", ".join(analysis.labels.get(i, i) for i in inside))
        for source in analysis.sources
        for name in (source.clusters.names if source.clusters else ())
        if (inside := [item for item, cluster in source.cluster_of.items() if cluster == name])
    ]
    columns = ("source", "cluster", "position", "groups")
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def stability(analysis: Stereomap) -> Data:
    """One row per source: how far the clusters come out the same from resampled runs and from other starts."""
    rows: list[dict[str, Any]] = []
    for source in analysis.sources:
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
    few = [source.runs for source in analysis.sources if source.sure and not source.scored and source.runs < FEW]
    return Data(pl.DataFrame(rows, schema=schema), {"few_runs": min(few, default=None)})


def number_of_clusters(analysis: Stereomap) -> pl.DataFrame | None:
    """The silhouette and the gap of each number of clusters, source by source."""
    frames = [
        k_table(source.points, most=8, seed=analysis.seed).select(pl.lit(source.name).alias("source"), pl.all())
        for source in analysis.sources
        if source.clusters is not None
    ]
    return pl.concat(frames) if frames else None


def _listed(placed: pl.DataFrame) -> str | None:
    listed = [
        f"{group} ({minus(format(apart, '+.1f'))})" for group, apart in placed.select("group", "apart").iter_rows()
    ]
    return ", ".join(listed) or None
