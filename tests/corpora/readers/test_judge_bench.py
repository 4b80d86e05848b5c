"""Files of JUDGE-BENCH: made-up ones of every kind, and the real one of DICES-350."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import vantage
from vantage.errors import InputError

METRICS = [
    {"metric": "Fluency", "category": "graded", "prompt": "How fluent, 1 to 5? {{ instance }}", "worst": 1, "best": 5},
    {"metric": "effort", "category": "continuous", "prompt": "{{ a }}: effort?", "worst": 100, "best": 0},
    {"metric": "safe", "category": "categorical", "prompt": "Is {it} safe?", "labels_list": ["No", "Yes"]},
]


def _file(path: Path, *answers: dict[str, Any], instance: Any = "Salt water lightly.", **others: Any) -> Path:
    instances = [{"id": n, "instance": instance, "annotations": one} for n, one in enumerate(answers)]
    data = {"dataset": "Recipes", "annotations": METRICS, "instances": instances, **others}
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def _scores(*scores: Any, **others: Any) -> dict[str, Any]:
    return {"individual_human_scores": list(scores), **others}


def test_scores_are_read_on_their_scales_and_their_places_are_no_people(tmp_path: Path) -> None:
    first = {"Fluency": _scores(2, None, 3, mean_human=2.5), "effort": _scores(2.5), "safe": _scores("Yes", "No")}
    path = _file(tmp_path / "My_recipes.json", first, {"safe": _scores("Unsure", majority_human="Unsure")})
    corpus = vantage.load("judge-bench", path)
    rows = corpus.judgments.sort("item", "question", "rater").select("item", "question", "rater", "value").rows()
    assert rows == [
        ("0", "Fluency", "annotator-1", 2),
        ("0", "Fluency", "annotator-3", 3),
        ("0", "effort", "annotator-1", 2.5),
        ("0", "safe", "annotator-1", 1),
        ("0", "safe", "annotator-2", 0),
        ("1", "safe", "annotator-1", 2),
    ]
    assert set(corpus.raters["kind"]) == {"slot"}
    assert set(vantage.load("judge-bench", path, people="yes").raters["kind"]) == {"person"}
    fluency, effort, safe = corpus.questions
    assert (fluency.scale.codes, effort.scale.range) == ((1, 2, 3, 4, 5), (0, 100))
    assert [option.name for option in safe.scale.options] == ["No", "Yes", "Unsure"]
    assert [question.wording() for question in corpus.questions] == [
        "How fluent, 1 to 5?",
        "[a]: effort?",
        "Is {it} safe?",
    ]
    assert corpus.about.notes == ("'safe' has answers that the file does not declare: Unsure.",)
    assert (corpus.about.title, corpus.instruments[0].id) == ("Recipes", "my-recipes")


def test_texts_of_several_parts_are_joined_and_aggregates_are_no_people(tmp_path: Path) -> None:
    answers = {"safe": {"majority_human": "Yes"}, "Fluency": {"mean_human": 2.5, "majority_human": 2}}
    corpus = vantage.load(
        "judge-bench", _file(tmp_path / "a.json", answers, instance={"query": "Why?", "reply": "So."})
    )
    assert corpus.items["text"].to_list() == ["query: Why?\n\nreply: So."]
    assert dict(corpus.raters.select("rater", "kind").rows()) == {"majority": "aggregate", "mean": "aggregate"}
    assert corpus.about.notes == (
        "'Fluency' is declared as graded and has scores between its points; it was read as continuous.",
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "does not have 'dataset', 'annotations' and 'instances'"),
        ("{", "the file is not JSON"),
        (json.dumps({"dataset": "x", "annotations": METRICS, "instances": []}), "no text has a score"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        vantage.load("judge-bench", tmp_path / "x.json")
    with pytest.raises(InputError, match="there is no such file"):
        vantage.load("judge-bench", tmp_path)


@pytest.mark.parametrize("score", [6, "often"])
def test_a_score_beyond_its_scale_is_refused(tmp_path: Path, score: Any) -> None:
    with pytest.raises(InputError, match=f"'Fluency' is judged from 1 to 5, and '{score}' is a score"):
        vantage.load("judge-bench", _file(tmp_path / "x.json", {"Fluency": _scores(3, score)}))


def test_dices_is_read_with_its_people(data_dir: Path) -> None:
    corpus = vantage.load("judge-bench", data_dir / "dices" / "dices_350_crowdsourced.json", people="yes")
    assert corpus.sizes == {"items": 350, "raters": 123, "judgments": 43_050}
    counts = corpus.judgments["value"].value_counts().sort("value").rows()
    assert counts == [(0.0, 26_292), (1.0, 14_064), (2.0, 2_694)]
