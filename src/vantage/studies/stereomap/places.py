"""The map: every group's place, the clusters, how sure they are, and people beside it."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Final

import numpy as np
import polars as pl

from vantage import measures
from vantage.measures import Column
from vantage.measures.relations.correlations import coefficient
from vantage.measures.texts.clusters import described, initials, overlaps
from vantage.report.engine import Data, there
from vantage.report.parts import Figure, Part
from vantage.studies.stereomap.analysis import ALL, PEOPLE, PlacedGroups, Stereomap, one_against_another
from vantage.studies.stereomap.groups import human_clusters

APART: Final = (1.0, -1.0)
"""The weights of competence minus warmth."""
PUBLISHED: Final = "people in 2002 (means of clusters)"
PERMUTATIONS: Final = 9999
CROWD: Final = 40
"""With more groups, a map takes the width of the page."""
ELLIPSE: Final = ("ellipse_width", "ellipse_height", "ellipse_angle")
FEW: Final = 8
"""Fewer runs, resampled, show too little spread."""


def maps(analysis: Stereomap) -> list[Part | str]:
    """A map for every pair of scores, with the place of people ghosted into the panels of models."""
    placed = there(groups(analysis).frame).with_columns(pl.col("cluster").fill_null("none"), ghost=pl.lit(value=False))
    theirs = placed.filter(source=PEOPLE)
    whose = "those of the people asked"
    if theirs.is_empty() and analysis.usual and analysis.reference:
        means = human_clusters().values()
        theirs = pl.DataFrame([{"group": c.title, "competence": c.competence, "warmth": c.warmth} for c in means])
        whose = "the means of people's clusters (Fiske et al. 2002)"
    elif not theirs.is_empty():
        theirs = theirs.select(*analysis.dimensions, group=pl.lit(None, dtype=pl.String))
    many = placed["item"].n_unique() > CROWD
    panels = [name for name in placed["source"].unique(maintain_order=True) if name != PEOPLE]
    ghosts = [theirs.with_columns(source=pl.lit(name), ghost=pl.lit(value=True)) for name in panels if len(theirs)]
    parts: list[Part | str] = []
    for x, y in combinations(range(len(analysis.dimensions)), 2):
        axes = (analysis.dimensions[x], analysis.dimensions[y])
        # The rows of `groups` are those of the sources, group by group.
        each = [one.ellipse(n, [x, y]) or (None,) * 3 for one in analysis.sources for n in range(len(one.items))]
        regions = pl.DataFrame(each, schema=dict.fromkeys(ELLIPSE, pl.Float64), orient="row")
        data = pl.concat([placed.hstack(regions), *ghosts], how="diagonal")
        shapes = "ellipses" if regions[ELLIPSE[0]].count() else "intervals"
        of_people = " (of people, over people)" if PEOPLE in placed["source"] else ""
        sure = f" with 95 % {shapes} over runs{of_people}" if placed[f"{axes[0]}_low"].count() else ""
        grey = f"; grey circles are {whose}" if ghosts else ""
        caption = f"Groups by {axes[0]} and {axes[1]}{sure}, one panel per source, all on the same axes{grey}."
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
        weights["apart"] = APART
    for source in analysis.sources:
        for n, item in enumerate(source.items):
            row: dict[str, Any] = {"source": source.name, "item": item, "group": analysis.labels.get(item, item)}
            for name, weight in weights.items():
                low, high = source.over_runs([n], weight)
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
    axes = analysis.dimensions
    frames = [
        source.clusters.table()
        .join(one_against_another(source), on="cluster", how="left", maintain_order="left")
        .with_columns(pl.lit(source.name).alias("source"))
        for source in analysis.sources
        if source.clusters is not None
    ]
    there(frames or None)
    comma, word = (", ", " and ") if len(axes) == 2 else (", ([^,]+)$", " and $1")
    position = pl.col("cluster").map_elements(lambda name: described(name, axes), pl.String).str.replace(comma, word)
    pair = pl.concat_str("first", pl.lit(" : "), "second") if len(axes) > 2 else pl.lit(None, dtype=pl.String)
    frame = pl.concat(frames, how="diagonal").with_columns(position.alias("position"), pair.alias("pair"))
    columns = {axis: Column(digits=2) for axis in axes}
    if len(axes) == 2:
        columns |= {"relation": Column(" : ".join(initials(axes)))}
        columns |= {"difference": Column(f"{axes[0]} − {axes[1]}", 2, signed=True)}
    return Data(frame.with_columns(analysis.beside("position").alias("of")), {}, columns)


def side_by_side(analysis: Stereomap) -> Data:
    """One row per cluster and one column per source: the means, with the relation of two, and the groups."""
    tested = clusters(analysis).frame.unique(["source", "cluster"], keep="first", maintain_order=True)
    members: dict[tuple[str, str], list[str]] = {}
    for source in analysis.sources:
        for item, name in source.cluster_of.items():
            members.setdefault((source.name, name), []).append(analysis.labels.get(item, item))
    pair = len(analysis.dimensions) == 2
    cells = [
        (f" {row['relation'] or '·'} " if pair else ", ").join(f"{row[axis]:.2f}" for axis in analysis.dimensions)
        + f": {', '.join(members[row['source'], row['cluster']])}"
        for row in tested.iter_rows(named=True)
    ]
    # The highest on all scores come first.
    level = pl.mean_horizontal(analysis.dimensions).mean().over("cluster")
    ordered = tested.with_columns(pl.Series("cell", cells)).sort(level, "cluster", descending=[True, False])
    wide = ordered.pivot("source", index=["cluster", "position"], values="cell")
    shown = wide.select("cluster", "position", *tested["source"].unique(maintain_order=True))
    return Data(shown, {"scores": ", ".join(analysis.dimensions)})


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
    few = [source.runs for source in analysis.sources if source.sure and source.runs < FEW]
    return Data(pl.DataFrame(rows, schema=schema), {"few_runs": min(few, default=None)})


def number_of_clusters(analysis: Stereomap) -> pl.DataFrame | None:
    """The silhouette of each number of clusters, source by source, and how sure the best of them is."""
    frames = []
    for source in analysis.sources:
        if source.clusters is None:
            continue
        fits = measures.k_table(source.points, most=8, seed=analysis.seed)
        best = pl.col("silhouette") == pl.col("silhouette").max()
        clear = pl.col("chosen").filter(best).first()
        frames.append(
            fits.select(
                pl.lit(source.name).alias("source"),
                pl.all(),
                fitting=pl.when(best & clear).then("k"),
                unproved=pl.when(best & ~clear).then("k"),
            )
        )
    return pl.concat(frames) if frames else None


def people_here(analysis: Stereomap) -> pl.DataFrame | None:
    """Each model's scores beside those of the people of the corpus; over groups and, of three or more, people."""
    named = [source for source in analysis.sources if source.name != ALL]
    theirs = next((source for source in named if source.name == PEOPLE), None)
    if len(named) < 2 or theirs is None:
        return None
    scores = pl.concat([one.scores.with_columns(condition=pl.lit(one.name), rater=pl.lit("")) for one in named])
    scores = scores.filter(pl.col("question").is_in(analysis.dimensions))
    agreement = measures.condition_agreement(scores, base=PEOPLE, by="question", seed=analysis.seed)
    rows = [
        {**row, **_differing(source, theirs, row["question"])}
        for row in agreement.rename({"condition": "source"}).iter_rows(named=True)
        for source in named
        if source.name == row["source"]
    ]
    return pl.DataFrame(rows, schema_overrides=agreement.schema, infer_schema_length=None).with_columns(of="source")


