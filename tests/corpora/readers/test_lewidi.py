"""The readers of LeWiDi 2023 and 2025: invented files of the same schema, and the released ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vantage
from vantage.corpora import Corpus
from vantage.corpora.readers import load
from vantage.errors import InputError
from vantage.interop.lewidi_files import edition

Data = dict[str, Any]


def item_2023(split: str, annotators: str, annotations: str, **parts: Any) -> Data:
    return {
        "text": "an invented tweet",
        "annotation task": "invented",
        "number of annotations": len(annotators.split(",")),
        "annotators": annotators,
        "annotations": annotations,
        "lang": "en",
        "hard_label": "0",
        "soft_label": {"0": 0.67, "1": 0.33},
        "split": split,
        "other_info": {},
        **parts,
    }


def brexit(split: str, offensive: str = "0,1,0") -> Data:
    info = {
        "other annotations": {
            "aggressive language detection": "0,1,1",
            "offensive language detection": offensive,
        },
        "annotators group": "group1,group1,group2",
        "group1": "target group",
        "group2": "control group",
    }
    return item_2023(split, "Ann1,Ann2,Ann4", "0,1,0", other_info=info)


def convabuse(split: str, spoken: Mapping[str, str]) -> Data:
    kinds = ["ableist", "homophobic", "intellectual", "racist", "sexist", "sex_harassment", "transphobic"]
    kinds += ["target.generalised", "target.individual", "target.system", "explicit", "implicit"]
    info = {
        "bot": "InventedBot",
        "other_annotations": {kind: "0,1" if kind == "target.system" else "0,0" for kind in kinds},
        "conversation_id(s)": "12.0,2.9E+15",
    }
    return item_2023(split, "Ann2,Ann7", "1,-2", text=json.dumps(spoken), other_info=info, hard_label=1)


def item_2025(split: str, text: Data, annotations: Data, **parts: Any) -> Data:
    return {
        "text": text,
        "annotators": ",".join(annotations),
        "annotations": annotations,
        "number of annotations": len(annotations),
        "lang": "en",
        "split": split,
        **parts,
    }


def irony(split: str, annotations: Data, language: str = "en", labels: tuple[str, str] = ("0", "1")) -> Data:
    return item_2025(
        split,
        {"post": "an invented post", "reply": "an invented reply"},
        annotations,
        lang=language,
        soft_label={labels[0]: 0.5, labels[1]: 0.5},
        other_info={"source": "reddit", "level": 1.0, "language_variety": "ie"},
    )


def traits(**known: Any) -> Data:
    return {
        "Age": 31.0,
        "Gender": "Female",
        "Ethnicity simplified": "DATA_EXPIRED",
        "Country of birth": "Ireland",
        "Country of residence": "Ireland",
        "Nationality": "Ireland",
        "Student status": "No",
        "Employment status": "Full-Time",
        **known,
    }


def write(folder: Path, **files: Any) -> Path:
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / f"{name.replace('HS_', 'HS-').replace('MD_', 'MD-')}.json").write_text(json.dumps(data))
    return folder


def rows(corpus: Corpus, *columns: str) -> list[tuple[Any, ...]]:
    return corpus.judgments.select(*columns).rows()


def round_trips(corpus: Corpus, folder: Path) -> bool:
    return Corpus.read(corpus.write(folder / "corpus")) == corpus


@pytest.fixture
def brexit_files(tmp_path: Path) -> Path:
    return write(
        tmp_path / "brexit",
        HS_Brexit_train={"1": brexit("train", "0,No,0")},
        HS_Brexit_test={"1": brexit("test")},
    )


@pytest.fixture
def mp_files(tmp_path: Path) -> Path:
    return write(
        tmp_path / "mp",
        MP_dev={"7": irony("dev", {"Ann0": "0", "Ann10": "1"}, labels=("0.0", "1.0"))},
        MP_test={"8": irony("test", {"Ann2": "1"}), "9": irony("test", {"Ann2": "0"}, "it")},
        MP_annotators_meta={
            "0": traits(),
            "2": traits(Age=float("nan"), Gender="Prefer not to say"),
            "10": traits(Age=44.0),
        },
    )


def test_hs_brexit_has_three_questions_and_two_groups(brexit_files: Path, tmp_path: Path) -> None:
    corpus = load("hs-brexit", brexit_files)
    assert corpus.items["item"].to_list() == ["train-1", "test-1"]
    assert corpus.items.row(0, named=True) == {
        "item": "train-1",
        "text": "an invented tweet",
        "split": "train",
        "language": "en",
        "hard_label": 0,
        "soft_label_1": 0.33,
    }
    assert corpus.raters.rows() == [
        ("Ann1", "person", "target"),
        ("Ann2", "person", "target"),
        ("Ann4", "person", "control"),
    ]
    first = corpus.filter(item="train-1")
    assert rows(first, "question", "rater", "value") == [
        ("hate-speech", "Ann1", 0.0),
        ("hate-speech", "Ann2", 1.0),
        ("hate-speech", "Ann4", 0.0),
        ("aggressiveness", "Ann1", 0.0),
        ("aggressiveness", "Ann2", 1.0),
        ("aggressiveness", "Ann4", 1.0),
        ("offensiveness", "Ann1", 0.0),
        ("offensiveness", "Ann2", 0.0),
        ("offensiveness", "Ann4", 0.0),
    ]
    assert round_trips(corpus, tmp_path)


def test_the_hub_names_the_groups_the_other_way_round(brexit_files: Path) -> None:
    corpus = load("hs-brexit", brexit_files, groups="hub")
    assert corpus.raters["group"].to_list() == ["control", "control", "target"]
    assert any("hub" in note for note in corpus.about.notes)
    with pytest.raises(InputError, match="no group names 'hubb'; did you mean 'hub'"):
        load("hs-brexit", brexit_files, groups="hubb")


def test_one_file_can_be_read_alone(brexit_files: Path) -> None:
    corpus = load("hs-brexit", brexit_files / "HS-Brexit_test.json")
    assert corpus.items["item"].to_list() == ["test-1"]


def test_md_agreement_keeps_a_doubled_annotation_once(tmp_path: Path) -> None:
    tweet = item_2023("test", "Ann10,Ann9,Ann10", "1,0,1", other_info={"domain": "Invented"})
    corpus = load("md-agreement", write(tmp_path / "md", MD_Agreement_test={"2038": tweet}))
    assert rows(corpus, "item", "question", "rater", "value") == [
        ("test-2038", "offensive", "Ann10", 1.0),
        ("test-2038", "offensive", "Ann9", 0.0),
    ]
    assert corpus.raters["rater"].to_list() == ["Ann9", "Ann10"]
    assert corpus.items["domain"].to_list() == ["Invented"]
    assert round_trips(corpus, tmp_path)


def test_convabuse_turns_become_a_conversation(tmp_path: Path) -> None:
    spoken = {"prev_agent": "Hello.", "prev_user": "hi", "agent": "How are you?", "user": "shut up"}
    first = {"prev_agent": "_", "prev_user": "_", "agent": "_", "user": "hello"}
    nothing = dict.fromkeys(first, "_")
    folder = write(
        tmp_path / "abuse",
        ConvAbuse_train={
            "1": convabuse("train", spoken),
            "2": convabuse("train", first),
            "3": convabuse("train", nothing),
        },
    )
    corpus = load("convabuse", folder)
    assert corpus.items["text"].to_list() == ["shut up", "hello", None]
    assert corpus.items["conversation"].to_list() == [
        [
            {"speaker": "Bot", "text": "Hello."},
            {"speaker": "User", "text": "hi"},
            {"speaker": "Bot", "text": "How are you?"},
            {"speaker": "User", "text": "shut up"},
        ],
        [{"speaker": "User", "text": "hello"}],
        [],
    ]
    assert corpus.items["conversation_ids"][0].to_list() == ["12.0", "2.9E+15"]
    assert corpus.items["hard_label"].to_list() == [1, 1, 1]
    assert len(corpus.judgments) == 3 * 2 * 13
    told = corpus.filter(item="train-1")
    assert rows(told.filter(question="abuse"), "rater", "value") == [("Ann2", 1.0), ("Ann7", -2.0)]
    assert rows(told.filter(question="target-system"), "rater", "value") == [("Ann2", 0.0), ("Ann7", 1.0)]
    assert round_trips(corpus, tmp_path)


def test_multipico_joins_traits_without_the_prefix(mp_files: Path, tmp_path: Path) -> None:
    corpus = load("mp", mp_files)
    assert corpus.items["item"].to_list() == ["7", "8", "9"]
    assert corpus.items["soft_label_1"].to_list() == [0.5, 0.5, 0.5]
    assert corpus.items["level"].to_list() == [1, 1, 1]
    assert rows(corpus, "item", "rater", "value") == [
        ("7", "Ann0", 0.0),
        ("7", "Ann10", 1.0),
        ("8", "Ann2", 1.0),
        ("9", "Ann2", 0.0),
    ]
    assert corpus.raters["rater"].to_list() == ["Ann0", "Ann2", "Ann10"]
    assert corpus.raters["age"].to_list() == [31, None, 44]
    assert corpus.raters["gender"].to_list() == ["Female", None, "Female"]
    assert corpus.raters["ethnicity"].null_count() == 3
    assert corpus.about.language == "en, it"
    assert round_trips(corpus, tmp_path)


def test_multipico_keeps_one_language(mp_files: Path) -> None:
    corpus = load("mp", mp_files, language="it")
    assert corpus.items["item"].to_list() == ["9"]
    assert corpus.raters["rater"].to_list() == ["Ann2"]
    assert corpus.about.name == "mp-it"
    with pytest.raises(InputError, match="no items in the language 'xx'; available: en, it"):
        load("mp", mp_files, language="xx")


def test_csc_annotators_without_metadata_have_null_traits(tmp_path: Path) -> None:
    response = item_2025(
        "dev",
        {"context": "Steve asks for help.", "response": "Oh, with pleasure."},
        {"Ann1": "6", "Ann840": "2"},
        soft_label={f"{step}": 0.5 if step in (2, 6) else 0.0 for step in range(1, 7)},
        other_info={"context+speaker": "1_2"},
    )
    meta = {"Ann1": {"Gender": "nan", "Age": "56"}}
    corpus = load("csc", write(tmp_path / "csc", CSC_dev={"3": response}, CSC_annotators_meta=meta))
    assert corpus.raters.rows() == [("Ann1", "person", 56, None), ("Ann840", "person", None, None)]
    assert rows(corpus, "item", "question", "rater", "value") == [
        ("3", "sarcasm-rating", "Ann1", 6.0),
        ("3", "sarcasm-rating", "Ann840", 2.0),
    ]
    assert corpus.items["context_speaker"].to_list() == ["1_2"]
    assert corpus.items["soft_label_6"].to_list() == [0.5]
    assert round_trips(corpus, tmp_path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"annotations": "0,2,0"},
            "HS-Brexit_dev.json, item '1': the label '2' of 'Ann2' is not on the scale",
        ),
        ({"annotations": "0,1"}, "item '1', annotations: there are 2 values for 3 annotators"),
        ({"annotations": None}, "item '1', annotations: 'None' is not text"),
        ({"annotators": "Ann1,,Ann4"}, "item '1', annotators: an annotator has no name"),
        ({"annotators": "Ann1,Ann1,Ann4"}, "annotator 'Ann1' has two answers, 0 and 1"),
        ({"hard_label": "maybe"}, "item '1', hard_label: 'maybe' is not a number"),
        ({"hard_label": 0.5}, "item '1', hard_label: '0.5' is not a small whole number"),
        ({"soft_label": {"0": 1.0}}, "item '1', soft_label › 1: this is missing"),
        ({"soft_label": 3}, "item '1', soft_label › 1: this is missing"),
        ({"other_info": {}}, "item '1', other_info › other annotations: this is missing"),
        ({"split": 3}, "item '1', split: '3' is not text"),
    ],
)
def test_a_faulty_item_is_named(tmp_path: Path, change: Data, told: str) -> None:
    folder = write(tmp_path / "bad", HS_Brexit_dev={"1": brexit("dev") | change})
    with pytest.raises(InputError) as caught:
        load("hs-brexit", folder)
    assert told in str(caught.value)
    assert "compare the file with the released one" in str(caught.value)


def test_an_annotator_of_two_groups_is_refused(tmp_path: Path) -> None:
    other = brexit("dev")
    other["other_info"]["annotators group"] = "group2,group1,group2"
    folder = write(tmp_path / "bad", HS_Brexit_dev={"1": brexit("dev"), "2": other})
    with pytest.raises(InputError, match="item '2': annotator 'Ann1' is in two groups"):
        load("hs-brexit", folder)


def test_an_item_cannot_stand_in_two_splits(mp_files: Path, brexit_files: Path) -> None:
    write(mp_files, MP_train={"9": irony("train", {"Ann0": "0"})})
    with pytest.raises(InputError, match=r"MP_test\.json, item '9': the item is in MP_train\.json as well"):
        load("mp", mp_files)
    write(brexit_files, HS_Brexit_dev={"1": brexit("test")})
    with pytest.raises(InputError, match=r"item '1': the item is in HS-Brexit_dev\.json as well"):
        load("hs-brexit", brexit_files)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"text": "not JSON"}, "item '1', text: the conversation is not JSON"),
        ({"text": "[1]"}, "item '1', text › prev_agent: this is missing"),
        ({"text": '{"prev_agent": 1}'}, "item '1', text › prev_agent: '1' is not text"),
    ],
)
def test_a_faulty_conversation_is_named(tmp_path: Path, change: Data, told: str) -> None:
    spoken = dict.fromkeys(("prev_agent", "prev_user", "agent", "user"), "hello")
    folder = write(tmp_path / "bad", ConvAbuse_dev={"1": convabuse("dev", spoken) | change})
    with pytest.raises(InputError) as caught:
        load("convabuse", folder)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("meta", "told"),
    [
        ([], "the file is not an object from annotators to their traits"),
        ({"0": {"Age": 3}}, "annotator 'Ann0', Gender: this is missing"),
        ({"0": traits(Age="young")}, "annotator 'Ann0', Age: 'young' is not a number"),
        ({"0": 17}, "annotator 'Ann0', Age: this is missing"),
    ],
)
def test_faulty_metadata_are_named(mp_files: Path, meta: Any, told: str) -> None:
    write(mp_files, MP_annotators_meta=meta)
    with pytest.raises(InputError) as caught:
        load("mp", mp_files)
    assert told in str(caught.value)
    assert "MP_annotators_meta.json" in str(caught.value)


def test_missing_files_are_named(tmp_path: Path, mp_files: Path) -> None:
    with pytest.raises(InputError, match=r"no file HS-Brexit_train\.json or .*HS-Brexit_test\.json"):
        load("hs-brexit", tmp_path)
    (mp_files / "MP_annotators_meta.json").unlink()
    with pytest.raises(InputError, match=r"no file MP_annotators_meta\.json"):
        load("mp", mp_files)
    with pytest.raises(InputError, match="annotations: this is not an object"):
        load("mp", write(mp_files, MP_dev={"7": irony("dev", {}) | {"annotations": "0,1"}}))


@pytest.mark.parametrize("content", ["", "[]", "{}", "3", '{"1": 2}', '{"1": {"split": "dev"', "\x00"])
def test_files_of_another_shape_are_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "HS-Brexit_dev.json"
    file.write_text(content)
    with pytest.raises(InputError, match=r"HS-Brexit_dev\.json"):
        load("hs-brexit", file)


@settings(max_examples=40)
@given(cut=st.integers(0, 1000), junk=st.sampled_from([b"", b"}", b"\xff", b'"', b"null", b"{}", b"1e999"]))
def test_a_damaged_file_never_escapes_as_a_traceback(tmp_path: Path, cut: int, junk: bytes) -> None:
    good = json.dumps({"1": brexit("dev"), "2": brexit("dev")}).encode()
    file = tmp_path / "HS-Brexit_dev.json"
    file.write_bytes(good[: cut % len(good)] + junk + good[cut % len(good) + 2 :])
    told = ""
    try:
        corpus = load("hs-brexit", file)
    except InputError as error:
        told = str(error)
    assert "HS-Brexit_dev.json" in told or set(corpus.judgments["value"]) <= {0.0, 1.0}


@pytest.mark.data
def test_released_hs_brexit(data_dir: Path, tmp_path: Path) -> None:
    corpus = load("hs-brexit", data_dir / "lewidi" / "2023" / "HS-Brexit")
    assert len(corpus.items) == 784 + 168 + 168
    per_question = corpus.judgments.group_by("question").len().sort("question")
    assert per_question.rows() == [
        ("aggressiveness", 6720),
        ("hate-speech", 6720),
        ("offensiveness", 6720),
    ]
    assert corpus.raters["group"].to_list() == ["target"] * 3 + ["control"] * 3
    said_no = corpus.filter(question="offensiveness", rater="Ann2", item=["train-426", "train-604", "test-8"])
    assert said_no.judgments["value"].to_list() == [0.0, 0.0, 0.0]
    shares = corpus.filter(question="hate-speech").judgments.group_by("item").agg(pl.col("value").mean())
    joined = shares.join(corpus.items, on="item")
    assert (joined["value"] - joined["soft_label_1"]).abs().max() < 0.0051  # type: ignore[operator]
    assert round_trips(corpus, tmp_path)


@pytest.mark.slow
@pytest.mark.data
def test_released_md_agreement(data_dir: Path, tmp_path: Path) -> None:
    corpus = load("md-agreement", data_dir / "lewidi" / "2023" / "MD-Agreement")
    assert (len(corpus.items), len(corpus.raters), len(corpus.judgments)) == (10753, 819, 53764)
    per_rater = corpus.judgments.group_by("rater").len()["len"]
    assert (per_rater.min(), per_rater.median(), per_rater.max()) == (1, 18, 1988)
    doubled = corpus.filter(item="test-2038").judgments
    assert sorted(doubled["rater"]) == ["Ann448", "Ann535", "Ann579", "Ann776"]
    assert set(corpus.items["domain"]) == {"BLM", "Elections2020", "Covid-19"}
    assert round_trips(corpus, tmp_path)


@pytest.mark.slow
@pytest.mark.data
def test_released_convabuse(data_dir: Path, tmp_path: Path) -> None:
    corpus = load("convabuse", data_dir / "lewidi" / "2023" / "ConvAbuse")
    severity = corpus.judgments.filter(question="abuse")
    assert (len(corpus.items), len(corpus.raters), len(severity)) == (4050, 8, 12168)
    assert len(corpus.judgments) == 12168 * 13
    assert (severity.group_by("item").len()["len"] == 2).sum() == 1050
    assert set(severity["value"]) == {1.0, 0.0, -1.0, -2.0, -3.0}
    silent = corpus.items.filter(pl.col("text").is_null())
    assert silent["item"].to_list() == ["train-926"]
    ends = corpus.items["conversation"].list.last().struct.field("text")
    assert ends.equals(corpus.items["text"], check_names=False)
    assert round_trips(corpus, tmp_path)


@pytest.mark.data
def test_released_multipico(data_dir: Path, tmp_path: Path) -> None:
    corpus = load("mp", data_dir / "lewidi" / "2025" / "MP")
    assert (len(corpus.items), len(corpus.raters), len(corpus.judgments)) == (6761, 506, 33871)
    assert corpus.items["language"].n_unique() == 9
    assert corpus.raters["age"].null_count() == 5
    assert corpus.raters["gender"].null_count() == 2
    assert corpus.raters["country_of_residence"].null_count() == 0
    assert "DATA_EXPIRED" not in {cell for row in corpus.raters.iter_rows() for cell in row}
    assert round_trips(corpus, tmp_path)
    english = load("mp", data_dir / "lewidi" / "2025" / "MP", language="en")
    assert (len(english.items), len(english.raters), len(english.judgments)) == (1079, 74, 5073)


@pytest.mark.data
def test_released_csc(data_dir: Path, tmp_path: Path) -> None:
    corpus = load("csc", data_dir / "lewidi" / "2025" / "CSC")
    assert (len(corpus.items), len(corpus.raters), len(corpus.judgments)) == (1408, 872, 6410)
    unknown = corpus.raters.filter(pl.col("rater").str.slice(3).cast(pl.Int64) >= 840)
    assert len(unknown) == 32
    assert unknown["age"].null_count() == unknown["gender"].null_count() == 32
    assert corpus.raters["gender"].null_count() == 32 + 17 + 5 + 3
    assert corpus.raters["age"].null_count() == 32 + 17 + 7 + 3
    assert round_trips(corpus, tmp_path)


BROKEN = '{"Ann1": {"Gender": "Female,}", "Age": "30", "Nationality": "German", "Education": "postdoc",},}'
"""Invented metadata with the fault of two released files: commas before closing brackets."""


def paraphrase_files(folder: Path) -> Path:
    rated = item_2025(
        "test",
        {"Question1": "Is it late?", "Question2": "What time is it?"},
        {"Ann1": "-4", "Ann2": "5"},
        soft_label={f"{step}": 0.5 if step in (-4, 5) else 0.0 for step in range(-5, 6)},
        other_info={"explanations": ["other topic", " "]},
    )
    write(folder, Paraphrase_test={"3": rated})
    (folder / "Paraphrase_annotators_meta.json").write_text(BROKEN)
    return folder


def inferred(split: str, annotations: Data, reasons: list[str]) -> Data:
    soft = {label: {"0": 0.5, "1": 0.5} for label in ("contradiction", "entailment", "neutral")}
    text = {"context": "It rained.", "statement": f"It was wet in {split}."}
    return item_2025(split, text, annotations, soft_label=soft, other_info={"explanations": reasons})


def nli_files(folder: Path, **change: Any) -> Path:
    chosen = inferred("test", {"Ann1": "entailment,neutral", "Ann2": "neutral"}, ["follows", "may be", "unsure"])
    other = inferred("train", {"Ann1": "contradiction"}, ["no"])
    write(folder, VariErrNLI_test={"3": chosen | change}, VariErrNLI_train={"3": other})
    (folder / "VariErrNLI_annotators_meta.json").write_text(BROKEN)
    return folder


def test_paraphrase_has_reasons_and_its_metadata_are_repaired(tmp_path: Path) -> None:
    corpus = load("paraphrase", paraphrase_files(tmp_path / "par"))
    assert rows(corpus, "item", "question", "rater", "value", "rationale") == [
        ("3", "paraphrase", "Ann1", -4.0, "other topic"),
        ("3", "paraphrase", "Ann2", 5.0, None),
    ]
    assert corpus.raters.rows()[0] == ("Ann1", "person", "Female,}", 30, "German", "postdoc")
    assert corpus.items["soft_label_-4"].to_list() == [0.5]
    assert any("commas before closing brackets" in note for note in corpus.about.notes)
    assert round_trips(corpus, tmp_path)


def test_varierrnli_has_a_question_for_each_label(tmp_path: Path) -> None:
    corpus = load("varierrnli", nli_files(tmp_path / "nli"))
    assert [question.id for question in corpus.questions] == ["contradiction", "entailment", "neutral"]
    assert [row for row in rows(corpus, "item", "question", "rater", "value", "rationale") if row[0] == "test-3"] == [
        ("test-3", "contradiction", "Ann1", 0.0, None),
        ("test-3", "entailment", "Ann1", 1.0, "follows"),
        ("test-3", "neutral", "Ann1", 1.0, "may be"),
        ("test-3", "contradiction", "Ann2", 0.0, None),
        ("test-3", "entailment", "Ann2", 0.0, None),
        ("test-3", "neutral", "Ann2", 1.0, "unsure"),
    ]
    assert round_trips(corpus, tmp_path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"annotations": {"Ann1": "maybe"}}, "there are not 1 of them"),
        ({"annotations": {"Ann1": "maybe,neutral,neutral"}}, "the label 'maybe' of 'Ann1' is none of contradiction"),
        ({"annotations": {"Ann1": "neutral,neutral,entailment"}}, "the label 'neutral' of 'Ann1' is none of"),
        ({"annotations": "neutral"}, "this is not an object from annotator to label"),
    ],
)
def test_faulty_labels_are_named(tmp_path: Path, change: Data, told: str) -> None:
    with pytest.raises(InputError, match=f"item '3'.*{told}"):
        load("varierrnli", nli_files(tmp_path / "nli", **change))


def test_armis_annotators_have_views(tmp_path: Path) -> None:
    info = {"Ann1": "Moderate_Female", "Ann2": "Conservative_Male"}
    tweet = item_2023("dev", "Ann1,Ann2", "0,1", other_info=info)
    corpus = load("armis", write(tmp_path / "armis", ArMIS_dev={"1": tweet}))
    assert corpus.raters.rows() == [
        ("Ann1", "person", "Moderate", "Female"),
        ("Ann2", "person", "Conservative", "Male"),
    ]
    other = tweet | {"other_info": info | {"Ann1": "Liberal_Female"}}
    with pytest.raises(InputError, match="annotator 'Ann1' is described in two ways"):
        load("armis", write(tmp_path / "armis", ArMIS_dev={"1": tweet, "2": other}))


def test_an_edition_is_all_its_data_sets(tmp_path: Path) -> None:
    paraphrase_files(tmp_path / "Paraphrase")
    nli_files(tmp_path / "VariErrNLI")
    corpora = edition(tmp_path)
    assert list(corpora) == ["Paraphrase", "VariErrNLI"]
    assert corpora["VariErrNLI"].items["split"].to_list() == ["train", "test"]
    assert list(edition(tmp_path / "Paraphrase")) == ["Paraphrase"]
    assert [repr(corpus) for corpus in vantage.read(tmp_path, "lewidi").values()] == [*map(repr, corpora.values())]
    with pytest.raises(InputError, match="has no data set of LeWiDi"):
        edition(write(tmp_path / "none"))
    with pytest.raises(InputError, match="there is no such folder"):
        edition(tmp_path / "nowhere")


def test_a_folder_of_released_files_is_read_from_the_folder_of_published_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lewidi" / "2025").mkdir(parents=True)
    paraphrase_files(tmp_path / "lewidi" / "2025" / "Paraphrase")
    nli_files(tmp_path / "lewidi" / "2025" / "VariErrNLI")
    monkeypatch.setenv("VANTAGE_DATA", str(tmp_path))
    corpora = vantage.read("lewidi/2025")
    assert {name: corpus.items["split"].to_list() for name, corpus in corpora.items()} == {
        "Paraphrase": ["test"],
        "VariErrNLI": ["train", "test"],
    }
    assert any("is not valid JSON" in note for note in corpora["Paraphrase"].about.notes)
    assert vantage.read("lewidi/2025/VariErrNLI").about.name == "varierrnli"
    assert list(vantage.read("lewidi/2025/VariErrNLI", "lewidi")) == ["VariErrNLI"]
    shutil.rmtree(tmp_path / "lewidi" / "2025" / "VariErrNLI")
    assert list(vantage.read("lewidi/2025")) == ["Paraphrase"]
    with pytest.raises(InputError, match="there is no such folder"):
        vantage.read("lewidi/2024", "lewidi")


@pytest.mark.data
@pytest.mark.parametrize(
    ("reader", "folder", "items", "raters", "annotations"),
    [
        ("paraphrase", "2025/Paraphrase", 500, 4, 2000),
        ("varierrnli", "2025/VariErrNLI", 488, 4, 1816 * 3),
        ("armis", "2023/ArMIS", 943, 3, 2829),
    ],
)
def test_the_other_released_data_sets(
    data_dir: Path, reader: str, folder: str, items: int, raters: int, annotations: int
) -> None:
    corpus = load(reader, data_dir / "lewidi" / folder)
    assert (len(corpus.items), len(corpus.raters), len(corpus.judgments)) == (items, raters, annotations)
    assert corpus.raters.null_count().sum_horizontal().item() == 0
    if reader == "varierrnli":
        # The labels that were chosen, each with its explanation, as the release counts its annotations.
        assert corpus.judgments["value"].sum() == corpus.judgments["rationale"].count() == 1891
