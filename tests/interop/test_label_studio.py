from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vantage import Corpus
from vantage.corpora.readers import load
from vantage.errors import InputError


def choice(name: str, *picked: str) -> dict[str, Any]:
    return {"from_name": name, "to_name": "text", "type": "choices", "value": {"choices": list(picked)}}


def rating(name: str, stars: float) -> dict[str, Any]:
    return {"from_name": name, "to_name": "text", "type": "rating", "value": {"rating": stars}}


def textarea(name: str, *lines: str) -> dict[str, Any]:
    return {"from_name": name, "to_name": "text", "type": "textarea", "value": {"text": list(lines)}}


def annotation(rater: Any, *results: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": 1,
        "completed_by": rater,
        "result": list(results),
        "lead_time": 4.5,
        "was_cancelled": False,
        **more,
    }


def task(number: int, *annotations: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": number, "data": {"text": f"Text {number}"}, "annotations": list(annotations), **more}


def write(path: Path, tasks: Any) -> Path:
    file = path / "project-1.json"
    file.write_text(json.dumps(tasks), encoding="utf-8")
    return file


def values(corpus: Corpus, question: str) -> list[tuple[str, str, float | None]]:
    return corpus.filter(question=question).judgments.select("item", "rater", "value").rows()


def test_reads_an_export(tmp_path: Path) -> None:
    tasks = [
        task(
            7,
            annotation(
                1,
                choice("tone", "polite"),
                rating("warmth", 4),
                textarea("tone_rationale", "It says", "please"),
            ),
            annotation({"id": 2, "email": "bob@example.org"}, choice("tone", "rude"), textarea("rationale", "No.")),
        ),
        task(8, annotation(1, choice("tone", "neutral"), rating("warmth", 1))),
    ]
    corpus = load("label-studio", write(tmp_path, tasks))
    assert corpus.items.rows() == [("7", "Text 7"), ("8", "Text 8")]
    assert corpus.raters.rows() == [("1", "person"), ("2", "person")]
    assert corpus.question("tone").scale.describe() == "neutral, polite, rude (nominal)"
    assert corpus.question("warmth").scale.codes == (1, 2, 3, 4, 5)
    assert values(corpus, "tone") == [("7", "1", 1), ("7", "2", 2), ("8", "1", 0)]
    assert values(corpus, "warmth") == [("7", "1", 4), ("8", "1", 1)]
    assert corpus.judgments["rationale"].to_list() == ["It says\nplease", None, "No.", None, None]
    assert corpus.judgments["seconds"].to_list() == [4.5] * 5
    assert Corpus.read(corpus.write(tmp_path / "out")) == corpus


def test_codes_come_from_the_instrument(tmp_path: Path) -> None:
    tasks = [
        task(1, annotation(1, choice("Irony", "yes"), choice("spam", "sure"))),
        task(2, annotation(1, choice("Irony", "No"), choice("spam", "nope"))),
    ]
    corpus = load("label-studio", write(tmp_path, tasks), instrument="irony")
    assert values(corpus, "irony") == [("1", "1", 1), ("2", "1", 0)]
    assert values(corpus, "spam") == [("1", "1", 1), ("2", "1", 0)]
    assert any("does not ask: spam" in note for note in corpus.about.notes)
    tasks = [task(1, annotation(1, choice("irony", "perhaps")))]
    with pytest.raises(InputError, match=r"row 1: 'perhaps', given by rater '1' .* no, yes \(nominal\)"):
        load("label-studio", write(tmp_path, tasks), instrument="irony")


def test_opt_outs_of_the_instrument(tmp_path: Path) -> None:
    tasks = [task(1, annotation(1, choice("self_responsibility", "not mentioned"), rating("pleasantness", 9)))]
    corpus = load("label-studio", write(tmp_path, tasks), instrument="appraisals")
    statuses = dict(corpus.judgments.select("question", "status").rows())
    assert statuses["self-responsibility"] == "not_mentioned"
    assert statuses["pleasantness"] == "answered"


def test_several_choices_are_questions_of_their_own(tmp_path: Path) -> None:
    tasks = [
        task(1, annotation(1, choice("topics", "sport", "politics")), annotation(2, choice("topics", "sport"))),
        task(2, annotation(2)),
    ]
    corpus = load("label-studio", write(tmp_path, tasks))
    assert values(corpus, "topics: sport") == [("1", "1", 1), ("1", "2", 1)]
    assert values(corpus, "topics: politics") == [("1", "1", 1), ("1", "2", 0)]
    with pytest.raises(InputError, match="several options were chosen in 'irony'"):
        load(
            "label-studio",
            write(tmp_path, [task(1, annotation(1, choice("irony", "no", "yes")))]),
            instrument="irony",
        )


def test_a_skipped_task_is_a_refusal(tmp_path: Path) -> None:
    tasks = [
        task(1, annotation(1, choice("tone", "a"), rating("warmth", 2)), annotation(2, was_cancelled=True)),
        task(2, annotation(1, choice("tone", "b"))),
    ]
    corpus = load("label-studio", write(tmp_path, tasks))
    refused = corpus.filter(rater="2").judgments
    assert refused.select("item", "question", "value", "status").rows() == [
        ("1", "tone", None, "refused"),
        ("1", "warmth", None, "refused"),
    ]
    assert any("1 annotations were skipped" in note for note in corpus.about.notes)


def test_repetitions_predictions_and_seats(tmp_path: Path) -> None:
    prediction = {"model_version": "bert-1", "score": 0.9, "result": [choice("tone", "b")]}
    tasks = [
        task(
            1,
            annotation(1, choice("tone", "a")),
            annotation(1, choice("tone", "b")),
            predictions=[prediction],
        ),
        task(2, annotation(None, choice("tone", "a"))),
    ]
    corpus = load("label-studio", write(tmp_path, tasks))
    assert corpus.raters.rows() == [("1", "person"), ("bert-1", "model"), ("slot-1", "slot")]
    assert corpus.judgments.select("rater", "sample", "value").rows() == [
        ("1", 0, 0),
        ("1", 1, 1),
        ("bert-1", 0, 1),
        ("slot-1", 0, 0),
    ]


def test_what_does_not_judge_the_item_is_noted(tmp_path: Path) -> None:
    span = {
        "from_name": "ner",
        "type": "labels",
        "value": {"start": 0, "end": 2, "labels": ["X"], "text": "Te"},
    }
    odd = {"from_name": "tree", "type": "taxonomy", "value": {"taxonomy": [["a"]]}}
    tasks = [task(1, annotation(1, choice("tone", "a"), span, span, odd, textarea("remarks", "hm")))]
    notes = " ".join(load("label-studio", write(tmp_path, tasks)).about.notes)
    assert "Not read: 2 of regions marked with 'ner'." in notes
    assert "Not read: 1 of results of type 'taxonomy' in 'tree'." in notes
    assert "Not read: 1 of texts entered in 'remarks'." in notes
    with pytest.raises(InputError, match="no field judges an item as a whole"):
        load("label-studio", write(tmp_path, [task(1, annotation(1, span))]))


def test_conversations_and_other_data(tmp_path: Path) -> None:
    data = {
        "Dialogue": [{"author": "Ann", "text": "Hi"}, {"author": "Bob", "text": "Ho"}],
        "Meta Data": {"a": 1},
        "item": 5,
        "mixed": 1,
    }
    tasks = [
        {"id": 1, "data": data, "annotations": [annotation(1, choice("tone", "a"))]},
        {"id": 2, "data": {"mixed": "x"}, "annotations": []},
    ]
    corpus = load("label-studio", write(tmp_path, tasks))
    assert corpus.items["dialogue"][0].to_list() == [
        {"speaker": "Ann", "text": "Hi"},
        {"speaker": "Bob", "text": "Ho"},
    ]
    assert corpus.items["meta_data"].to_list() == ['{"a": 1}', None]
    assert corpus.items["item_2"].to_list() == [5, None]
    assert corpus.items["mixed"].to_list() == ["1", "x"]
    assert Corpus.read(corpus.write(tmp_path / "out")) == corpus


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the file is empty"),
        ('[{"id": 1, "data": {', "ends too early"),
        ("{}", "this is not a list of tasks"),
        ("[]", "this is not a list of tasks"),
        ("[1]", "row 1: the task is not an object"),
        ('[{"id": 1, "data": {"text": "x"}}]', "the tasks have no annotations"),
        ('[{"id": 1, "tone": "rude", "annotator": 1, "annotation_id": 1}]', "JSON-MIN, which does not say .* as JSON"),
        ('[{"id": 1, "annotations": []}]', "row 1: the task has no 'data'"),
        ('[{"id": 1, "data": {}, "annotations": [1]}]', "row 1: 'annotations' is not a list of objects"),
        ('[{"id": 1, "data": {}, "annotations": [{"result": 3}]}]', "row 1: 'result' is not a list"),
        ('[{"id": 1, "data": {"text": "x"}, "annotations": []}]', "no task has been annotated"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "project.json"
    file.write_text(text)
    with pytest.raises(InputError, match=told):
        load("label-studio", file)


def test_ratings_off_the_scale_of_the_instrument(tmp_path: Path) -> None:
    tasks = [task(1, annotation(1, rating("pleasantness", 10)))]
    with pytest.raises(InputError, match="'10', given by rater '1' for item '1', is not an answer"):
        load("label-studio", write(tmp_path, tasks), instrument="appraisals")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "data", "annotations", "result", "value", "choices", "rating", "from_name", "text"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@pytest.mark.slow
@given(JSON)
@settings(max_examples=150, deadline=None)
def test_no_malformed_file_escapes_as_a_traceback(tmp_path: Path, data: Any) -> None:
    for wrapped in (data, [data], [{"id": 1, "data": {"text": "x"}, "annotations": [data]}]):
        told = "project-1.json"
        try:
            load("label-studio", write(tmp_path, wrapped))
        except InputError as error:
            told = str(error)
        assert "project-1.json" in told
