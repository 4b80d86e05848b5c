from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from vantage import Corpus
from vantage.corpora.readers import load
from vantage.errors import InputError

MAKES_SENSE = "None of the above - it is in English, it makes sense, and I am familiar with the topic"
NONSENSE = "It is nonsensical (repetitive, incomprehensible, gibberish)"


def row_350(rater: int, item: int, **answers: Any) -> dict[str, Any]:
    return {
        "id": rater * 1000 + item,
        "rater_id": rater,
        "rater_gender": "Woman" if rater % 2 else "Man",
        "rater_race": "White",
        "rater_raw_race": "White",
        "rater_age": "gen z",
        "rater_education": "Other",
        "phase": "Phase1",
        "item_id": item,
        "answer_time_ms": 12500,
        "answer_timestamp": 1662000000,
        "context": f"LAMDA: Hi there!\nUSER: Tell me about topic {item}: is it fine?",
        "response": f"I would rather not talk about topic {item}.",
        "degree_of_harm": "Benign",
        "harm_type": "Legal,Personal",
        "safety_gold": "No",
        "safety_gold_reason": "",
        "Q1_whole_conversation_evaluation": MAKES_SENSE,
        "Q2_harmful_content_dangerous_content": "No",
        "Q3_bias_targeting_beliefs": "No",
        "Q4_misinformation": "No",
        "Q5_political_affiliation": "No",
        "Q6_policy_guidelines_other": "No",
        "Q2_harmful_content_overall": "No",
        "Q3_bias_overall": "No",
        "Q6_policy_guidelines_overall": "No",
        "Q_overall": "No",
        **answers,
    }


def row_990(rater: int, item: int, **answers: Any) -> dict[str, Any]:
    return {
        "id": rater * 1000 + item,
        "rater_id": rater,
        "rater_gender": "Man",
        "rater_locale": "IN",
        "rater_race": "Asian/Asian subcontinent",
        "rater_race_raw": "Indian",
        "rater_age": "millenial",
        "rater_education": "College degree or higher",
        "phase": "Phase2",
        "item_id": item,
        "context": "USER: Hello LAMDA: Good day",
        "response": "Bye",
        "degree_of_harm": "",
        "harm_type": "",
        "Q1_whole_conversation_evaluation": NONSENSE,
        "Q2_harmful_content_violent_or_gory": "Unsure",
        "Q3_bias_incites_hatred": "No",
        "Q4_misinformation_political": "Yes",
        "Q2_harmful_content_overall": "Unsure",
        "Q3_unfair_bias_overall": "No",
        "Q4_misinformation_overall": "Yes",
        "Q_overall": "Yes",
        **answers,
    }


def write(folder: Path, part: str, rows: list[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"diverse_safety_adversarial_dialog_{part}.csv"
    pl.DataFrame(rows).write_csv(file)
    return file


def test_reads_the_part_350(tmp_path: Path) -> None:
    rows = [row_350(1, 7), row_350(2, 7, Q_overall="Yes", Q2_harmful_content_overall="Unsure"), row_350(1, 8)]
    corpus = load("dices", write(tmp_path / "350", "350", rows))
    assert corpus.items["item"].to_list() == ["350-7", "350-8"]
    assert corpus.items.columns[:2] == ["item", "response"]
    assert corpus.items["conversation"][0].to_list() == [
        {"speaker": "chatbot", "text": "Hi there!"},
        {"speaker": "user", "text": "Tell me about topic 7: is it fine?"},
    ]
    assert corpus.items["degree_of_harm"].to_list() == ["Benign", "Benign"]
    assert "degree_of_harm" not in corpus.judgments["question"].to_list()
    assert corpus.raters["rater"].to_list() == ["350-1", "350-2"]
    assert set(corpus.traits) == {"gender", "race", "race_in_own_words", "age_group", "education"}
    assert corpus.judgments["seconds"].unique().to_list() == [12.5]
    unsafe = corpus.filter(question="unsafe").judgments
    assert dict(zip(unsafe["rater"] + unsafe["item"], unsafe["value"], strict=True)) == {
        "350-1350-7": 0,
        "350-2350-7": 2,
        "350-1350-8": 0,
    }
    assert corpus.filter(question="harmful-content", rater="350-2").judgments["value"].to_list() == [1]
    assert {"Q2_harmful_content_dangerous_content", "comprehension"} <= set(corpus.judgments["question"])
    assert Corpus.read(corpus.write(tmp_path / "out")) == corpus


def test_reads_the_part_990(tmp_path: Path) -> None:
    write(tmp_path / "990", "990", [row_990(5, 7), row_990(6, 7)])
    corpus = load("dices", tmp_path)
    assert corpus.about.name == "dices-990"
    assert corpus.filter(question="unfair-bias").judgments["value"].to_list() == [0, 0]
    assert corpus.filter(question="misinformation").judgments["value"].to_list() == [2, 2]
    assert corpus.filter(question="comprehension").judgments["value"].to_list() == [1, 1]
    assert corpus.raters["race_in_own_words"].to_list() == ["Indian", "Indian"]
    assert [turn["speaker"] for turn in corpus.items["conversation"][0].to_list()] == ["user", "chatbot"]
    assert "seconds" not in corpus.judgments.columns
    assert Corpus.read(corpus.write(tmp_path / "out")) == corpus


def test_the_parts_can_be_merged_and_must_be_told_apart(tmp_path: Path) -> None:
    write(tmp_path / "350", "350", [row_350(1, 7)])
    write(tmp_path / "990", "990", [row_990(1, 7)])
    with pytest.raises(InputError, match="both parts; choose one with --part"):
        load("dices", tmp_path)
    merged = load("dices", tmp_path, part="350").merge(load("dices", tmp_path, part="990"))
    assert merged.items["item"].to_list() == ["350-7", "990-7"]
    with pytest.raises(InputError, match="no part '12'"):
        load("dices", tmp_path, part="12")


def test_a_context_without_speakers_is_one_turn(tmp_path: Path) -> None:
    corpus = load("dices", write(tmp_path, "350", [row_350(1, 1, context="Just words")]))
    assert corpus.items["conversation"][0].to_list() == [{"speaker": "", "text": "Just words"}]


def test_rows_that_stand_twice_are_noted(tmp_path: Path) -> None:
    corpus = load("dices", write(tmp_path, "990", [row_990(1, 1), row_990(1, 1)]))
    assert len(corpus.judgments) == 8
    assert any("8 judgments stood twice" in note for note in corpus.about.notes)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"Q_overall": "Maybe"}, "row 2, column 'Q_overall': 'Maybe' is not one of no, unsure, yes"),
        ({"Q1_whole_conversation_evaluation": "Hm"}, "row 2, column 'Q1_whole_.*'Hm' is not one of the four"),
        ({"item_id": None}, "row 2, column 'item_id': the cell is empty"),
        ({"answer_time_ms": "fast"}, "row 2, column 'answer_time_ms': 'fast' is not a number"),
    ],
)
def test_bad_cells(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        load("dices", write(tmp_path, "350", [row_350(1, 1, **change)]))


def test_bad_files(tmp_path: Path) -> None:
    file = tmp_path / "x_350.csv"
    file.write_text("rater_id,item_id\n1,2\n")
    with pytest.raises(InputError, match="there are no columns 'context', 'response', 'Q_overall'"):
        load("dices", file)
    file.write_text("")
    with pytest.raises(InputError, match="empty"):
        load("dices", file)
    with pytest.raises(InputError, match="no such file"):
        load("dices", tmp_path / "absent")
