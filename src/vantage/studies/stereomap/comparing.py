"""Models beside people: the clusters of both, and one row per model for the whole report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures.intervals import percentile
from vantage.measures.ratings import Floats
from vantage.measures.relations.correlations import coefficient
from vantage.measures.texts.cluster_stability import adjusted_rand, overlaps, rand_by_chance
from vantage.measures.texts.clusters import lloyd
from vantage.measures.texts.composites import question_weights
from vantage.measures.texts.sensitivity import condition_agreement
from vantage.measures.variation.refusals import refusals
from vantage.report.engine import Data, there
from vantage.report.parts import Part
from vantage.report.ruler import wright_map
from vantage.studies.stereomap.analysis import Stereomap
from vantage.studies.stereomap.groups import human_clusters, published_models
from vantage.studies.stereomap.options import USUAL
from vantage.studies.stereomap.places import groups, stability
from vantage.studies.stereomap.placing import ALL, PEOPLE, PlacedGroups, contrast

APART: Final = contrast(USUAL, *USUAL)
"""The weights of competence minus warmth, of which alone the clusters of people are known."""
PUBLISHED: Final = "people in 2002 (means of clusters)"
PERMUTATIONS: Final = 9999


def summary(analysis: Stereomap) -> Data:
    """One row per source: how sure its map is, how it compares with people, and what is refused."""
    there(analysis.asked)
    again = {"estimate": "stability", "low": "stability_low", "high": "stability_high", "held": "held"}
    sure = stability(analysis)
    table = sure.frame.select("source", *(pl.col(old).alias(new) for old, new in again.items()))
    compared, facts = people(analysis), dict(sure.facts)
    if compared is not None:
        facts["order_of"] = " minus ".join(USUAL)
        beside = compared.select("source", pl.col("estimate").alias("people"), "p", "order")
        table = table.join(beside, on="source", how="left", maintain_order="left")
    if analysis.models.is_empty():
        return Data(table, facts)
    refused = refusals(analysis.models, by="rater").select(
        pl.col("rater").alias("source"), pl.col("estimate").alias("refused"), pl.col("unparsed_share").alias("unread")
    )
    return Data(table.join(refused, on="source", how="left", maintain_order="left"), facts)


def people_here(analysis: Stereomap) -> pl.DataFrame | None:
    """How far each model gives the groups the scores that the people of the corpus give them."""
    named = [source for source in analysis.sources if source.name != ALL]
    if len(named) < 2 or not any(source.name == PEOPLE for source in named):
        return None
    scores = pl.concat([one.scores.with_columns(condition=pl.lit(one.name), rater=pl.lit("")) for one in named])
    scores = scores.filter(pl.col("question").is_in(analysis.dimensions))
    agreement = condition_agreement(scores, base=PEOPLE, by="question", seed=analysis.seed)
    return agreement.rename({"condition": "source"}).with_columns(pl.col("source").alias("of"))


def people(analysis: Stereomap) -> pl.DataFrame | None:
    """How each source's clusters compare with those of people, over the groups that have a human reference.

    `estimate` is the adjusted Rand index, `p` its two-sided permutation test against random orders of the groups, of
    which only 5 % exceed `chance_high`; `resampled` is the index over resampled runs, with the range of 95 % of them.
    `order` is Spearman's rho between people's competence minus warmth, one per cluster, and the source's means over
    the same groups.
    """
    if not analysis.reference or not analysis.usual:
        return None
    rows: list[dict[str, Any]] = []
    for source in analysis.sources:
        shared = [n for n, item in enumerate(source.items) if item in analysis.reference]
        row: dict[str, Any] = {"source": source.name, "groups": len(shared)}
        if source.clusters is None or len(shared) < 2:
            rows.append({**row, "reason": source.reason or "fewer than two groups have a human reference"})
            continue
        mine = source.clusters.labels[shared]
        theirs = [analysis.reference[source.items[n]] for n in shared]
        p, by_chance = rand_by_chance(mine, theirs, permutations=PERMUTATIONS, seed=analysis.seed)
        row |= {"estimate": adjusted_rand(mine, theirs), "p": p, "chance_high": by_chance}
        if len(again := _resampled(source, shared, theirs, analysis.seed)):
            low, high = percentile(again)
            row |= {"resampled": float(again.mean()), "resampled_low": low, "resampled_high": high}
        present = [one for one in human_clusters().values() if one.id in theirs]
        if len(present) > 2:
            ours = np.array([source.points[_inside(analysis, source, one.id)].mean(axis=0) @ APART for one in present])
            rho = coefficient(np.array([one.difference for one in present]), ours, "spearman")
            row |= {"order": float(rho) if np.isfinite(rho) else None, "clusters": len(present)}
        rows.append(row)
    numbers = ("estimate", "p", "chance_high", "resampled", "resampled_low", "resampled_high", "order")
    schema = {"source": pl.String, "groups": pl.Int64, **dict.fromkeys(numbers, pl.Float64), "clusters": pl.Int64}
    who = pl.col("source").replace(PEOPLE, "the people asked here").alias("of")
    return pl.DataFrame(rows, schema={**schema, "reason": pl.String}).with_columns(who)


def recovered(analysis: Stereomap) -> pl.DataFrame:
    """For each human cluster: does the source see the same difference, and in which of its clusters are the groups?

    `difference` is the source's competence minus warmth over the groups of the human cluster, with its interval over
    runs. For clusters in which people see a difference, `agreeing` is its size in their direction.
    """
    rows: list[dict[str, Any]] = []
    for source in analysis.sources if analysis.usual else ():
        shared = {item: analysis.reference[item] for item in source.items if item in analysis.reference}
        best = {row["first"]: row for row in overlaps(shared, source.cluster_of).iter_rows(named=True)}
        for cluster in human_clusters().values():
            inside = _inside(analysis, source, cluster.id)
            if not inside:
                continue
            low, high, p = source.over_runs(inside, APART)
            difference = float((source.points[inside] @ APART).mean())
            row = {
                "source": source.name,
                "human": cluster.id,
                "title": cluster.title,
                "groups": len(inside),
                "human_difference": cluster.difference,
                "difference": difference,
                "difference_low": low,
                "difference_high": high,
                "p": p,
                **{name: best.get(cluster.id, {}).get(of) for name, of in _CLOSEST.items()},
            }
            if cluster.relation != "=":
                sign = 1 if cluster.relation == ">" else -1
                bounds = sorted(sign * end for end in (low, high) if end is not None) or (None, None)
                row |= {"agreeing": sign * difference, "agreeing_low": bounds[0], "agreeing_high": bounds[1]}
            rows.append(row)
    frame = there(pl.DataFrame(rows, infer_schema_length=None))
    return frame.with_columns(analysis.beside("title").alias("of"))


def people_map(analysis: Stereomap) -> pl.DataFrame | None:
    """The reference groups, coloured by the cluster in which people put them, and people's cluster means."""
    if not analysis.usual:
        return None
    human = pl.col("item").replace_strict(analysis.reference, default=None, return_dtype=pl.String)
    ours = there(groups(analysis).frame.with_columns(human.alias("human")).drop_nulls("human"))
    theirs = [
        {"source": PUBLISHED, "group": one.title, "competence": one.competence, "warmth": one.warmth, "human": one.id}
        for one in human_clusters().values()
        if one.id in ours["human"]
    ]
    return pl.concat([pl.DataFrame(theirs), ours], how="diagonal")


