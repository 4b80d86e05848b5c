"""The demo: a real if very small model maps 24 social groups, and synthetic raters show what the measures say.

It runs offline in a few minutes and shows every part of Vantage once. Nothing in it is a finding about people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from vantage.corpora import About, Corpus
from vantage.corpora.bundled import demo_corpus
from vantage.instruments import Instrument
from vantage.measures.composites import composites, expected_values
from vantage.measures.correlate import correlate
from vantage.raters.models.base import ModelError
from vantage.report.agreement import agreement, conspicuous
from vantage.report.parts import Column, Figure, Finding, Result, Section, Table
from vantage.studies.base import Context, Study, option
from vantage.studies.stereomap.groups import groups_corpus, reference_groups
from vantage.studies.stereomap.people import human_clusters

INSTRUMENT: Final = "stereotype-content:short"
DIMENSIONS: Final = ("competence", "warmth")
SYNTHETIC: Final = (
    "The ratings of sentences in this report are synthetic: a program made them, so that the measures have something "
    "to measure. They say nothing about people."
)
TINY: Final = (
    "The map comes from a model with 135 million parameters. Its answers are for demonstration: they show that the "
    "machinery works, not how anyone sees these groups."
)
METHOD: Final = (
    "The model was asked, in the short form of the stereotype content questionnaire (Fiske et al. 2002), how American "
    "society sees each group: one attribute at a time, on a scale from 1 (not at all) to 5 (extremely). Used is not "
    "its most probable answer but the expected value of its distribution over the five options, after taking off what "
    "an option is given whatever the group (calibration). Competence is the mean of eight attributes, warmth of seven."
)


@dataclass(frozen=True)
class Options:
    """What can be changed about the demo."""

    groups: int = option(0, "how many of the 24 groups are asked about; 0 for all of them")


def collect(context: Context[Options]) -> Corpus:
    """The groups, judged by option scoring, and the bundled sentences with their synthetic ratings."""
    instrument = Instrument.load(INSTRUMENT)
    groups = groups_corpus(reference_groups()[: context.options.groups or None], instrument)
    asked = [question.id for question in instrument.questions if question.id in _members(instrument)]
    try:
        groups = context.rate(groups, context.raters("scoring"), instrument, questions=asked)
    except ModelError as error:
        # Everything but the map can be shown without a model.
        context.warn(f"No map could be drawn: {error}")
    sentences = demo_corpus()
    corpus = sentences.merge(groups)
    corpus.about = About(
        name="demo",
        title="social groups, and sentences with synthetic ratings",
        source="bundled with Vantage",
        licence="Apache-2.0",
        language="en",
        notes=(*sentences.about.notes, *groups.about.notes),
    )
    return corpus


def analyse(corpus: Corpus, context: Context[Options]) -> Result:
    """The map beside people's, and agreement and reliability of the synthetic raters."""
    people = corpus.filter(kind="person")
    agreed, first = agreement(people, seed=context.seed, who="the synthetic raters")
    raters, second = conspicuous(people)
    synthetic = (
        "Thirty sentences about neighbours, judged by nine synthetic raters, one of whom answers without reading."
    )
    sections = [
        Section("Agreement and reliability of synthetic raters", [synthetic], agreed.parts),
        Section("Which synthetic rater answers without reading?", [], raters.parts),
    ]
    findings = [
        *first[:1],
        *(Finding(one.sentence.replace(" raters", " synthetic raters"), one.numbers) for one in second),
    ]
    frame = _groups(corpus)
    if frame["warmth"].null_count() == len(frame):
        return Result(sections, findings, [SYNTHETIC])
    related = _relations(frame, context.seed)
    intro = (
        "People tend to see groups along two dimensions: how warm and how competent their members seem. Fiske, Cuddy, "
        "Glick and Xu (2002) asked people in the United States about these groups and found five clusters. The map "
        "shows where the model puts the groups, beside the clusters as people see them."
    )
    mapped = Section(
        f"{len(frame)} groups between warmth and competence", [intro], [_map(frame), related, _table(frame)]
    )
    return Result([mapped, *sections], [_finding(related.frame), *findings], [TINY, SYNTHETIC], [METHOD])


def _groups(corpus: Corpus) -> pl.DataFrame:
    """One row per group: the model's two scores, the cluster in which people put it, and that cluster's means."""
    instrument = Instrument.load(INSTRUMENT)
    clusters = human_clusters()
    judged = corpus.judgments.filter(pl.col("question").is_in(sorted(_members(instrument))))
    scores = composites(expected_values(judged), instrument) if len(judged) else judged
    means = [
        scores.filter(pl.col("question") == d).group_by("item").agg(pl.col("value").mean().alias(d)) for d in DIMENSIONS
    ]
    frame = corpus.items.filter(pl.col("reference").is_not_null()).select("item", "label", "reference")
    for one in means:
        frame = frame.join(one, on="item", how="left", maintain_order="left")
    people = pl.DataFrame(
        [
            {"reference": c.id, "cluster": c.title, "people_competence": c.competence, "people_warmth": c.warmth}
            for c in clusters.values()
        ]
    )
    frame = frame.join(people, on="reference", maintain_order="left")
    places = {id_: place for place, id_ in enumerate(clusters)}
    return frame.sort(pl.col("reference").replace_strict(places), "label").select(
        "item", pl.col("label").alias("group"), "cluster", *DIMENSIONS, "people_competence", "people_warmth"
    )


