"""The map: the groups at both ends, every group's place, the clusters, and how sure they are."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures.presentation import Column
from vantage.measures.texts.clusters import described, initials, k_table
from vantage.report.cells import minus
from vantage.report.engine import Data, there
from vantage.report.parts import Figure, Part
from vantage.studies.stereomap.analysis import Stereomap
from vantage.studies.stereomap.groups import human_clusters
from vantage.studies.stereomap.placing import PEOPLE, contrast, one_against_another

NAMED: Final = 3
"""So many groups stand for an end of the map."""
CROWD: Final = 40
"""So many names fit into half of the page."""
ELLIPSE: Final = ("ellipse_width", "ellipse_height", "ellipse_angle")
FEW: Final = 8
"""From fewer runs than these, resampled runs show less spread than there is."""


def ends(analysis: Stereomap) -> Data:
    """One row per source: of two scores, where one is furthest above the other; of more, the groups highest on each."""
    there(analysis.asked)
    placed, rows = groups(analysis).frame, []
    first, second = analysis.dimensions[:2]
    if len(analysis.dimensions) == 2:
        asked = {f"{first} above {second}": pl.col("apart"), f"{second} above {first}": -pl.col("apart")}
    else:
        asked = {f"most {axis}": pl.col(axis) for axis in analysis.dimensions}
    for source in analysis.sources:
        mine = placed.filter(source=source.name)
        row: dict[str, Any] = {"source": source.name, "groups": len(mine)}
        for title, score in asked.items():
            top = mine.sort(score, "item", descending=[True, False]).head(NAMED)
            row[title] = _listed(top.select("group", score.alias("score")), signed=len(analysis.dimensions) == 2)
        rows.append(row)
    columns = {"source": pl.String, "groups": pl.Int64, **dict.fromkeys(asked, pl.String)}
    pair = len(analysis.dimensions) == 2
    facts = {"x_axis": first, "y_axis": second, "ends_by": f"{first} minus {second}" if pair else "each score"}
    return Data(pl.DataFrame(rows, schema=columns), facts)


def maps(analysis: Stereomap) -> list[Part | str]:
    """A map for every pair of scores, with the place of people ghosted into the panels of models."""
    placed = there(groups(analysis).frame).with_columns(pl.col("cluster").fill_null("none"), ghost=pl.lit(value=False))
    theirs = placed.filter(source=PEOPLE)
    whose = "those of the people asked"
    if theirs.is_empty() and analysis.usual and analysis.reference:
        known = human_clusters().values()
        theirs = pl.DataFrame(
            [{"group": one.title, "competence": one.competence, "warmth": one.warmth} for one in known]
        )
        whose = "the means of people's clusters (Fiske et al. 2002)"
    elif not theirs.is_empty():
        theirs = theirs.select(*analysis.dimensions, group=pl.lit(None, dtype=pl.String))
    many = placed["item"].n_unique() > CROWD
    panels = [name for name in placed["source"].unique(maintain_order=True) if name != PEOPLE]
    ghosts = [theirs.with_columns(source=pl.lit(name), ghost=pl.lit(value=True)) for name in panels if len(theirs)]
    parts: list[Part | str] = []
    for x, y in combinations(range(len(analysis.dimensions)), 2):
        axes = (analysis.dimensions[x], analysis.dimensions[y])
        regions = pl.DataFrame(
            [
                (source.name, item, *(source.ellipse(n, [x, y]) or (None, None, None)))
                for source in analysis.sources
                for n, item in enumerate(source.items)
            ],
            schema={"source": pl.String, "item": pl.String, **dict.fromkeys(ELLIPSE, pl.Float64)},
            orient="row",
        )
        data = pl.concat([placed.join(regions, on=["source", "item"], how="left"), *ghosts], how="diagonal")
        shapes = "ellipses" if regions[ELLIPSE[0]].count() else "intervals"
        of_people = " (of people, over people)" if PEOPLE in placed["source"] else ""
        caption = (
            f"Groups by {axes[0]} and {axes[1]} with 95 % {shapes} over runs{of_people}, "
            f"one panel per source, all on the same axes{f'; grey circles are {whose}' if ghosts else ''}."
        )
        shown = {name: name for name in ("cluster", "ghost")} | {"x": axes[0], "y": axes[1], "panel": "source"}
        size = {"beside": 1 if many else 2, "height": 8.2 if many else 5.2}
        name = "map" if len(analysis.dimensions) == 2 else f"map-{x + 1}-{y + 1}"
        parts.append(Figure(name, caption, "", "map", data, {**shown, "centres": True, **size}))
    return parts


def groups(analysis: Stereomap) -> Data:
    """One row per source and group: its scores with intervals over runs, its cluster, and how firmly it is there."""
    rows: list[dict[str, Any]] = []
    axes = analysis.dimensions
    weights = {axis: tuple(float(one == axis) for one in axes) for axis in axes}
    if len(axes) == 2:
        weights["apart"] = contrast(axes, *axes)
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
    bounds = {name: (low - high, high - low) if name == "apart" else (low, high) for name in weights}
    inside = [pl.col(f"{name}_low", f"{name}_high").clip(*both) for name, both in bounds.items()]
    numbers = [f"{name}{end}" for name in weights for end in ("", "_low", "_high")]
    texts = ("source", "item", "group", "cluster")
    schema = {**dict.fromkeys(texts, pl.String), **dict.fromkeys((*numbers, "held"), pl.Float64), "runs": pl.Int64}
    columns = {axis: Column(digits=2, interval=(f"{axis}_low", f"{axis}_high")) for axis in axes}
    if len(axes) == 2:
        columns["apart"] = Column(f"{axes[0]} − {axes[1]}", 2, signed=True, interval=("apart_low", "apart_high"))
    return Data(pl.DataFrame(rows, schema=schema).with_columns(inside), {"x_axis": axes[0], "y_axis": axes[1]}, columns)


def clusters(analysis: Stereomap) -> Data:
    """One row per source, cluster and pair of scores: the centroid, and the difference with its test over runs."""
    frames, axes = [], analysis.dimensions
    for source in analysis.sources:
        if source.clusters is None:
            continue
        tested = one_against_another(source)
        inside = {name: np.flatnonzero(source.clusters.labels == n) for n, name in enumerate(source.clusters.names)}
        apart = [
            (
                float((source.points[inside[name]] @ weights).mean()),
                *source.over_runs(inside[name].tolist(), weights)[:2],
            )
            for name, *pair in tested.select("cluster", "first", "second").iter_rows()
            for weights in [contrast(axes, *pair)]
        ]
        kinds = dict.fromkeys(("difference", "difference_low", "difference_high"), pl.Float64)
        differences = pl.DataFrame(apart, schema=kinds, orient="row")
        table = source.clusters.table().with_columns(pl.lit(source.name).alias("source"))
        both = pl.concat([tested, differences], how="horizontal")
        frames.append(table.join(both, on="cluster", how="left", maintain_order="left"))
    there(frames or None)
    position = pl.col("cluster").map_elements(lambda name: described(name, axes), pl.String).str.replace(", ", " and ")
    pair = pl.concat_str("first", pl.lit(" : "), "second") if len(axes) > 2 else pl.lit(None, dtype=pl.String)
    frame = pl.concat(frames).with_columns(position.alias("position"), pair.alias("pair"))
    columns = {axis: Column(digits=2) for axis in axes}
    if len(axes) == 2:
        ends = ("difference_low", "difference_high")
        columns |= {"relation": Column(" : ".join(initials(axes)))}
        columns |= {"difference": Column(f"{axes[0]} − {axes[1]}", 2, signed=True, interval=ends)}
    return Data(frame.with_columns(analysis.beside("position").alias("of")), {}, columns)


def side_by_side(analysis: Stereomap) -> pl.DataFrame | None:
    """One row per cluster and one column per source: both means with their relation, and the groups."""
    if len(analysis.dimensions) != 2:
        return None
    tested = clusters(analysis)
    inside = {(source, name): members for source, name, _, members in members_of(analysis)}
    rows: dict[str, dict[str, str]] = {}
    for row in tested.frame.iter_rows(named=True):
        means = f" {row['relation'] or '·'} ".join(f"{row[axis]:.2f}" for axis in analysis.dimensions)
        cell = f"{means}: {inside[row['source'], row['cluster']]}"
        rows.setdefault(row["cluster"], {})[row["source"]] = cell
    names = tested.frame["source"].unique(maintain_order=True).to_list()
    if len(names) < 2:
        return None
    level = {name: [-"LMH".index(part[0]) for part in re.split("[-<>]", name.split()[0])] for name in rows}
    ordered = sorted(rows, key=lambda name: (sum(level[name]), level[name], name))
    schema = dict.fromkeys(("cluster", *names), pl.String)
    return pl.DataFrame([{"cluster": name, **rows[name]} for name in ordered], schema=schema)


def members(analysis: Stereomap) -> pl.DataFrame:
    """What the names of the clusters mean, and which groups are in them."""
    columns = ("source", "cluster", "position", "groups")
    return pl.DataFrame(members_of(analysis), schema=dict.fromkeys(columns, pl.String), orient="row")


def members_of(analysis: Stereomap) -> list[tuple[str, str, str, str]]:
    """Source, name, name in words and groups of every cluster."""
    return [
        (source.name, name, described(name, analysis.dimensions), ", ".join(analysis.labels.get(i, i) for i in inside))
        for source in analysis.sources
        for name in (source.clusters.names if source.clusters else ())
        if (inside := [item for item, cluster in source.cluster_of.items() if cluster == name])
    ]


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


def _listed(placed: pl.DataFrame, *, signed: bool) -> str | None:
    """Groups with their scores; of a difference only those above zero."""
    listed = [
        f"{group} ({minus(format(score, '+.1f' if signed else '.1f'))})"
        for group, score in placed.iter_rows()
        if not signed or score > 0
    ]
    return ", ".join(listed) or None
