"""The sections on places: the map, how sure it is, and people's map beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from vantage.measures.clusters import described
from vantage.report.parts import Column, Figure, Section, Table
from vantage.studies.stereomap.people import human_clusters, published_models
from vantage.studies.stereomap.placing import AXES, group_table, k_tables, stability_table

if TYPE_CHECKING:
    from vantage.studies.stereomap.sections import Analysis

CROWD: Final = 40
"""So many names fit into half of the page."""
PEOPLE: Final = "people (means of clusters)"


def place_section(analysis: Analysis) -> Section:
    """Which groups are placed where."""
    title = "Where groups stand"
    groups = group_table(analysis.sources, analysis.labels)
    if groups.is_empty():
        return Section(title, ["No group has both scores, so there is no map."])
    clusters = analysis.tested
    two = Column(digits=2)
    parts: list[Table | Figure] = [
        Figure(
            "map",
            "Groups by competence and warmth, one panel per model and one for all of them where there are several.",
            f"Scatter of {groups['item'].n_unique()} groups by competence and warmth, coloured by cluster.",
            "map",
            groups.select("source", "group", *AXES, pl.col("cluster").fill_null("none")),
            {"panel": "source", "cluster": "cluster", "centres": True, "own_axes": True, **_room(groups)},
        ),
        Table(
            "groups",
            "Every group's scores with 95 % intervals over runs, its cluster, and how often it stays there.",
            groups,
            {
                **{axis: Column(digits=2, interval=(f"{axis}_low", f"{axis}_high")) for axis in AXES},
                "held": Column("stays in cluster", percent=True, digits=0),
            },
            shown=("source", "group", *AXES, "cluster", "held", "runs"),
            keys=("source", "item"),
        ),
    ]
    if not clusters.is_empty():
        told = clusters.with_columns(pl.col("cluster").map_elements(described, pl.String).alias("position"))
        parts.append(
            Table(
                "clusters",
                "Clusters by position, with competence minus warmth and its paired test over runs.",
                told,
                {
                    "competence": two,
                    "warmth": two,
                    "difference": Column(
                        "competence − warmth", 2, signed=True, interval=("difference_low", "difference_high")
                    ),
                    "dz": Column("effect dz", 1, interval=("dz_low", "dz_high")),
                    "p_holm": Column("p (Holm)", 3),
                    "relation": "C : W",
                    "items": "groups",
                },
                shown=(
                    *("source", "cluster", "items", "competence", "warmth", "difference", "dz", "p_holm"),
                    *("relation", "runs", "reason"),
                ),
                keys=("source", "cluster"),
                notes=(
                    "Difference: 95 % interval over resampled runs. dz: mean difference over its standard deviation "
                    "between runs. C : W at p < .05 after Holm; = means that no difference was shown, not that there "
                    "is none.",
                ),
            )
        )
        members = told.select("source", "cluster", "position", "groups")
        caption = "What the names of the clusters mean, and which groups are in them."
        parts.append(Table("cluster-members", caption, members, keys=("source", "cluster")))
    return Section(title, [], parts)


def _room(groups: pl.DataFrame) -> dict[str, float]:
    """How large the panels are: the names of many groups need the width of the page."""
    most = groups.group_by("source").len()["len"].max()
    return {"beside": 1, "height": 8.2} if isinstance(most, int) and most > CROWD else {"beside": 2, "height": 5.2}


def sure_section(analysis: Analysis) -> Section | None:
    """How far the clusters can be relied on."""
    if not any(source.clusters for source in analysis.sources):
        return None
    stable = stability_table(analysis.sources)
    counts = k_tables(analysis.sources, seed=analysis.seed)
    three = Column(digits=3)
    parts: list[Table | Figure] = [
        Table(
            "stability",
            "Agreement (adjusted Rand index) of clusters from resampled runs with those shown, and from single starts.",
            stable,
            {
                "estimate": Column("resampled runs", 2),
                "starts": Column("single starts", 2),
                "held": Column("groups that stay", percent=True, digits=0),
            },
            keys=("source",),
        ),
        Table(
            "number-of-clusters",
            "How well each number of clusters fits: silhouette (higher is better) and gap with its standard error.",
            counts,
            {"inertia": Column(digits=2), "silhouette": three, "gap": three, "gap_error": Column("gap error", 3)},
            keys=("source", "k"),
            notes=(
                "Chosen: the smallest k whose gap is not below that of k + 1 less its error (Tibshirani et al. 2001). "
                "Where clusters fill a square evenly the rule stops early; look at the largest gap and silhouette too.",
            ),
        ),
    ]
    return Section("How sure the map is", [], parts)


def people_section(analysis: Analysis) -> Section | None:
    """How it compares with people."""
    if not analysis.reference:
        return Section("Compared with people", ["None of the groups has a human reference."])
    table, recovered = analysis.people, analysis.recovered
    if recovered.is_empty():
        return Section("Compared with people", ["No group with a human reference has both scores."])
    drawn = recovered.select(
        "source",
        pl.concat_str("human", pl.lit(": "), "title").alias("cluster"),
        pl.col("difference").alias("estimate"),
        pl.col("difference_low").alias("low"),
        pl.col("difference_high").alias("high"),
    )
    people = recovered.unique("human", maintain_order=True).select(
        pl.lit(PEOPLE).alias("source"),
        pl.concat_str("human", pl.lit(": "), "title").alias("cluster"),
        pl.col("human_difference").alias("estimate"),
        *(pl.lit(None, dtype=pl.Float64).alias(end) for end in ("low", "high")),
    )
    placed = group_table(analysis.sources, analysis.labels).filter(pl.col("item").is_in([*analysis.reference]))
    human = human_clusters()
    beside = pl.DataFrame(
        [
            {"source": PEOPLE, "group": one.title, **{axis: getattr(one, axis) for axis in AXES}, "human": id_}
            for id_, one in human.items()
            if id_ in set(analysis.reference.values())
        ]
    )
    mapped = placed.select("source", "group", *AXES, pl.col("item").replace_strict(analysis.reference).alias("human"))
    parts: list[Table | Figure] = [
        Figure(
            "people-map",
            "The groups of Fiske et al. (2002), coloured by the cluster in which people put them; people's own means "
            "are known by cluster only.",
            "Scatter of the reference groups by competence and warmth beside the five cluster means of people.",
            "map",
            pl.concat([beside, mapped]),
            {"panel": "source", "cluster": "human", "own_axes": True, "height": 4.2},
        ),
        Figure(
            "people-differences",
            "Competence minus warmth of the groups in each human cluster, with 95 % intervals over runs.",
            "One line per human cluster: people's difference and that of each source.",
            "points",
            pl.concat([people, drawn]),
            {"category": "cluster", "series": "source", "label": "competence − warmth", "reference": 0.0},
        ),
        Table(
            "people",
            "Agreement of clusters with those of people, over the groups that have a human reference.",
            table,
            {
                "estimate": Column("adjusted Rand index", 2),
                "chance_high": Column("95 % of random orders below", 2),
                "order": Column("order of C − W (rho)", 2),
            },
            keys=("source",),
            notes=("rho is over means of the human clusters, five at most: a very small sample.",),
        ),
        Table(
            "recovered",
            "Which human clusters a source recovers: its difference, and its cluster that shares most groups.",
            recovered,
            {
                "human_difference": Column("people's C − W", 2, signed=True),
                "difference": Column("C − W", 2, signed=True, interval=("difference_low", "difference_high")),
                "jaccard": Column("overlap (Jaccard)", 2),
                "cluster": "closest cluster",
                "human": "human cluster",
            },
            keys=("source", "human"),
        ),
    ]
    parts.append(
        Table(
            "published-models",
            "For orientation: the same for the three models of Jeoung et al. (2023), from the clusters of table 2.",
            published_models(),
            {"estimate": Column("adjusted Rand index", 2), "order": Column("order of C − W (rho)", 2)},
            keys=("model",),
        )
    )
    return Section(
        "Compared with people",
        ["Means of single groups were not published, so people and models can be compared by cluster only."],
        parts,
    )
