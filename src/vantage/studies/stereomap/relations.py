"""What goes with a group's place: feelings, behaviour, status and competition, and the other dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final

import polars as pl

from vantage.measures import Resampling, adjusted, correlate, expected_values, item_means, mean_with_interval
from vantage.measures.texts.composites import extremes
from vantage.report.engine import Data, there
from vantage.studies.stereomap.analysis import ALL, PEOPLE, PlacedGroups, Stereomap
from vantage.studies.stereomap.elicitation import USUAL
from vantage.studies.stereomap.groups import human_correlations

EMOTIONS: Final = ("contempt", "admiration", "pity", "envy")
BEHAVIOURS: Final = ("active-facilitation", "active-harm", "passive-facilitation", "passive-harm")
STRUCTURE: Final = ("status", "competition")
_FELT: Final = {name: n for n, name in enumerate((*EMOTIONS, *BEHAVIOURS))}


def correlation_pairs(known: Sequence[str], axes: Sequence[str] = USUAL) -> list[tuple[str, str]]:
    """The pairs of scores that are looked at: predictors first."""
    pairs = [(one, two) for one in (*axes, *EMOTIONS) for two in BEHAVIOURS]
    pairs += [(one, two) for one in axes for two in EMOTIONS]
    pairs += [(one, two) for one in STRUCTURE for two in axes]
    if tuple(axes) != USUAL:
        pairs += combinations(axes, 2)
    return [pair for pair in pairs if set(pair) <= set(known)]


def correlations(analysis: Stereomap) -> Data:
    """Spearman correlations over groups, corrected over the pairs of a source, beside those of people.

    `human` is the printed value of Cuddy et al. (2007); where its sign is `doubtful`, there is no `difference`.
    """
    frames = [_correlated(source, analysis.seed) for source in analysis.sources]
    ours = there(pl.concat(there(frames or None), how="vertical_relaxed"))
    joined = ours.join(human_correlations(), on=["first", "second"], how="left", maintain_order="left")
    apart = pl.when(~pl.col("doubtful")).then(pl.col("estimate") - pl.col("printed"))
    star = pl.when(pl.col("p_adjusted") < 0.05).then(pl.lit("*")).otherwise(pl.lit(""))
    frame = joined.with_columns(
        apart.alias("difference"),
        pl.concat_str(pl.col("estimate").round(2).cast(pl.Decimal(10, 2)), star).alias("shown"),
        analysis.beside("first").alias("of"),
    ).rename({"printed": "human"})
    doubts = frame.drop_nulls("why").unique("why", maintain_order=True).select("first", "second", "why")
    doubtful = " ".join(f"{one} × {two}: {why}" for one, two, why in doubts.iter_rows())
    return Data(frame, {"doubts": doubtful or None})


def feelings(analysis: Stereomap) -> pl.DataFrame:
    """Feelings and behaviour towards the groups of each cluster: their mean with its interval, and their variance."""
    means = there(_feelings(analysis.sources))
    how, rows = Resampling(seed=analysis.seed), []
    for (source, cluster, score), part in means.group_by("source", "cluster", "score", maintain_order=True):
        mean = mean_with_interval(part["item"], part["mean"].to_numpy(), how)
        head = {"source": source, "cluster": cluster, "score": score, "groups": len(part)}
        rows.append({**head, **mean, "variance": part["mean"].var()})
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(analysis.beside("cluster").alias("of"))


def feelings_spread(analysis: Stereomap) -> Data:
    """Feelings and behaviour towards single groups, by cluster, of one source: the only one, or all together."""
    spread = there(_feelings(analysis.sources[-1:]))
    name = pl.concat_str("score", pl.lit(" · "), "cluster").alias("of")
    spread = spread.sort(pl.col("score").replace_strict(_FELT), "cluster", maintain_order=True).with_columns(name)
    return Data(spread, {"spread_of": analysis.sources[-1].name})


def other_dimensions(analysis: Stereomap) -> pl.DataFrame:
    """The groups at the ends of the other dimensions, highest and lowest beside each other."""
    scored = {member for aggregate in analysis.instrument.aggregates for member in aggregate.members}
    alone = [question.id for question in analysis.instrument.questions if question.id not in scored]
    whole = [one.id for one in analysis.instrument.aggregates if one.id not in {*scored, *analysis.dimensions, *_FELT}]
    asked = expected_values(analysis.asked).filter(pl.col("question").is_in(alone))
    columns, frames = ("item", "question", "rater", "sample", "value"), []
    for source in analysis.sources:
        mine = asked.filter(pl.col("rater") != PEOPLE) if source.name == ALL else asked.filter(rater=source.name)
        scores = source.scores.filter(pl.col("question").is_in(whole))
        frames += [one.select(*columns, source=pl.lit(source.name)) for one in (mine, scores)]
    values = there(pl.concat(there(frames or None), how="vertical_relaxed").drop_nulls("value"))
    by = ("source", "question")
    listed = extremes(item_means(values, by=by), by=by, count=analysis.options.listed)
    listed = listed.with_columns(pl.col("item").replace(analysis.labels).alias("group"))
    return listed.pivot("end", index=[*by, "place"], values=["group", "mean", "variance", "tied"])


def _correlated(source: PlacedGroups, seed: int) -> pl.DataFrame:
    """The correlations of a source's scores, corrected after Holm (1979) over its pairs."""
    pairs = correlation_pairs(source.scores["question"].unique().to_list(), source.axes)
    wanted = sorted({name for pair in pairs for name in pair})
    # Runs of several models may have the same number; a mean over all of them is meant.
    mine = source.scores.filter(pl.col("question").is_in(wanted)).with_columns(
        pl.lit(source.name).alias("rater"), pl.int_range(pl.len()).over("item", "question").alias("sample")
    )
    correlated = correlate(mine, correlation="spearman", correction="none", seed=seed)
    turned = correlated.rename({"first": "second", "second": "first"}).select(correlated.columns)
    asked = pl.DataFrame(pairs, schema={"first": pl.String, "second": pl.String}, orient="row")
    rows = asked.join(pl.concat([correlated, turned]), on=["first", "second"], how="left", maintain_order="left")
    return rows.select(
        pl.lit(source.name).alias("source"),
        *("first", "second", "estimate", "low", "high", "p"),
        pl.Series("p_adjusted", adjusted(rows["p"].to_list(), "holm"), dtype=pl.Float64),
        *("items", "reason"),
    )


def _feelings(sources: Sequence[PlacedGroups]) -> pl.DataFrame:
    frames = [pl.DataFrame()]
    for source in sources:
        place = {name: n for n, name in enumerate(source.clusters.names if source.clusters else ())}
        felt = source.scores.filter(pl.col("question").is_in(list(_FELT))).group_by("item", score="question")
        means = felt.agg(pl.col("value").mean().alias("mean")).with_columns(
            source=pl.lit(source.name),
            cluster=pl.col("item").replace_strict(source.cluster_of, default=None, return_dtype=pl.String),
        )
        order = (pl.col("cluster").replace_strict(place, default=0), pl.col("score").replace_strict(_FELT, default=0))
        frames.append(means.drop_nulls().sort(*order, "item"))
    return pl.concat(frames, how="diagonal")
