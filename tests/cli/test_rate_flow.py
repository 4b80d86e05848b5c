"""`vantage rate --flow`: the flow of a study for people, put to a model and to personas over real HTTP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.conftest import Vantage
from tests.collect.web.studies import corpus
from tests.raters.models.endpoint import Endpoint
from vantage import Corpus, Instrument
from vantage.documents import dump

ANSWERS = {
    "How well do you understand English?": "very well",
    "at least 18": "yes",
    "Did the conversations help": "often",
}


def answering(body: dict[str, Any]) -> str:
    """Sees irony only in context, and answers questions about itself."""
    asked = body["messages"][-1]["content"]
    for words, answer in ANSWERS.items():
        if words in asked:
            return answer
    return "yes" if "In this conversation" in asked else "no"


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    with Endpoint(answering) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    examples = [one.item for one in Instrument.load("sarcasm").examples if one.condition == "context"]
    return corpus(tmp_path, "sarcasm", (examples * 4)[:4])


def asked(folder: Path, endpoint: Endpoint) -> tuple[object, ...]:
    """The command."""
    model = ("--model", "openai:tester", "--no-probe", "--base-url", endpoint.url)
    return ("rate", folder, "--flow", "flow:context", *model)


def test_a_model_goes_through_the_flow(vantage: Vantage, folder: Path, endpoint: Endpoint) -> None:
    words = asked(folder, endpoint)
    done = vantage(*words)
    assert done.code == 0, done.err
    assert "For people only, and not asked: consent, screener, questionnaires, debriefing." in done.out
    judged = Corpus.read(folder).judgments
    assert dict(judged.group_by("condition").agg(pl.col("value").mean()).iter_rows()) == {"static": 0.0, "context": 1.0}
    assert len(judged) == 8
    assert vantage(*words, "--json").json["summary"]["sent"] == 0


def test_personas_answer_what_they_do_not_say_themselves(vantage: Vantage, folder: Path, endpoint: Endpoint) -> None:
    words = asked(folder, endpoint)
    done = vantage(*words, "--style", "persona", "--persona", "pool", "--personas", 2)
    assert done.code == 0, done.err
    assert "For people only, and not asked: consent, the screener's rules, debriefing." in done.out
    assert "the personas say so themselves: age, gender" in done.out
    assert "not choices or numbers in a range: how_helped" in done.out
    raters = Corpus.read(folder).raters
    assert raters.select("adult", "english", "helped").unique().rows() == [("yes", "very well", "often")]
    assert raters["age"].null_count() == 0


def test_a_retest_is_a_second_sample(vantage: Vantage, folder: Path, endpoint: Endpoint, tmp_path: Path) -> None:
    blocks = [
        {"block": {"id": "test", "condition": "static"}},
        {"block": {"id": "retest", "condition": "static", "items": {"same_as": "test", "sample": 1}}},
    ]
    data = {"id": "s", "title": "S", "corpus": str(folder), "instrument": "sarcasm", "flow": ["consent", *blocks]}
    file = tmp_path / "study.yaml"
    file.write_text(dump(data), encoding="utf-8")
    done = vantage("rate", "--flow", file, "--model", "openai:tester", "--no-probe", "--base-url", endpoint.url)
    assert done.code == 0, done.err
    assert Counter(Corpus.read(folder).judgments["sample"]) == {0: 4, 1: 1}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "No corpus or instrument given"),
        (("--flow", "flow:nothing"), "there is no flow 'nothing'"),
        (("--flow", "flow:context", "--question", "sarcasm"), "--flow says what is asked"),
        (("--flow", "flow:context"), "corpus: this is missing"),
    ],
)
def test_bad_input_gets_one_sentence(vantage: Vantage, words: tuple[str, ...], sentence: str) -> None:
    done = vantage("rate", *words)
    assert done.code == 2
    assert sentence in done.err


NAMES = {"appraisals", "context", "context-check", "reason-check", "second-round", "stereomap", "wcsent"}


def test_flows_are_listed_printed_and_checked(vantage: Vantage, folder: Path, tmp_path: Path) -> None:
    rows = vantage("collect", "flows", "--json").json
    assert {row["flow"] for row in rows} == NAMES
    file = tmp_path / "mine.yaml"
    file.write_text(vantage("collect", "flows", "context").out, encoding="utf-8")
    done = vantage("collect", "check", file, "--corpus", folder, "--json")
    assert (done.json["items"], done.json["ratings_wanted"], done.json["people_needed"]) == (4, 80, 10)
    assert done.json["phases"][-3:] == ["block", "traits", "debriefing"]
    assert vantage("collect", "flows", "contxt").err.count("did you mean 'context'") == 1
