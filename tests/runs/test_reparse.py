from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.raters.models.endpoint import Endpoint
from tests.runs.test_rating import answering
from vantage import Corpus, InputError, Instrument, demo_corpus, rate
from vantage.corpora.readers import load
from vantage.raters.replies import ParsedReply, parse_reply
from vantage.runs.reparse import reparse
from vantage.studies.stereomap.elicitation import keyword_instrument, recounted

from .conftest import MakePlan, corpus


def test_replies_are_read_again_and_only_what_differs_changes(endpoint: Endpoint, plan: MakePlan) -> None:
    rater = plan(1).parts[0].rater
    rated = rate(corpus(4), rater, "warmth-competence", questions=["trust"])
    assert reparse(rated).changes.is_empty()
    # As an older parser would have left them.
    worse = rated.judgments.with_columns(
        pl.when(pl.col("item") < "i0002").then(None).otherwise("value").alias("value"),
        pl.when(pl.col("item") < "i0002").then(pl.lit("unparsed")).otherwise("status").alias("status"),
        pl.lit("older").alias("rule"),
    )
    done = reparse(Corpus(rated.items, rated.raters, worse, rated.instruments))
    assert done.read == 4
    assert done.changes["item"].to_list() == ["i0000", "i0001"]
    assert done.changes.row(0, named=True) | {"reply": "2"} == done.changes.row(0, named=True)
    assert done.corpus.judgments.equals(rated.judgments)


@pytest.mark.parametrize(
    "style", ["two-step", "reasoning+two-step", "together", "together+reasoning", "json+reasoning", "coarse"]
)
def test_every_style_reads_the_same_again(endpoint: Endpoint, plan: MakePlan, style: str) -> None:
    endpoint.reply = answering
    part = plan(3, style, ()).parts[0]
    rated = rate(part.corpus, part.rater, "warmth-competence")
    done = reparse(rated)
    assert done.read == 9
    assert done.corpus.judgments.equals(rated.judgments)


def test_questions_that_are_put_as_one_read_the_same_again(endpoint: Endpoint, plan: MakePlan) -> None:
    diary = Instrument.load(Path(__file__).parent.parent / "instruments" / "kinds.yaml")
    asked = ["emotions", "best", "worst"]
    endpoint.reply = lambda body: '{"best": "end", "worst": "middle"}' if "best" in str(body) else "joy; fear"
    base = corpus(2)
    empty = Corpus(base.items, base.raters, base.judgments.clear(), diary)
    rated = rate(empty, plan(2).parts[0].rater, diary, questions=asked)
    assert rated.judgments.filter(question="emotions.fear")["value"].to_list() == [1.0, 1.0]
    assert reparse(rated).corpus.judgments.equals(rated.judgments)


def test_a_letter_that_was_not_offered_stays_unread(endpoint: Endpoint, plan: MakePlan) -> None:
    endpoint.reply = lambda body: "A"
    part = plan(2).parts[0]
    rated = rate(part.corpus, part.rater, "warmth-competence", questions=["trust"])
    assert rated.judgments["rule"].to_list() == ["letter", "letter"]
    assert reparse(rated).changes.is_empty()
    lettered = rate(part.corpus, part.rater, "warmth-competence", questions=["trust"], presentation="labels=letters")
    assert reparse(lettered).corpus.judgments.equals(lettered.judgments)


def test_lists_of_keywords_are_left_to_the_study_that_reads_them() -> None:
    keywords = keyword_instrument(Instrument.load("stereotype-content"))
    question = keywords.questions[0].id
    base = corpus(3)
    rows = pl.DataFrame(
        {
            "item": ["i0000", "i0001", "i0002"],
            "question": [question, question, "trust"],
            "rater": "model",
            "condition": "",
            "sample": 0,
            "value": [None, None, 2.0],
            "status": ["unparsed", "unparsed", "answered"],
            "rationale": None,
            "reply": ["1. Warm: 5 of them smile.\n2. Kind: They help.", "I'm sorry, I cannot generalise.", "2"],
            "rule": [None, None, "whole:number"],
        },
        schema_overrides={"rationale": pl.String},
    )
    raters = pl.DataFrame({"rater": ["model"], "kind": ["model"]})
    read = recounted(Corpus(base.items, raters, rows, [*base.instruments, keywords]))
    assert read.judgments.filter(question=question)["value"].to_list() == [2.0, None]
    done = reparse(read)
    assert (done.read, done.left) == (1, {"keywords": 2})
    assert done.changes.is_empty()
    assert done.corpus.judgments.equals(read.judgments)


def test_an_option_alone_is_read_once_and_prose_for_each_item(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    items = pl.DataFrame({"item": ["a", "b", "c"], "text": ["Nothing.", "We left at 2 in the night.", "So what?"]})
    said = {"alone": "2", "told": "We left at 2 in the night."}
    judged = pl.DataFrame(
        [(item, "trust", rater, None, "unparsed", said[rater]) for item in items["item"] for rater in said],
        schema=["item", "question", "rater", "value", "status", "reply"],
        orient="row",
        infer_schema_length=None,
    )
    raters = pl.DataFrame({"rater": list(said), "kind": ["model", "model"]})
    recorded = Corpus(items, raters, judged, Instrument.load("warmth-competence"))
    whole = {row["item"]: row for row in reparse(recorded.filter(rater="told")).corpus.judgments.to_dicts()}
    read: list[str] = []

    def noted(reply: str, *given: Any, **how: Any) -> ParsedReply:
        read.append(reply)
        return parse_reply(reply, *given, **how)

    monkeypatch.setattr("vantage.runs.reparse.parse_reply", noted)
    again = reparse(recorded).corpus.judgments
    assert sorted(read) == ["2", *[said["told"]] * 3]
    assert again.filter(rater="alone")["value"].to_list() == [2.0] * 3
    assert {row["item"]: row for row in again.filter(rater="told").to_dicts()} == whole
    assert whole["b"]["rule"] != whole["a"]["rule"]


def test_a_corpus_without_replies_is_told() -> None:
    with pytest.raises(InputError, match="no column 'reply'"):
        reparse(demo_corpus())


@pytest.mark.data
@pytest.mark.slow
def test_published_replies_are_read_with_our_parser(data_dir: Path) -> None:
    published = load("appraisals", str(data_dir / "appraisals"))
    done = reparse(published)
    assert done.read > 20_000
    # The authors count only a bare number; ours reads more, and takes back what says two things.
    gained = done.changes.filter(pl.col("status_now") == "answered").height
    assert gained > 0
    answered = [c.judgments.filter(status="answered").height for c in (published, done.corpus)]
    assert answered[1] > answered[0]
