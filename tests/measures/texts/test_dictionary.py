"""Words on dimensions: reading dictionaries, and finding words in them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from vantage.errors import InputError
from vantage.measures.texts.dictionary import Dictionary, available, plain

SMALL = Dictionary.of(
    {
        "Sociability": {"high": ["friendly", "good-natured", "fun loving"], "low": ["cold"]},
        "Morality": {"high": ["honourable"], "low": ["criminal"]},
        "Assertiveness": {"high": ["hardworking", "risk taker"], "low": ["lazy"]},
        "Inhabitant": ["Asian"],
        "Ability": {"high": ["leader"]},
    }
)
needs_lemmas = pytest.mark.skipif(not available(), reason="the extra text (lemminflect) is not installed")


@pytest.mark.parametrize(
    ("word", "stage", "entry"),
    [
        ("Friendly", "exact", "friendly"),
        ("ASIAN", "exact", "asian"),
        ("hard-working", "variant", "hardworking"),
        ("hard working", "variant", "hardworking"),
        ("good natured", "variant", "good-natured"),
        ("fun-loving", "variant", "fun loving"),
        ("honorable", "variant", "honourable"),
        ("born leader", "head", "leader"),
        ("self-made leader", "head", "leader"),
        ("**Friendly:**", "exact", "friendly"),
    ],
)
def test_a_word_is_found_by_the_first_stage_that_knows_it(word: str, stage: str, entry: str) -> None:
    match = SMALL.find(word)
    assert match is not None
    assert (match.stage, match.word) == (stage, entry)


@needs_lemmas
@pytest.mark.parametrize(
    ("word", "stage", "entry"),
    [("criminals", "lemma", "criminal"), ("risk takers", "lemma", "risk taker"), ("strong leaders", "head", "leader")],
)
def test_inflected_words_are_found_by_their_lemma(word: str, stage: str, entry: str) -> None:
    match = SMALL.find(word)
    assert match is not None
    assert (match.stage, match.word) == (stage, entry)


def test_a_word_that_is_not_there_is_not_found() -> None:
    assert SMALL.find("zorbly") is None
    assert SMALL.find("") is None
    assert SMALL.find("...") is None


@pytest.mark.parametrize(
    "word", ["not friendly", "never friendly", "non-friendly", "lacking friendly", "hardly friendly"]
)
def test_a_negation_turns_the_direction_round(word: str) -> None:
    match = SMALL.find(word)
    assert match is not None
    assert match.negated
    assert match.entries[0].direction == -1.0


def test_a_word_that_begins_like_a_negation_is_none() -> None:
    known = Dictionary.of({"Style": {"high": ["no-nonsense", "unfriendly"]}})
    found = known.find("no-nonsense")
    assert found is not None
    assert not found.negated


def test_a_negated_word_without_direction_stays_without() -> None:
    match = SMALL.find("not Asian")
    assert match is not None
    assert match.entries[0].direction is None


def test_base_rates_tell_what_blind_drawing_gives() -> None:
    rates = Dictionary.of({"Morality": {"high": ["a"], "low": ["b", "c", "d"]}, "Feeling": ["e"]}).base_rates()
    assert rates["Morality"] == (0.8, -0.5)
    assert rates["Feeling"] == (0.2, None)


def test_capitals_and_conflicts_are_merged_and_told(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text("word,dimension,direction\nFair,Beauty,1\nfair,Beauty,-1\nkind,Warmth,1\nkind,Care,\n", "utf-8")
    read = Dictionary.read(file)
    match = read.find("fair")
    assert match is not None
    assert match.entries[0].direction is None
    assert "1 words have two directions" in read.notes[0]
    assert {entry.dimension for entry in read.words["kind"]} == {"Warmth", "Care"}


def wide(tmp_path: Path, *rows: str) -> Path:
    file = tmp_path / "wide.csv"
    head = "original word,Sociability dictionary,Sociability direction,feelings dictionary"
    file.write_text("\n".join([head, *rows]) + "\n", "utf-8")
    return file


def test_the_published_form_is_read_and_its_defects_set_right(tmp_path: Path) -> None:
    read = Dictionary.read(wide(tmp_path, "Kind,1,1,0", "affect,0,-1,1", "odd,1,NA,0", "slur,-1,NA,1", "sad,0,NA,1"))
    assert read.words["kind"][0].direction == 1.0
    assert [entry.dimension for entry in read.words["affect"]] == ["feelings"]
    assert read.words["odd"][0].direction is None
    assert [entry.dimension for entry in read.words["slur"]] == ["feelings"]
    assert "3 defective cells" in read.notes[0]
    assert read.directed == {"Sociability"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("word,dimension\nkind,Warmth\n", "no column 'direction'"),
        ("term,dimension,direction\nkind,Warmth,1\n", "neither a column 'word'"),
        ("original word,valence\nkind,1\n", "neither a column 'word'"),
        ("word,dimension,direction\nkind,Warmth,up\n", "'up' is not 1, 0 or -1"),
        ("word,dimension,direction\n,Warmth,1\n", "no words"),
    ],
)
def test_a_dictionary_that_cannot_be_used_says_why(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "own.csv"
    file.write_text(text, "utf-8")
    with pytest.raises(InputError, match=says):
        Dictionary.read(file)


def test_a_yaml_dictionary_with_an_unknown_side_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("Warmth: {up: [kind]}\n", "utf-8")
    with pytest.raises(InputError, match="side 'up'"):
        Dictionary.read(file)
    file.write_text("Warmth: {high: [kind]}\n", "utf-8")
    assert Dictionary.read(file).words["kind"][0].direction == 1.0


def test_plain_takes_off_marks_only() -> None:
    assert plain("  “Well-Off”  ") == "well-off"


@pytest.mark.data
def test_the_published_dictionary(data_dir: Path) -> None:
    folder = data_dir / "stereomap"
    if not folder.is_dir():
        pytest.skip("the stereotype content dictionary is not in the folder VANTAGE_DATA")
    read = Dictionary.read(folder / "Full Dictionaries.csv")
    rates = read.base_rates()
    # 477 high, 1,864 low and 179 neutral words of Morality; `consistent` has none and no word is lost for it.
    assert rates["Morality"][1] == pytest.approx((477 - 1864) / 2520, abs=0.002)
    assert rates["health"][1] == pytest.approx((39 - 1432) / 1477, abs=0.002)
    assert len(read.dimensions) == 28
    assert read.directed == {
        *("Sociability", "Morality", "Ability", "Agency", "health", "Status", "Politics", "Religion"),
        *("ordinariness", "beauty"),
    }
    for word in ("hard-working", "Asian", "good natured"):
        assert read.find(word) is not None
    # Looked up in lower case and without spaces, as the published code does, 15 % of the entries cannot be found.
    entries = pl.read_csv(folder / "Full Dictionaries.csv", infer_schema=False)["original word"]
    lost = entries.filter((entries != entries.str.to_lowercase()) | entries.str.contains(" "))
    assert (len(lost), len(entries)) == (2237, 14449)
    assert all(read.find(word) for word in lost.sample(200, seed=1))
