"""People as a source, and maps of other scores than competence and warmth, with a known structure."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml

from tests.studies.stereomap.planted import recorded
from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.measures import student_interval
from vantage.report.parts import Figure
from vantage.studies import run
from vantage.studies.base import find
from vantage.studies.stereomap import places
from vantage.studies.stereomap.analysis import PEOPLE, PlacedGroups, Stereomap
from vantage.studies.stereomap.elicitation import axes_of
from vantage.studies.stereomap.groups import SocialGroup, groups_corpus, human_clusters, reference_groups

SHORT = Instrument.load("stereotype-content:short")
ABC = Instrument.from_document(
    yaml.safe_load(
        """
id: agency-beliefs-communion
version: 1
title: Agency, beliefs and communion
description: Three dimensions of groups.
guidelines: Say how society sees the group.
fields: [{name: group, title: Group, kind: target}]
scales: {degree: {level: ordinal, from: 1, to: 7}}
questions:
  - {id: powerful, title: Powerful, ask: 'How powerful are {group}?', scale: degree}
  - {id: dominant, title: Dominant, ask: 'How dominant are {group}?', scale: degree}
  - {id: modern, title: Modern, ask: 'How modern are {group}?', scale: degree}
  - {id: liberal, title: Liberal, ask: 'How liberal are {group}?', scale: degree}
  - {id: likable, title: Likable, ask: 'How likable are {group}?', scale: degree}
  - {id: sincere, title: Sincere, ask: 'How sincere are {group}?', scale: degree}
aggregates:
  - {id: agency, title: Agency, mean_of: [powerful, dominant]}
  - {id: beliefs, title: Beliefs, mean_of: [modern, liberal]}
  - {id: communion, title: Communion, mean_of: [likable, sincere]}
"""
    )
)


def people(n: int = 12, *, groups: tuple[SocialGroup, ...] = reference_groups(), seed: int = 0) -> Corpus:
    """Persons who see every group where its human cluster is, each a little more or less severe."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(n):
        severity = rng.normal(0, 0.2)
        for group in groups:
            human = human_clusters()[group.reference]
            for axis, true in (("competence", human.competence), ("warmth", human.warmth)):
                members = next(one.members for one in SHORT.aggregates if one.id == axis)
                for question in members:
                    value = float(np.clip(np.rint(true + severity + rng.normal(0, 0.6)), 1, 5))
                    rows.append((group.id, question, f"p{person:02}", value))
    schema = ["item", "question", "rater", "value"]
    raters = pl.DataFrame({"rater": [f"p{person:02}" for person in range(n)], "kind": "person"})
    return groups_corpus(groups, SHORT).add(pl.DataFrame(rows, schema=schema, orient="row"), raters)


@pytest.mark.slow
def test_twelve_persons_are_one_panel_with_intervals_and_refuse_nothing(tmp_path: Path) -> None:
    report = run("stereomap", data=people().write(tmp_path / "people"), resamples=20)
    found = {table.name: table.frame for table in report.result.tables}
    assert set(found["groups"]["source"]) == {"people"}
    assert found["groups"]["runs"].unique().to_list() == [12]
    assert "refusals" not in found
    assert not any("refus" in finding.text for finding in report.result.findings)
    truth = {group.id: human_clusters()[group.reference] for group in reference_groups()}
    inside = [
        row["competence_low"] <= truth[row["item"]].competence <= row["competence_high"]
        for row in found["groups"].iter_rows(named=True)
    ]
    assert np.mean(inside) > 0.75
    assert found["people"]["estimate"].item() > 0.8
    assert any("the people asked here" in finding.text for finding in report.result.findings)


@pytest.mark.slow
def test_people_stand_beside_models_and_are_not_pooled_with_them(tmp_path: Path) -> None:
    theirs = people(8).write(tmp_path / "people")
    paths = [
        recorded(tmp_path / f"{name}.parquet", "short", runs=4, keywords=False, seed=n) for n, name in enumerate("ab")
    ]
    backwards = recorded(tmp_path / "c.parquet", "short", runs=4, keywords=False, inverted=True)
    report = run(
        "stereomap",
        models=[f"recorded:{path}" for path in (*paths, backwards)],
        groups="reference",
        form="short",
        first="nothing",
        runs=4,
        resamples=20,
        people=str(theirs),
    )
    found = {table.name: table.frame for table in report.result.tables}
    assert found["groups"]["source"].unique(maintain_order=True).to_list()[0] == "people"
    assert found["refusals"]["rater"].to_list() == [f"recorded:{name}.parquet" for name in "abc"]
    means = dict(found["groups"].filter(item="rich").select("source", "warmth").iter_rows())
    models = [means[f"recorded:{name}.parquet"] for name in "abc"]
    assert means["all models"] == pytest.approx(np.mean(models))
    rho = {(row["source"], row["question"]): row for row in found["people-here"].iter_rows(named=True)}
    assert rho["recorded:a.parquet", "warmth"]["low"] > 0
    assert rho["recorded:c.parquet", "warmth"]["high"] < 0
    beside = rho["recorded:a.parquet", "competence"]
    assert beside["difference_low"] < beside["difference"] < beside["difference_high"]
    columns = found["side-by-side"].columns
    assert columns == ["cluster", "position", "people", *(f"recorded:{name}.parquet" for name in "abc"), "all models"]
    # The same place has the same name for people and for models that see it where they do.
    both = found["side-by-side"].select("people", "recorded:a.parquet").drop_nulls()
    assert len(both) >= 4
    (drawn,) = (figure for figure in report.result.figures if figure.name == "map")
    assert drawn.data.filter("ghost")["source"].n_unique() == 4


