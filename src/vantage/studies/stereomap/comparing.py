"""What else goes with a group's place: the clusters of people, feelings, behaviour, status, and other dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures.cluster_stability import adjusted_rand, overlaps, rand_by_chance
from vantage.measures.clusters import lloyd
from vantage.measures.composites import expected_values, extremes, item_means
from vantage.measures.correlate import correlate
from vantage.measures.correlations import coefficient
from vantage.measures.intervals import percentile
from vantage.measures.multiplicity import adjusted
from vantage.measures.ratings import Floats
from vantage.measures.refusals import refusals
from vantage.report.recipe import Data
from vantage.studies.stereomap.analysis import Stereomap
from vantage.studies.stereomap.people import human_clusters, human_correlations, published_models
from vantage.studies.stereomap.places import groups, stability
from vantage.studies.stereomap.placing import ALL, APART, AXES, Source

EMOTIONS: Final = ("contempt", "admiration", "pity", "envy")
BEHAVIOURS: Final = ("active-facilitation", "active-harm", "passive-facilitation", "passive-harm")
STRUCTURE: Final = ("status", "competition")
OTHERS: Final = ("traditional", "conservative", "wealthy", "high-status")
PEOPLE: Final = "people (means of clusters)"
PERMUTATIONS: Final = 9999
RESAMPLES: Final = 1000


def glance(analysis: Stereomap) -> pl.DataFrame | None:
    """One row per source: how sure its map is, how it compares with people, and what is refused."""
    if analysis.asked.is_empty():
        return None
    again = {"estimate": "stability", "low": "stability_low", "high": "stability_high", "held": "held"}
    found = stability(analysis).frame.select("source", *(pl.col(old).alias(new) for old, new in again.items()))
    compared = people(analysis)
    if compared is not None:
        told = compared.select("source", pl.col("estimate").alias("people"), "p", "order")
        found = found.join(told, on="source", how="left", maintain_order="left")
    refused = refusals(analysis.asked, by="rater").select(
        pl.col("rater").alias("source"), pl.col("estimate").alias("refused"), pl.col("unparsed_share").alias("unread")
    )
    return found.join(refused, on="source", how="left", maintain_order="left")


def people(analysis: Stereomap) -> pl.DataFrame | None:
    """How each source's clusters compare with those of people, over the groups that have a human reference.

    `estimate` is the adjusted Rand index, `p` its two-sided permutation test against random orders of the groups, of
    which only 5 % exceed `chance_high`; `resampled` is the index over resampled runs, with the range of 95 % of them.
    `order` is Spearman's rho between people's competence minus warmth, one per cluster, and the source's means over
    the same groups.
    """
    if not analysis.reference:
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
        p, high = rand_by_chance(mine, theirs, permutations=PERMUTATIONS, seed=analysis.seed)
        row |= {"estimate": adjusted_rand(mine, theirs), "p": p, "chance_high": high}
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
    return pl.DataFrame(rows, schema={**schema, "reason": pl.String})


def recovered(analysis: Stereomap) -> pl.DataFrame | None:
    """For each human cluster: does the source see the same difference, and in which of its clusters are the groups?

    `difference` is the source's competence minus warmth over the groups of the human cluster, with its interval over
    runs. For clusters in which people see a difference, `agreeing` is its size in their direction.
    """
    rows: list[dict[str, Any]] = []
    for source in analysis.sources:
        shared = {item: analysis.reference[item] for item in source.items if item in analysis.reference}
        best = {row["first"]: row for row in overlaps(shared, source.cluster_of).iter_rows(named=True)}
        for cluster in human_clusters().values():
            inside = _inside(analysis, source, cluster.id)
            if not inside:
                continue
            low, high, p = source.over_runs(inside)
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
    return (
        pl.DataFrame(rows, infer_schema_length=None).with_columns(analysis.beside("human").alias("of"))
        if rows
        else None
    )


def people_map(analysis: Stereomap) -> pl.DataFrame | None:
    """The reference groups, coloured by the cluster in which people put them, and people's cluster means."""
    human = pl.col("item").replace_strict(analysis.reference, default=None, return_dtype=pl.String)
    ours = groups(analysis).with_columns(human.alias("human")).drop_nulls("human")
    if ours.is_empty():
        return None
    theirs = [
        {"source": PEOPLE, "group": one.title, "competence": one.competence, "warmth": one.warmth, "human": one.id}
        for one in human_clusters().values()
        if one.id in ours["human"]
    ]
    return pl.concat([pl.DataFrame(theirs), ours], how="diagonal")


