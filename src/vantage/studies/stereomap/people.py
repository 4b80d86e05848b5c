"""What is known of people: the clusters of Fiske et al. (2002) and the correlations of Cuddy et al. (2007)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from vantage.documents import Document
from vantage.measures.texts.dictionary import Dictionary


@dataclass(frozen=True, slots=True)
class HumanCluster:
    """A cluster of groups as people see them: its means, and whether competence differed from warmth."""

    id: str
    title: str
    competence: float
    warmth: float
    relation: str
    """`>`, `<`, or `=` where the difference was not significant at .001."""

    @property
    def difference(self) -> float:
        """Competence minus warmth."""
        return self.competence - self.warmth


@cache
def _reference() -> Mapping[str, Any]:
    data: Mapping[str, Any] = Document.bundled(__package__, "reference.yaml").data
    return data


def human_clusters() -> dict[str, HumanCluster]:
    """The clusters of Fiske et al. (2002), by id. Means of single groups are not published.

    >>> human_clusters()["HC-LW"].competence, human_clusters()["HC-LW"].relation
    (4.29, '>')
    """
    means = _reference()["clusters"]["means"]
    return {id_: HumanCluster(id_, **told) for id_, told in means.items()}


def human_correlations() -> pl.DataFrame:
    """The correlations of Cuddy et al. (2007) as printed, those in doubt marked with what they should rather be.

    >>> human_correlations().filter("doubtful").select("first", "second", "printed", "otherwise").rows()
    [('competence', 'passive-facilitation', -0.77, 0.77)]
    """
    told = _reference()["correlations"]
    printed = [
        (first, second, value)
        for first, values in told["printed"].items()
        for second, value in zip(told["columns"], values, strict=True)
    ]
    frame = pl.DataFrame(printed, schema=["first", "second", "printed"], orient="row")
    doubts = pl.DataFrame(told["doubtful"])
    found = frame.join(doubts, on=["first", "second"], how="left", maintain_order="left")
    return found.with_columns(pl.col("why").is_not_null().alias("doubtful"))


def published_models() -> pl.DataFrame:
    """How the models of Jeoung et al. (2023) compare with people, from the clusters printed in their table 2.

    The groups that a model refused are left out. `order` is Spearman's rho between people's competence minus warmth of
    each cluster and the mean of the printed centroids of its groups.

    >>> published_models().select("model", "groups", pl.col("estimate").round(2)).rows()
    [('DAVINCI', 24, 0.23), ('GPT-3.5', 24, 0.2), ('BARD', 22, 0.54)]
    """
    from vantage.measures.relations.correlations import coefficient
    from vantage.measures.texts.cluster_stability import adjusted_rand
    from vantage.studies.stereomap.groups import reference_groups

    human = {group.id: group.reference for group in reference_groups()}
    rows = []
    for model, clusters in _reference()["models"]["clusters"].items():
        place = {group: (n, one) for n, one in enumerate(clusters) for group in one["groups"]}
        apart = {group: one["competence"] - one["warmth"] for group, (_, one) in place.items()}
        means = {
            id_: np.mean([value for group, value in apart.items() if human[group] == id_]) for id_ in human_clusters()
        }
        people = np.array([human_clusters()[id_].difference for id_ in means])
        rows.append(
            {
                "model": model,
                "groups": len(place),
                "estimate": adjusted_rand([n for n, _ in place.values()], [human[group] for group in place]),
                "order": coefficient(people, np.array([*means.values()]), "spearman"),
            }
        )
    return pl.DataFrame(rows)


@cache
def seed_dictionary() -> Dictionary:
    """The small open dictionary that comes with the study.

    >>> seed_dictionary().find("hard-working").entries[0].dimension
    'Assertiveness'
    """
    document = Document.bundled(__package__, "seed_dictionary.yaml")
    return Dictionary.of(document.data, document.file)
