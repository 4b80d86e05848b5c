"""What else goes with a group's place: feelings, behaviour, status and competition, and what people's answers say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures.cluster_stability import adjusted_rand, overlaps
from vantage.measures.correlate import correlate
from vantage.measures.correlations import coefficient
from vantage.measures.intervals import percentile
from vantage.measures.multiplicity import Correction, adjusted
from vantage.studies.stereomap.people import human_clusters, human_correlations
from vantage.studies.stereomap.placing import AXES, Source

EMOTIONS: Final = ("contempt", "admiration", "pity", "envy")
BEHAVIOURS: Final = ("active-facilitation", "active-harm", "passive-facilitation", "passive-harm")
STRUCTURE: Final = ("status", "competition")


def correlation_pairs(known: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs of scores that are looked at: predictors first."""
    pairs = [(one, two) for one in (*AXES, *EMOTIONS) for two in BEHAVIOURS]
    pairs += [(one, two) for one in AXES for two in EMOTIONS]
    pairs += [(one, two) for one in STRUCTURE for two in AXES]
    return [pair for pair in pairs if set(pair) <= set(known)]


def correlations(sources: Sequence[Source], *, correction: Correction = "holm", seed: int = 0) -> pl.DataFrame:
    """Spearman correlations over groups, with intervals over groups, and those of people beside them.

    The correction is over all pairs of a source. `human` is the value of Cuddy et al. (2007) as it is printed;
    `doubtful` says that its sign is in doubt, and `difference` is left out for those.
    """
    found = []
    for source in sources:
        pairs = correlation_pairs(source.scores["question"].unique().to_list())
        wanted = sorted({name for pair in pairs for name in pair})
        mine = source.scores.filter(pl.col("question").is_in(wanted)).with_columns(pl.lit(source.name).alias("rater"))
        # Runs of several models may have the same number; a mean over all of them is meant.
        table = correlate(_numbered(mine), correlation="spearman", correction="none", seed=seed)
        either = {frozenset((row["first"], row["second"])): row for row in table.iter_rows(named=True)}
        rows = [{**either[frozenset(pair)], "first": pair[0], "second": pair[1]} for pair in pairs]
        for row, p in zip(rows, adjusted([row["p"] for row in rows], correction), strict=True):
            row |= {"source": source.name, "p_adjusted": p}
        found += rows
    kept = ["source", "first", "second", "estimate", "low", "high", "p", "p_adjusted", "items", "reason"]
    types = {**dict.fromkeys(("estimate", "low", "high", "p", "p_adjusted"), pl.Float64), "items": pl.Int64}
    rows = [{name: row[name] for name in kept} for row in found]
    texts = dict.fromkeys(("source", "first", "second", "reason"), pl.String)
    ours = pl.DataFrame(rows, schema={name: {**types, **texts}[name] for name in kept})
    joined = ours.join(human_correlations(), on=["first", "second"], how="left", maintain_order="left")
    apart = pl.when(~pl.col("doubtful")).then(pl.col("estimate") - pl.col("human"))
    return joined.rename({"printed": "human"}).with_columns(apart.alias("difference"))


def by_cluster(
    sources: Sequence[Source], scores: Sequence[str], *, resamples: int = 1000, seed: int = 0
) -> pl.DataFrame:
    """The mean of scores over the groups of each cluster, with the variance between groups and intervals over them."""
    rows: list[dict[str, Any]] = []
    for source in sources:
        cluster = source.cluster_of()
        means = group_means(source)
        for name in source.clusters.names if source.clusters else ():
            for score in scores:
                mine = means.filter(
                    pl.col("question") == score, pl.col("item").is_in([i for i, c in cluster.items() if c == name])
                )
                values = mine["mean"].drop_nulls().to_numpy()
                row: dict[str, Any] = {"source": source.name, "cluster": name, "score": score, "groups": len(values)}
                if len(values):
                    rng = np.random.default_rng(seed)
                    drawn = values[rng.integers(0, len(values), (resamples, len(values)))].mean(axis=1)
                    low, high = percentile(drawn) if len(values) > 1 else (None, None)
                    variance = float(values.var(ddof=1)) if len(values) > 1 else None
                    row |= {"estimate": float(values.mean()), "low": low, "high": high, "variance": variance}
                else:
                    row["reason"] = "no group of the cluster has this score"
                rows.append(row)
    numbers = dict.fromkeys(("estimate", "low", "high", "variance"), pl.Float64)
    schema = {**dict.fromkeys(("source", "cluster", "score"), pl.String), "groups": pl.Int64, **numbers}
    return pl.DataFrame(rows, schema={**schema, "reason": pl.String})


def group_means(source: Source) -> pl.DataFrame:
    """Every score of every group: mean over runs and their variance."""
    value = pl.col("value")
    return (
        source.scores.group_by("item", "question")
        .agg(value.mean().alias("mean"), value.var().alias("variance"), value.count().cast(pl.Int64).alias("runs"))
        .with_columns(pl.lit(source.name).alias("source"))
        .sort("question", "item")
    )


