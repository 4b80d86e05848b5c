"""The groups: the published list, the human reference, and lists of one's own."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.studies.stereomap.groups import (
    groups_corpus,
    human_clusters,
    published_groups,
    read_groups,
    reference_groups,
    seed_dictionary,
)

SLUR = "retarded"


def test_the_published_list_is_complete_and_no_group_occurs_twice() -> None:
    groups = published_groups()
    printed = [group.published for group in groups if group.published]
    assert len(printed) == 98
    assert len({group.group.casefold() for group in groups}) == len(groups) == 99
    assert len({group.id for group in groups}) == 99


def test_typing_errors_are_set_right_and_the_original_stays_as_an_alias() -> None:
    by_published = {group.published: group for group in published_groups()}
    assert by_published["MuslimArtists"].group == "artists"
    assert by_published["Blinds"].group == "blind people"
    assert by_published["Middle-Easterns"].group == "Middle Eastern people"
    assert "Blinds" in by_published["Blinds"].names


def test_nobody_is_named_by_a_bare_adjective_or_a_slur() -> None:
    for group in published_groups():
        assert group.group.casefold() not in {"black", "white", "poor", "rich", "gay", "disabled", "young", "homeless"}
        assert SLUR not in " ".join(group.names).casefold()


def test_the_reference_has_the_24_groups_of_the_five_clusters() -> None:
    sizes = pl.Series([group.reference for group in reference_groups()]).value_counts()
    assert dict(sizes.iter_rows()) == {"HC-LW": 6, "LC-HW": 3, "LC-LW": 3, "HC-HW": 5, "MC-MW": 7}
    assert {group.reference for group in reference_groups()} == set(human_clusters())


def test_names_in_a_list_are_recognised_and_keep_their_wording() -> None:
    nurses, poor, cooks = read_groups("nurses, Poor, ship's cooks")
    assert (nurses.id, nurses.theme) == ("nurses", "occupation")
    assert (poor.id, poor.group, poor.reference) == ("poor", "Poor", "LC-LW")
    assert "people living in poverty" in poor.names
    assert (cooks.id, cooks.reference) == ("ship-s-cooks", "")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "own.csv",
            "group,label,aliases,theme\nharbour pilots,pilots,pilots of harbours; port pilots,sea\nnurses,,,\n",
        ),
        ("own.txt", "harbour pilots\n\nnurses\n"),
        ("own.jsonl", '{"group": "harbour pilots"}\n{"group": "nurses"}\n'),
    ],
)
def test_files_of_ones_own(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text, "utf-8")
    pilots, nurses = read_groups(file)
    assert (pilots.id, pilots.group, nurses.published) == ("harbour-pilots", "harbour pilots", "Nurses")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("own.csv", "group,lable\nnurses,x\n", "column 'lable'.*did you mean 'label'"),
        ("own.csv", "label\nnurses\n", "no column 'group'"),
        ("own.csv", "group,label\nnurses,x\n,y\n", "row 3.*no name"),
        ("own.csv", "group\nnurses\nNurses\n", "'Nurses' occurs twice \\(entries 1 and 2\\)"),
        ("own.csv", "group\nDisabled people\nDisabled\n", "occurs twice"),
        ("own.txt", "\n", "no groups"),
    ],
)
def test_bad_files_are_told_in_a_sentence(tmp_path: Path, name: str, text: str, says: str) -> None:
    file = tmp_path / name
    file.write_text(text, "utf-8")
    with pytest.raises(InputError, match=says):
        read_groups(file)


@pytest.mark.parametrize("source", ["", " , ", "nurses, nurses", "missing.csv"])
def test_bad_lists_are_told_in_a_sentence(source: str) -> None:
    with pytest.raises(InputError):
        read_groups(source)


def test_the_corpus_asks_in_the_words_that_were_chosen() -> None:
    instrument = Instrument.load("stereotype-content:short")
    ours = groups_corpus(reference_groups(), instrument).items
    theirs = groups_corpus(reference_groups(), instrument, published_names=True).items
    assert "people experiencing homelessness" in ours["group"].to_list()
    assert "Homeless" in theirs["group"].to_list()
    assert ours["item"].to_list() == theirs["item"].to_list()


def test_the_seed_dictionary_is_sound() -> None:
    seed = seed_dictionary()
    assert not seed.notes
    assert len(seed.words) > 400
    assert {"Sociability", "Morality", "Ability", "Assertiveness", "Status"} <= seed.directed
    assert "Emotion" not in seed.directed
    for group in published_groups():
        assert group.group.casefold() not in seed.words
