"""The map of the demo: where the model puts the groups, and where people put the clusters they belong to."""

from __future__ import annotations

from typing import Final

import polars as pl

from vantage.instruments import Instrument
from vantage.measures.relations.correlate import correlate
from vantage.measures.texts.composites import composites, expected_values
from vantage.report.recipe import Analysis, Data
from vantage.studies.stereomap.people import human_clusters

INSTRUMENT: Final = "stereotype-content:short"
DIMENSIONS: Final = ("competence", "warmth")
MODEL: Final = "The model: one point per group"
PEOPLE: Final = "People (Fiske et al. 2002): means of clusters"


def groups(analysis: Analysis) -> Data | None:
    """One row per group: the model's two scores, the cluster in which people put it, and that cluster's means."""
    instrument = Instrument.load(INSTRUMENT)
    asked = [question.id for question in instrument.questions]
    judged = analysis.corpus.judgments.filter(pl.col("question").is_in(asked)).drop_nulls("value")
    if judged.is_empty():
        return None
    scores = composites(expected_values(judged), instrument).filter(pl.col("question").is_in(DIMENSIONS))
    means = scores.group_by("item", "question").agg(pl.col("value").mean()).pivot("question", values="value")
    clusters = human_clusters().values()
    people = pl.DataFrame(
        [
            {"reference": c.id, "cluster": c.title, "people_competence": c.competence, "people_warmth": c.warmth}
            for c in clusters
        ]
    )
    known = analysis.corpus.items.drop_nulls("reference").join(people, on="reference", maintain_order="left")
    places = {c.id: place for place, c in enumerate(clusters)}
    frame = known.join(means, on="item", how="left", maintain_order="left")
    frame = frame.sort(pl.col("reference").replace_strict(places), "label").select(
        "item", pl.col("label").alias("group"), "cluster", *DIMENSIONS, "people_competence", "people_warmth"
    )
    return Data(frame, {"mapped": len(frame)})


def both_maps(analysis: Analysis) -> pl.DataFrame | None:
    """The clusters of people and the groups of the model, each in a panel of its own."""
    if (found := groups(analysis)) is None:
        return None
    ours = found.frame.select(pl.lit(MODEL).alias("panel"), "group", "cluster", *DIMENSIONS)
    people = found.frame.unique("cluster", maintain_order=True).select(
        pl.lit(PEOPLE).alias("panel"),
        pl.col("cluster").alias("group"),
        "cluster",
        *(pl.col(f"people_{d}").alias(d) for d in DIMENSIONS),
    )
    return pl.concat([people, ours])


def order(analysis: Analysis) -> pl.DataFrame | None:
    """Whether the model orders the groups as people order the clusters they belong to."""
    if (found := groups(analysis)) is None:
        return None
    long = pl.concat(
        found.frame.select(
            "item",
            pl.lit(d).alias("question"),
            pl.lit("model").alias("rater"),
            pl.col(d).alias("value"),
            pl.col(f"people_{d}").alias("people"),
        )
        for d in DIMENSIONS
    )
    return correlate(long, by="question", outside="people", correlation="spearman", seed=analysis.seed)