def people_table(sources: Sequence[Source], reference: Mapping[str, str], *, seed: int = 0) -> pl.DataFrame:
    """How each source's clusters compare with those of people, over the groups that have a human reference.

    `estimate` is the adjusted Rand index with its interval over resampled runs; `chance_high` is what only 5 % of
    random orders of the groups exceed; `order` is Spearman's rho between people's values of competence minus warmth,
    one per cluster, and the source's means over the same groups.
    """
    rows: list[dict[str, Any]] = []
    humans = human_clusters()
    for source in sources:
        shared = [item for item in source.items if item in reference]
        row: dict[str, Any] = {"source": source.name, "groups": len(shared)}
        if source.clusters is None or len(shared) < 2:
            rows.append({**row, "reason": source.reason or "fewer than two groups have a human reference"})
            continue
        mine, theirs = [source.clusters.of(item) for item in shared], [reference[item] for item in shared]
        rng = np.random.default_rng(seed)
        chance = [adjusted_rand(mine, rng.permutation(theirs)) for _ in range(1000)]
        row |= {"estimate": adjusted_rand(mine, theirs), "chance_high": float(np.quantile(chance, 0.95))}
        if len(source.replicates):
            row["low"], row["high"] = _resampled_rand(source, shared, theirs, seed)
        present = [id_ for id_ in humans if id_ in theirs]
        if len(present) > 2:
            ours = np.array([_difference(source, reference, id_).mean() for id_ in present])
            people = np.array([humans[id_].difference for id_ in present])
            rho = coefficient(people, ours, "spearman")
            row |= {"order": float(rho) if np.isfinite(rho) else None, "clusters": len(present)}
        rows.append(row)
    numbers = dict.fromkeys(("estimate", "low", "high", "chance_high", "order"), pl.Float64)
    schema = {"source": pl.String, "groups": pl.Int64, **numbers, "clusters": pl.Int64, "reason": pl.String}
    return pl.DataFrame(rows, schema=schema)


def recovered_table(sources: Sequence[Source], reference: Mapping[str, str]) -> pl.DataFrame:
    """For each human cluster: does the source see the same difference, and in which of its clusters are the groups?

    `difference` is the source's competence minus warmth over the groups of the human cluster, with its interval over
    resampled runs. `recovered` says, for clusters in which people see a difference, whether the interval lies on the
    same side of zero; without an interval it is not known.
    """
    rows: list[dict[str, Any]] = []
    for source in sources:
        shared = {item: reference[item] for item in source.items if item in reference}
        best = {row["first"]: row for row in overlaps(shared, source.cluster_of()).iter_rows(named=True)}
        for id_, cluster in human_clusters().items():
            inside = [n for n, item in enumerate(source.items) if reference.get(item) == id_]
            if not inside:
                continue
            low, high = None, None
            if len(source.replicates):
                each = source.replicates[:, inside].mean(axis=1)
                low, high = percentile(each[:, 0] - each[:, 1])
            recovered = None
            if cluster.relation != "=" and low is not None and high is not None:
                recovered = low > 0 if cluster.difference > 0 else high < 0
            overlap = best.get(id_, {})
            rows.append(
                {
                    "source": source.name,
                    "human": id_,
                    "title": cluster.title,
                    "mixed": cluster.mixed,
                    "groups": len(inside),
                    "human_difference": cluster.difference,
                    "difference": float(_difference(source, reference, id_).mean()),
                    "difference_low": low,
                    "difference_high": high,
                    "recovered": recovered,
                    "cluster": overlap.get("second"),
                    "shared": overlap.get("shared"),
                    "jaccard": overlap.get("jaccard"),
                }
            )
    numbers = ("human_difference", "difference", "difference_low", "difference_high", "jaccard")
    types: dict[str, Any] = dict.fromkeys(("source", "human", "title"), pl.String)
    types |= {"mixed": pl.Boolean, "groups": pl.Int64, **dict.fromkeys(numbers[:4], pl.Float64)}
    types |= {"recovered": pl.Boolean, "cluster": pl.String, "shared": pl.Int64, "jaccard": pl.Float64}
    return pl.DataFrame(rows, schema=types)


def _difference(source: Source, reference: Mapping[str, str], cluster: str) -> np.ndarray[Any, Any]:
    inside = [n for n, item in enumerate(source.items) if reference.get(item) == cluster]
    points = source.points[inside]
    return np.asarray(points[:, 0] - points[:, 1])


def _resampled_rand(
    source: Source, shared: Sequence[str], theirs: Sequence[str], seed: int
) -> tuple[float | None, float | None]:
    from vantage.measures.clusters import lloyd

    assert source.clusters is not None  # noqa: S101 - asked for sources with clusters only
    k = len(source.clusters.names)
    usable = [one for one in source.replicates if len(np.unique(one, axis=0)) >= k]
    if not usable:
        return None, None
    rows = [source.items.index(item) for item in shared]
    labels, _, _ = lloyd(np.array(usable), k, n_init=10, seed=seed)
    return percentile(np.array([adjusted_rand(found[rows], theirs) for found in labels]))


def _numbered(scores: pl.DataFrame) -> pl.DataFrame:
    """Scores of several raters under one name, each run with a number of its own."""
    run = pl.int_range(pl.len()).over("item", "question").cast(pl.Int64)
    return scores.with_columns(run.alias("sample"))