def _relations(frame: pl.DataFrame, seed: int) -> Table:
    """Whether the model orders the groups as people order the clusters they belong to."""
    long = pl.concat(
        frame.select(
            "item",
            pl.lit(d).alias("question"),
            pl.lit("model").alias("rater"),
            pl.col(d).alias("value"),
            pl.col(f"people_{d}").alias("people"),
        )
        for d in DIMENSIONS
    )
    found = correlate(long, by="question", outside="people", correlation="spearman", seed=seed)
    return Table(
        "people",
        "Rank correlation (Spearman) over groups of the model's scores with the means of people's clusters, with 95 % "
        "intervals (bootstrap over groups).",
        found,
        {
            "question": "dimension",
            "estimate": Column("correlation", digits=2),
            "p": Column(digits=3),
            "items": "groups",
        },
        ("question", "estimate", "p", "items"),
        ("question",),
        ["1: the model orders the groups as people do; 0: the two orders have nothing to do with each other."],
    )


def _finding(related: pl.DataFrame) -> Finding:
    """What the correlations say, and no more than that: a direction only where interval and test agree on one."""
    rows = {row["question"]: row for row in related.iter_rows(named=True)}
    numbers: dict[str, Any] = {f"{d}_{n}": rows[d][n] for d in DIMENSIONS for n in ("estimate", "low", "high")}
    clear = [d for d in DIMENSIONS if rows[d]["p"] is not None and rows[d]["p"] < 0.05 and rows[d]["low"] is not None]
    like = [d for d in clear if rows[d]["low"] > 0]
    unlike = [d for d in clear if rows[d]["high"] < 0]
    if like:
        said = f"In {' and '.join(like)} the small model orders the groups somewhat as people do"
    elif unlike:
        said = f"In {' and '.join(unlike)} the small model orders the groups the other way round than people do"
    else:
        said = "Nothing shows that the small model sees the groups as people do"
    told = [f"{{{d}_estimate:.2f}} in {d} (95 % interval {{{d}_low:.2f}} to {{{d}_high:.2f}})" for d in DIMENSIONS]
    return Finding(f"{said}: its scores correlate with people's {told[0]} and {told[1]}.", numbers)


def _map(frame: pl.DataFrame) -> Figure:
    ours, theirs = "The model: one point per group", "People (Fiske et al. 2002): means of clusters"
    present = [cluster for cluster in human_clusters().values() if cluster.title in set(frame["cluster"])]
    clusters = pl.DataFrame(
        [
            {"panel": theirs, "group": c.title, "cluster": c.title, "competence": c.competence, "warmth": c.warmth}
            for c in present
        ]
    )
    groups = frame.select(pl.lit(ours).alias("panel"), "group", "cluster", *DIMENSIONS)
    highest = {d: frame.sort(d, descending=True, nulls_last=True)["group"][0] for d in DIMENSIONS}
    in_words = "; ".join(f"{c.title} at competence {c.competence}, warmth {c.warmth}" for c in present)
    return Figure(
        "map",
        "Left: the clusters as people see them; only their means are published. Right: the groups as the model sees "
        "them, in the colour of the cluster in which people put them. Both are on the scale from 1 to 5, but the axes "
        "differ, since the model uses very little of it.",
        f"Two maps, competence from left to right and warmth from bottom to top. Left people's clusters: {in_words}. "
        f"Right the model's {len(frame)} groups: {highest['competence']} have the highest competence, "
        f"{highest['warmth']} the highest warmth. The table below has all numbers.",
        "map",
        pl.concat([clusters, groups]),
        {"cluster": "cluster", "panel": "panel", "own_axes": True, "height": 4.2},
    )


def _table(frame: pl.DataFrame) -> Table:
    model = {d: Column(f"{d}, model", digits=2) for d in DIMENSIONS}
    people = {f"people_{d}": Column(f"{d}, people", digits=2) for d in DIMENSIONS}
    return Table(
        "groups",
        "The groups: the cluster in which people put them, the model's scores, and the cluster's means among people.",
        frame.drop("item"),
        {"cluster": "people's cluster", **model, **people},
        keys=("group",),
        notes=["On the scale from 1 (not at all) to 5 (extremely). People's values are those of the whole cluster."],
    )


def _members(instrument: Instrument) -> set[str]:
    """The questions that make warmth and competence."""
    return {member for score in instrument.aggregates if score.id in DIMENSIONS for member in score.members}


STUDY: Final = Study(
    "demo",
    "A first look: a small model and synthetic raters",
    (
        "Where does a very small language model put social groups between warmth and competence, and where do people?",
        "How far do raters agree, and whose answers should be looked at?",
    ),
    Options,
    collect,
    analyse,
    default_models=("embedded",),
)