def sides(persons: int, seed: int, severity: float = 0.5) -> tuple[PlacedGroups, PlacedGroups]:
    """A model that places groups where people do, and persons who are more or less severe."""
    rng = np.random.default_rng(seed)
    items, truth = tuple(f"g{n}" for n in range(24)), rng.uniform(2, 4, (24, 1))
    theirs = truth + rng.normal(0, severity, persons) + rng.normal(0, 0.4, (24, persons))
    cubes = {"m": truth + rng.normal(0, 0.3, (24, 1)), PEOPLE: theirs}
    model, people = (
        PlacedGroups(name, ("warmth",), pl.DataFrame(), items, cube[:, None], np.zeros((0, 24, 1)))
        for name, cube in cubes.items()
    )
    return model, people


def test_the_difference_from_people_counts_who_was_asked() -> None:
    inside, narrow = 0, 0
    for seed in range(100):
        model, people = sides(8, seed)
        ends = places._differing(model, people, "warmth")
        inside += ends["difference_low"] < 0 < ends["difference_high"]
        low, high = student_interval((model.points - people.points)[:, 0])
        narrow += low is not None and high is not None and low < 0 < high
    assert inside >= 90
    assert narrow < 70
    # Two people say nothing of others.
    assert places._differing(*sides(2, 0), "warmth") == {}


def test_people_who_judged_something_else_are_refused(tmp_path: Path) -> None:
    others = (SocialGroup("cooks", "ship's cooks", reference="MC-MW"),)
    path = recorded(tmp_path / "a.parquet", "short", runs=1, keywords=False)
    with pytest.raises(InputError, match="judged none of the groups"):
        run(
            "stereomap",
            models=[f"recorded:{path}"],
            groups="reference",
            form="short",
            first="nothing",
            runs=1,
            people=str(people(2, groups=others).write(tmp_path / "people")),
        )


def test_agency_beliefs_and_communion_have_maps_clusters_and_tests() -> None:
    rng = np.random.default_rng(0)
    centres = {"a": (6.0, 2.0, 2.0), "b": (2.0, 6.0, 4.0), "c": (2.0, 2.0, 6.0)}
    rows = [
        (f"{name}{group}", question, "m", sample, float(np.clip(np.rint(centre[axis] + rng.normal(0, 0.5)), 1, 7)))
        for name, centre in centres.items()
        for group in range(5)
        for axis, aggregate in enumerate(ABC.aggregates)
        for question in aggregate.members
        for sample in range(6)
    ]
    groups = [SocialGroup(f"{name}{group}", f"{name}{group}") for name in centres for group in range(5)]
    judged = pl.DataFrame(rows, schema=["item", "question", "rater", "sample", "value"], orient="row")
    corpus = groups_corpus(groups, ABC).add(judged, pl.DataFrame({"rater": ["m"], "kind": ["model"]}))
    analysis = Stereomap(corpus, find("stereomap").options(k=3, resamples=20))
    assert analysis.dimensions == ("agency", "beliefs", "communion")
    placed = places.groups(analysis).frame
    found = dict(placed.select("item", "cluster").iter_rows())
    assert {found[f"a{n}"] for n in range(5)} == {"HA-LB-LC"}
    assert {found[f"b{n}"] for n in range(5)} == {"LA-HB-MC"}
    tested = places.clusters(analysis)
    assert tested is not None
    relation = {
        (row["cluster"], row["first"], row["second"]): row["relation"] for row in tested.frame.iter_rows(named=True)
    }
    assert relation["HA-LB-LC", "agency", "beliefs"] == ">"
    assert relation["LA-HB-MC", "agency", "communion"] == "<"
    assert relation["LA-LB-HC", "agency", "beliefs"] == "="
    maps = places.maps(analysis)
    assert [(part.options["x"], part.options["y"]) for part in maps if isinstance(part, Figure)] == [
        ("agency", "beliefs"),
        ("agency", "communion"),
        ("beliefs", "communion"),
    ]


@pytest.mark.slow
def test_the_whole_report_of_three_scores(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    groups = [SocialGroup(f"g{n}", f"g{n}") for n in range(8)]
    rows = [
        (group.id, question.id, "m", sample, float(rng.integers(1, 8)))
        for group in groups
        for question in ABC.questions
        for sample in range(3)
    ]
    judged = pl.DataFrame(rows, schema=["item", "question", "rater", "sample", "value"], orient="row")
    corpus = groups_corpus(groups, ABC).add(judged, pl.DataFrame({"rater": ["m"], "kind": ["model"]}))
    report = run("stereomap", data=corpus.write(tmp_path / "abc"), k=2, resamples=10, out=tmp_path / "out")
    found = {table.name: table.frame for table in report.result.tables}
    assert {"agency", "beliefs", "communion"} <= set(found["groups"].columns)
    assert "people" not in found
    page = (tmp_path / "out" / "report.html").read_text("utf-8").split("<footer")[0]
    # The titles of works that are cited have the word.
    said = re.sub(r'<ul class="references">.*?</ul>', "", page, flags=re.DOTALL)
    assert "competence" not in said.casefold()


def test_scores_can_be_chosen_and_unknown_ones_are_named() -> None:
    extended = Instrument.load("stereotype-content:extended")
    assert axes_of(extended) == ("competence", "warmth")
    assert axes_of(extended, "morality, sociability") == ("morality", "sociability")
    with pytest.raises(InputError, match="did you mean 'morality'"):
        axes_of(extended, "moralty, warmth")
    with pytest.raises(InputError, match="gives 1 scores"):
        axes_of(extended, "warmth")