def _differing(source: PlacedGroups, people: PlacedGroups, score: str) -> dict[str, float]:
    """The interval of the mean difference from people, over groups and people; nothing where either are few."""
    places = [(source.items.index(item), n) for n, item in enumerate(people.items) if item in source.items]
    axis = source.axes.index(score)
    mine, theirs = source.points[[n for n, _ in places], axis], people.cube[[n for _, n in places], axis]
    apart = mine - np.nanmean(theirs, axis=1)
    over_groups = measures.Spread.without((apart.sum() - apart) / max(len(apart) - 1, 1))
    # Someone who alone judged a group cannot be left out of it.
    others = [measures.mean_over_runs(np.delete(theirs, n, axis=1)[:, None])[:, 0] for n in range(theirs.shape[1])]
    without = [np.nanmean(mine - mean) for mean in others]
    whole = over_groups.plus(measures.Spread.without_raters(np.array(without))) if over_groups else None
    if whole is None or whole.variance <= 0:
        return {}
    gap = measures.Contrast(float(apart.mean()), whole.variance**0.5, whole.freedom)
    return {name: end for name, end in gap.stated(0.95, "difference").items() if name != "difference"}


def people(analysis: Stereomap) -> pl.DataFrame:
    """How each source's clusters compare with those of people, over the groups that have a human reference.

    `estimate` is the adjusted Rand index, with the p of a permutation test; 5 % of random orders exceed `chance_high`.
    `order` is Spearman's rho of competence minus warmth between people's clusters and the source's means.
    """
    rows: list[dict[str, Any]] = []
    for source in _compared(analysis):
        shared = [n for n, item in enumerate(source.items) if item in analysis.reference]
        row: dict[str, Any] = {"source": source.name, "groups": len(shared)}
        if source.clusters is None or len(shared) < 2:
            rows.append({**row, "reason": source.reason or "fewer than two groups have a human reference"})
            continue
        mine = source.clusters.labels[shared]
        theirs = [analysis.reference[source.items[n]] for n in shared]
        tested = measures.rand_by_chance(mine, theirs, permutations=PERMUTATIONS, seed=analysis.seed)
        row |= dict(zip(("estimate", "p", "chance_high"), tested, strict=True))
        present = [one for one in human_clusters().values() if one.id in theirs]
        if len(present) > 2:
            ours = np.array([source.points[_inside(analysis, source, one.id)].mean(axis=0) @ APART for one in present])
            rho = coefficient(np.array([one.difference for one in present]), ours, "spearman")
            row |= {"order": float(rho) if np.isfinite(rho) else None, "clusters": len(present)}
        rows.append(row)
    numbers = dict.fromkeys(("estimate", "p", "chance_high", "order"), pl.Float64)
    schema = {"source": pl.String, "groups": pl.Int64, **numbers, "clusters": pl.Int64, "reason": pl.String}
    who = pl.col("source").replace(PEOPLE, "the people asked here").alias("of")
    return pl.DataFrame(rows, schema=schema).with_columns(who)