def people_differences(analysis: Stereomap) -> pl.DataFrame | None:
    """Competence minus warmth in each human cluster, people's and every source's."""
    if (found := recovered(analysis)) is None:
        return None
    name = pl.concat_str("human", pl.lit(": "), "title").alias("cluster")
    ends = {"low": "difference_low", "high": "difference_high"}
    ours = found.select(
        "source",
        name,
        pl.col("difference").alias("estimate"),
        *(pl.col(old).cast(pl.Float64).alias(new) for new, old in ends.items()),
    )
    theirs = found.unique("human", maintain_order=True).select(
        pl.lit(PEOPLE).alias("source"), name, pl.col("human_difference").alias("estimate")
    )
    return pl.concat([theirs, ours], how="diagonal")


def models_of_the_paper(analysis: Stereomap) -> pl.DataFrame | None:
    """The same for the models of Jeoung et al. (2023), from their printed clusters."""
    return published_models() if analysis.reference else None


def correlation_pairs(known: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs of scores that are looked at: predictors first."""
    pairs = [(one, two) for one in (*AXES, *EMOTIONS) for two in BEHAVIOURS]
    pairs += [(one, two) for one in AXES for two in EMOTIONS]
    pairs += [(one, two) for one in STRUCTURE for two in AXES]
    return [pair for pair in pairs if set(pair) <= set(known)]


def correlations(analysis: Stereomap) -> Data | None:
    """Spearman correlations over groups, with intervals over groups, and those of people beside them.

    The correction is over all pairs of a source. `human` is the value of Cuddy et al. (2007) as it is printed;
    `doubtful` says that its sign is in doubt, and `difference` is left out for those.
    """
    found = [_correlated(source, analysis.seed) for source in analysis.sources]
    if not found or (ours := pl.concat(found)).is_empty():
        return None
    joined = ours.join(human_correlations(), on=["first", "second"], how="left", maintain_order="left")
    apart = pl.when(~pl.col("doubtful")).then(pl.col("estimate") - pl.col("printed"))
    star = pl.when(pl.col("p_adjusted") < 0.05).then(pl.lit("*")).otherwise(pl.lit(""))
    frame = joined.with_columns(
        apart.alias("difference"),
        pl.concat_str(pl.col("estimate").round(2), star).alias("shown"),
        analysis.beside("first").alias("of"),
    ).rename({"printed": "human"})
    doubts = frame.drop_nulls("why").unique("why", maintain_order=True).select("first", "second", "why")
    told = " ".join(f"{one} × {two}: {why}" for one, two, why in doubts.iter_rows())
    return Data(frame, {"doubts": told or None})


def feelings(analysis: Stereomap) -> pl.DataFrame | None:
    """Feelings and behaviour towards the groups of each cluster: their mean with its interval, and their variance."""
    means = _feelings(analysis.sources)
    if means.is_empty():
        return None
    rows = []
    for key, part in means.group_by("source", "cluster", "score", maintain_order=True):
        values = part["mean"].to_numpy()
        rng = np.random.default_rng(analysis.seed)
        drawn = values[rng.integers(0, len(values), (RESAMPLES, len(values)))].mean(axis=1)
        low, high = percentile(drawn) if len(values) > 1 else (None, None)
        variance = float(values.var(ddof=1)) if len(values) > 1 else None
        rows.append((*key, len(values), float(values.mean()), low, high, variance))
    texts = dict.fromkeys(("source", "cluster", "score"), pl.String)
    numbers = dict.fromkeys(("estimate", "low", "high", "variance"), pl.Float64)
    frame = pl.DataFrame(rows, schema={**texts, "groups": pl.Int64, **numbers}, orient="row")
    return frame.with_columns(analysis.beside("cluster").alias("of"))


def feelings_spread(analysis: Stereomap) -> Data | None:
    """Feelings and behaviour towards single groups, by cluster, of one source: the only one, or all together."""
    spread = _feelings(analysis.sources[-1:])
    if spread.is_empty():
        return None
    name = pl.concat_str("score", pl.lit(" · "), "cluster").alias("of")
    spread = spread.sort(pl.col("score").replace_strict(_FELT), "cluster", maintain_order=True).with_columns(name)
    return Data(spread, {"spread_of": analysis.sources[-1].name})


def other_dimensions(analysis: Stereomap) -> pl.DataFrame | None:
    """The groups at the ends of the other dimensions, highest and lowest beside each other."""
    frames = []
    asked = expected_values(analysis.asked).filter(pl.col("question").is_in(OTHERS))
    for source in analysis.sources:
        mine = asked if source.name == ALL else asked.filter(rater=source.name)
        scores = source.scores.filter(pl.col("question").is_in(STRUCTURE))
        plain = mine.with_columns(pl.col("status").cast(pl.String)).select(scores.columns)
        both = pl.concat([plain, scores], how="vertical_relaxed")
        frames.append(both.with_columns(pl.lit(source.name).alias("source")))
    told = pl.concat(frames).drop_nulls("value") if frames else pl.DataFrame()
    if told.is_empty():
        return None
    by = ("source", "question")
    listed = extremes(item_means(told, by=by), by=by, count=analysis.options.listed)
    listed = listed.with_columns(pl.col("item").replace(analysis.labels).alias("group"))
    keys = [*by, "place"]
    highest, lowest = (
        listed.filter(end=end).select(
            *keys, *(pl.col(name).alias(f"{end}_{name}") for name in ("group", "mean", "variance", "tied"))
        )
        for end in ("highest", "lowest")
    )
    return highest.join(lowest, on=keys, how="full", coalesce=True, maintain_order="left_right")


_FELT: Final = {name: n for n, name in enumerate((*EMOTIONS, *BEHAVIOURS))}
_CLOSEST: Final = {"cluster": "second", "shared": "shared", "jaccard": "jaccard"}
"""What is told of the cluster that shares most groups with a human one."""


def _inside(analysis: Stereomap, source: Source, cluster: str) -> list[int]:
    """The places of the groups of a human cluster."""
    return [n for n, item in enumerate(source.items) if analysis.reference.get(item) == cluster]


def _resampled(source: Source, shared: Sequence[int], theirs: Sequence[str], seed: int) -> Floats:
    """The adjusted Rand index with people of the clusters of every resample of runs."""
    assert source.clusters is not None  # noqa: S101 - asked for sources with clusters only
    k = len(source.clusters.names)
    usable = [one for one in source.replicates if len(np.unique(one, axis=0)) >= k]
    labels = lloyd(np.array(usable), k, n_init=10, seed=seed)[0] if usable else []
    return np.array([adjusted_rand(found[list(shared)], theirs) for found in labels])


def _correlated(source: Source, seed: int) -> pl.DataFrame:
    """The correlations of a source's scores, corrected after Holm (1979) over its pairs."""
    pairs = correlation_pairs(source.scores["question"].unique().to_list())
    wanted = sorted({name for pair in pairs for name in pair})
    # Runs of several models may have the same number; a mean over all of them is meant.
    mine = source.scores.filter(pl.col("question").is_in(wanted)).with_columns(
        pl.lit(source.name).alias("rater"), pl.int_range(pl.len()).over("item", "question").alias("sample")
    )
    found = correlate(mine, correlation="spearman", correction="none", seed=seed)
    turned = found.rename({"first": "second", "second": "first"}).select(found.columns)
    asked = pl.DataFrame(pairs, schema={"first": pl.String, "second": pl.String}, orient="row")
    rows = asked.join(pl.concat([found, turned]), on=["first", "second"], how="left", maintain_order="left")
    return rows.select(
        pl.lit(source.name).alias("source"),
        *("first", "second", "estimate", "low", "high", "p"),
        pl.Series("p_adjusted", adjusted(rows["p"].to_list(), "holm"), dtype=pl.Float64),
        *("items", "reason"),
    )


def _feelings(sources: Sequence[Source]) -> pl.DataFrame:
    """The mean feelings and behaviour over runs towards every group that is in a cluster."""
    found = []
    for source in sources:
        place = {name: n for n, name in enumerate(source.clusters.names if source.clusters else ())}
        means = source.scores.group_by("item", "question").agg(pl.col("value").mean().alias("mean"))
        cluster = pl.col("item").replace_strict(source.cluster_of, default=None, return_dtype=pl.String)
        told = means.select(
            pl.lit(source.name).alias("source"),
            cluster.alias("cluster"),
            pl.col("question").alias("score"),
            "item",
            "mean",
        )
        told = told.filter(pl.col("score").is_in(list(_FELT))).drop_nulls()
        order = (
            pl.col(name).replace_strict(known, default=0) for name, known in (("cluster", place), ("score", _FELT))
        )
        found.append(told.sort(*order, "item"))
    return pl.concat(found) if found else pl.DataFrame()