def people_differences(analysis: Stereomap) -> pl.DataFrame:
    """Competence minus warmth in each human cluster, people's and every source's."""
    differences = recovered(analysis)
    name = pl.concat_str("human", pl.lit(": "), "title").alias("cluster")
    ends = {"low": "difference_low", "high": "difference_high"}
    ours = differences.select(
        "source",
        name,
        pl.col("difference").alias("estimate"),
        *(pl.col(old).cast(pl.Float64).alias(new) for new, old in ends.items()),
    )
    theirs = differences.unique("human", maintain_order=True).select(
        pl.lit(PUBLISHED).alias("source"), name, pl.col("human_difference").alias("estimate")
    )
    return pl.concat([theirs, ours], how="diagonal")


def rulers(analysis: Stereomap) -> list[Part | str] | None:
    """Models and groups on one scale of each dimension, from its questions; null where there is only one model."""
    answered = analysis.models.filter(pl.col("value").is_not_null())
    if answered["rater"].n_unique() < 2:
        return None
    named = answered.with_columns(item=pl.col("item").replace(analysis.labels), kind=pl.lit("model"))
    return [
        wright_map(named.filter(pl.col("question").is_in(list(weights))), axis, f"wright-map-{axis}")
        for axis in analysis.dimensions
        if (weights := question_weights(analysis.instrument, axis)[0])
    ]


def models_of_the_paper(analysis: Stereomap) -> pl.DataFrame | None:
    """The same for the models of Jeoung et al. (2023), from their printed clusters."""
    return published_models() if analysis.reference and analysis.usual else None


_CLOSEST: Final = {"cluster": "second", "shared": "shared", "jaccard": "jaccard"}
"""What is told of the cluster that shares most groups with a human one."""


def _inside(analysis: Stereomap, source: PlacedGroups, cluster: str) -> list[int]:
    """The places of the groups of a human cluster."""
    return [n for n, item in enumerate(source.items) if analysis.reference.get(item) == cluster]


def _resampled(source: PlacedGroups, shared: Sequence[int], theirs: Sequence[str], seed: int) -> Floats:
    """The adjusted Rand index with people of the clusters of every resample of runs."""
    assert source.clusters is not None  # noqa: S101 - asked for sources with clusters only
    k = len(source.clusters.names)
    usable = [one for one in source.replicates if len(np.unique(one, axis=0)) >= k]
    if not usable:
        return np.zeros(0)
    labels, _, _ = lloyd(np.array(usable), k, n_init=10, seed=seed)
    return np.array([adjusted_rand(assigned[list(shared)], theirs) for assigned in labels])