def recovered(analysis: Stereomap) -> pl.DataFrame:
    """For each human cluster: does the source see the same difference, and in which of its clusters are the groups?

    `difference` is competence minus warmth over the groups; where people see one, `agreeing` is it in their direction,
    with its interval over groups: runs of one model agree with each other about any map.
    """
    sources, known = _compared(analysis), human_clusters().values()
    rows: list[dict[str, Any]] = []
    for source in sources:
        shared = {item: analysis.reference[item] for item in source.items if item in analysis.reference}
        best = {row["first"]: row for row in overlaps(shared, source.cluster_of).iter_rows(named=True)}
        for cluster in known:
            if not (inside := _inside(analysis, source, cluster.id)):
                continue
            apart = source.points[inside] @ APART
            difference = float(apart.mean())
            row = {"source": source.name, "human": cluster.id, "title": cluster.title, "groups": len(inside)}
            row |= {"difference": difference, "units": len(inside)}
            closest = best.get(cluster.id, {})
            row |= {"cluster": closest.get("second"), **{name: closest.get(name) for name in ("shared", "jaccard")}}
            if cluster.relation != "=":
                sign = 1 if cluster.relation == ">" else -1
                low, high = measures.student_interval(sign * apart)
                row |= {"agreeing": sign * difference, "agreeing_low": low, "agreeing_high": high}
            rows.append(row)
    seen = {row["human"] for row in rows}
    theirs = [
        {"source": PUBLISHED, "human": one.id, "title": one.title, "difference": one.difference}
        for one in known
        if one.id in seen
    ]
    frame = there(pl.DataFrame([*rows, *theirs], infer_schema_length=None))
    return frame.with_columns(pl.concat_str("human", pl.lit(": "), "title").alias("of"))


def _compared(analysis: Stereomap) -> list[PlacedGroups]:
    """The sources, where the map is that of people in 2002 and groups of theirs are on it."""
    return analysis.sources if there((analysis.usual and analysis.reference) or None) else []


def _inside(analysis: Stereomap, source: PlacedGroups, cluster: str) -> list[int]:
    return [n for n, item in enumerate(source.items) if analysis.reference.get(item) == cluster]
