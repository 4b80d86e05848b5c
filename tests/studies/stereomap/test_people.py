"""The human reference, and the published models beside it."""

from __future__ import annotations

import pytest
from sklearn.metrics import adjusted_rand_score

from vantage.documents import Document
from vantage.studies.stereomap.groups import (
    human_clusters,
    human_correlations,
    reference_groups,
)

REFERENCE = Document.bundled("vantage.studies.stereomap", "reference.yaml").data


def test_people_are_known_by_cluster_only_and_the_doubtful_sign_is_flagged() -> None:
    clusters = human_clusters()
    assert [id_ for id_, one in clusters.items() if one.relation != "="] == ["HC-LW", "LC-HW", "LC-LW"]
    assert all((one.difference > 0) == (one.relation == ">") for one in clusters.values() if one.relation != "=")
    told = human_correlations()
    assert len(told) == 24
    assert told.filter("doubtful").select("first", "second", "printed", "otherwise").rows() == [
        ("competence", "passive-facilitation", -0.77, 0.77)
    ]


def test_the_printed_clusters_of_models_hold_every_group_once() -> None:
    known = {group.id for group in reference_groups()}
    for model, clusters in REFERENCE["models"]["clusters"].items():
        groups = [group for one in clusters for group in one["groups"]]
        assert len(groups) == len(set(groups))
        missing = known - set(groups)
        assert set(groups) <= known
        assert missing == ({"welfare-recipients", "white"} if model == "BARD" else set())


@pytest.mark.parametrize(("model", "printed"), [("DAVINCI", 0.23), ("GPT-3.5", 0.20), ("BARD", 0.54)])
def test_the_agreement_of_published_models_is_the_one_in_the_documentation(model: str, printed: float) -> None:
    human = {group.id: group.reference for group in reference_groups()}
    clusters = REFERENCE["models"]["clusters"][model]
    pairs = [(n, human[group]) for n, one in enumerate(clusters) for group in one["groups"]]
    assert adjusted_rand_score([n for n, _ in pairs], [id_ for _, id_ in pairs]) == pytest.approx(printed, abs=0.005)
