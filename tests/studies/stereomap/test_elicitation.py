"""What a model is asked, turn by turn, in every variant."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.raters.models.base import Completion, LogProbs, Request
from vantage.studies.base import find
from vantage.studies.stereomap.elicitation import (
    BlockRater,
    blocks,
    conditions,
    elicit,
    keyword_instrument,
    keyword_words,
    keywords_of,
    named,
    recounted,
)
from vantage.studies.stereomap.groups import groups_corpus, read_groups

EXTENDED = Instrument.load("stereotype-content:extended").with_parameters(society="French society")
CORPUS = groups_corpus(read_groups("nurses, lawyers"), EXTENDED)
SHORT = Instrument.load("stereotype-content:short").with_parameters(society="French society")
WORDS = {name: text.replace("{society}", "French society") for name, text in keyword_words().items()}


class Silent:
    """A model that is never asked."""

    name = "silent"
    window: int | None = None

    def __init__(self) -> None:
        self.notes: list[str] = []

    def complete(self, requests: list[Request]) -> list[Completion]:
        raise AssertionError

    def score(self, requests: list[Request], options: list[str]) -> LogProbs:
        raise AssertionError

    def count_tokens(self, text: str) -> int:
        return len(text)

    def close(self) -> None:
        return None


def rater(kind: Any, **options: Any) -> Any:
    return kind(model=Silent(), name="silent", **options)


def test_blocks_hold_every_question_once() -> None:
    told = blocks(EXTENDED)
    assert {name: len(ids) for name, ids in told.items()} == {
        "traits": 12,
        "structure": 4,
        "emotions": 8,
        "behaviours": 8,
        "overall": 1,
    }
    assert sorted(i for ids in told.values() for i in ids) == sorted(q.id for q in EXTENDED.questions)
    assert list(blocks(Instrument.load("stereotype-content:short"))) == ["traits", "structure"]


def test_keywords_are_asked_in_the_society_that_was_named() -> None:
    asked = rater(BlockRater, block="emotions", words=WORDS, samples=2)
    calls = list(asked.plan(CORPUS, keyword_instrument(EXTENDED), questions=["emotions-keywords"]))
    assert len(calls) == 4
    system, user = calls[0].request.messages
    assert "most people in French society" in system.content
    assert '"nurses"' in user.content
    assert "feelings that people in French society" in user.content
    assert calls[1].request.tag == ("nurses", "emotions-keywords", 1)


def test_without_instructions_they_are_left_out_everywhere() -> None:
    plain = rater(BlockRater, block="traits", words=WORDS, instructed=False)
    (call, *_) = plain.plan(CORPUS, keyword_instrument(EXTENDED), questions=["traits-keywords"])
    assert "Reporting a view" not in call.request.messages[0].content
    bare = rater(BlockRater, style="together", instructed=False)
    (call, *_) = bare.plan(CORPUS, EXTENDED, questions=["friendly", "honest"])
    assert "Guidelines" not in call.request.messages[0].content
    full = rater(BlockRater, style="together")
    (call, *_) = full.plan(CORPUS, EXTENDED, questions=["friendly", "honest"])
    assert "Guidelines" in call.request.messages[0].content


def test_ratings_follow_the_keywords_of_the_same_group_and_run() -> None:
    lists = keyword_instrument(EXTENDED)
    assert not lists.inferred
    asked = rater(BlockRater, block="traits", words=WORDS, samples=2)
    rows = pl.DataFrame(
        {
            "item": ["nurses", "nurses", "lawyers", "lawyers"],
            "question": ["traits-keywords"] * 4,
            "rater": ["silent"] * 4,
            "sample": [0, 1, 0, 1],
            "value": [1.0, 1.0, 1.0, None],
            "status": ["answered", "answered", "answered", "failed"],
            "reply": ["Kind: nurses one.", "Kind: nurses two.", "Cold: lawyers one.", None],
        }
    )
    told = CORPUS.add(rows, pl.DataFrame({"rater": ["silent"], "kind": ["model"]}), lists)
    said = asked.said(told, lists, "")
    assert ("lawyers", 1) not in said
    primed = rater(BlockRater, style="together", turns=said, samples=2)
    calls = {call.request.tag: call for call in primed.plan(told, EXTENDED, questions=["friendly", "honest"])}
    messages = calls["nurses", "traits", 1].request.messages
    assert [message.role for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[2].content == "Kind: nurses two."
    # A run without keywords gets no others' keywords, and is asked all the same.
    assert len(calls["lawyers", "traits", 1].request.messages) == 2
    # A call whose item is cut to fit a window keeps what was said.
    cut = calls["nurses", "traits", 1].with_item({**CORPUS.items.row(0, named=True), "group": "nur"})
    assert len(cut.request.messages) == 4


def test_variants_are_tagged_so_that_records_are_found() -> None:
    primed = rater(BlockRater, style="together", block="emotions")
    (call, *_) = primed.plan(CORPUS, EXTENDED, questions=["feel-envy", "feel-pity"], condition="bare")
    assert call.request.tag == ("nurses", "bare/emotions", 0)
    single = rater(BlockRater, style="zero-shot")
    (call, *_) = single.plan(CORPUS, EXTENDED, questions=["friendly"])
    assert call.request.tag == ("nurses", "friendly", 0)


def test_keyword_replies_are_read_as_lists_whatever_was_read_before() -> None:
    lists = keyword_instrument(EXTENDED)
    replies = ["1. Kind: they help.\n2. Poor: low wages.", "I'm sorry, but I cannot do this.", "Hm."]
    rows = pl.DataFrame(
        {
            "item": ["nurses"] * 3,
            "question": ["traits-keywords"] * 3,
            "rater": ["m"] * 3,
            "sample": [0, 1, 2],
            "value": [1.0, None, None],
            "status": ["answered", "unparsed", "unparsed"],
            "reply": replies,
        }
    )
    corpus = CORPUS.add(rows, pl.DataFrame({"rater": ["m"], "kind": ["model"]}), lists)
    read = recounted(corpus).judgments.sort("sample")
    assert read["value"].to_list() == [2.0, None, None]
    assert read["status"].cast(pl.String).to_list() == ["answered", "refused", "unparsed"]
    words = keywords_of(corpus)
    assert words.select("keyword", "reason").rows() == [("Kind", "they help."), ("Poor", "low wages.")]
    assert keywords_of(CORPUS).is_empty()
    assert recounted(CORPUS) is CORPUS


def test_a_run_without_reasons_keeps_none_of_another_group() -> None:
    replies = ["Kind: nurses help.", "No idea."]
    rows = pl.DataFrame(
        {
            "item": ["nurses", "lawyers"],
            "question": ["traits-keywords"] * 2,
            "rater": ["m"] * 2,
            "value": [None, None],
            "status": ["unparsed"] * 2,
            "reply": replies,
        },
        schema_overrides={"value": pl.Float64},
    )
    corpus = CORPUS.add(rows, pl.DataFrame({"rater": ["m"], "kind": ["model"]}), keyword_instrument(EXTENDED))
    assert keywords_of(corpus)["item"].to_list() == ["nurses"]


@pytest.mark.parametrize(
    ("options", "says"),
    [({"variants": "bear"}, "did you mean 'bare'"), ({"runs": 0}, "one run")],
)
def test_bad_options_are_refused_before_anyone_is_asked(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        elicit(_context([], **options), CORPUS, EXTENDED)


def test_all_variants_are_asked_where_all_are_wanted() -> None:
    asked = conditions(find("stereomap").options(variants="all", runs=3, variant_runs=2), keywords=True)
    assert asked == {
        "": (True, True, 3),
        "no-reasoning": (False, True, 2),
        "no-instructions": (True, False, 2),
        "bare": (False, False, 2),
    }


def test_wording_in_another_language_must_be_whole(tmp_path: Path) -> None:
    file = tmp_path / "de.yaml"
    file.write_text("role: Du urteilst.\n", "utf-8")
    with pytest.raises(InputError, match="'instructions' is missing"):
        keyword_words(file)
    whole = {**keyword_words(), "traits": "Welche fünf Wörter?"}
    file.write_text("\n".join(f"{name}: {text!r}" for name, text in whole.items()), "utf-8")
    with pytest.raises(InputError, match=r"has no \{group\}"):
        keyword_words(file)


def test_models_are_named_without_folders() -> None:
    assert named("gguf:models/tiny.gguf") == "gguf:tiny.gguf"
    assert named("openai:gpt") == "openai:gpt"


def _context(asked: list[tuple[str, str, int, str]], **options: Any) -> Any:
    """A context that notes who would be asked how."""

    def rate(corpus: Corpus, rater: Any, instrument: Any, *, questions: list[str], condition: str) -> Corpus:
        asked.append(
            ("keywords" if rater.words else "ratings", rater.style.name, rater.samples, f"{condition}:{len(questions)}")
        )
        return corpus

    given = find("stereomap").options(**options)
    return SimpleNamespace(options=given, plans=False, models=("m",), seed=0, settings={}, common={}, rate=rate)


def test_every_turn_goes_through_the_context() -> None:
    asked: list[tuple[str, str, int, str]] = []
    elicit(_context(asked, runs=4, variants="bare", variant_runs=2), CORPUS, EXTENDED)
    assert asked[:2] == [("keywords", "zero-shot", 4, ":1"), ("ratings", "together+free", 4, ":12")]
    assert ("ratings", "reasoning+together+free", 4, ":4") in asked
    # Three reasons come before the overall rating.
    assert asked[7:9] == [("keywords", "zero-shot", 4, ":1"), ("ratings", "together+free", 4, ":1")]
    assert [one for one in asked if one[3].startswith("bare")] == [
        ("ratings", "together+free", 2, f"bare:{n}") for n in (12, 4, 8, 8, 1)
    ]
    asked.clear()
    elicit(_context(asked, answers="scoring", runs=4), CORPUS, EXTENDED)
    assert {one[:3] for one in asked} == {("ratings", "scoring", 1)}
    asked.clear()
    elicit(_context(asked, first="nothing", runs=1, variants="no-instructions"), CORPUS, EXTENDED)
    assert {one[0] for one in asked} == {"ratings"}


def test_the_paper_asks_one_attribute_at_a_time_or_keywords_before_a_block() -> None:
    asked: list[tuple[str, str, int, str]] = []
    elicit(_context(asked, prompt="paper", form="short", runs=2), CORPUS, SHORT)
    assert {one[:3] for one in asked} == {("ratings", "answer-first+json", 2)}
    calls = list(rater(BlockRater, style=asked[0][1]).plan(CORPUS, SHORT, questions=["competent", "warm"]))
    assert len(calls) == 2 * len(CORPUS.items)
    shape = calls[0].request.messages[-1].content
    assert shape.index('"answer"') < shape.index('"reason"')
    asked.clear()
    elicit(_context(asked, prompt="paper", runs=2), CORPUS, EXTENDED)
    assert asked[:2] == [("keywords", "zero-shot", 2, ":1"), ("ratings", "together+free", 2, ":12")]


@pytest.mark.parametrize(("replies", "held"), [("free", False), ("schema", True)])
def test_only_a_schema_keeps_a_model_from_refusing(replies: str, held: bool) -> None:
    raters: list[Any] = []
    context = _context([], first="nothing", runs=1, replies=replies)

    def rate(corpus: Corpus, rater: Any, *_: object, **__: object) -> Corpus:
        raters.append(rater)
        return corpus

    context.rate = rate
    elicit(context, CORPUS, EXTENDED)
    for one in raters:
        (call, *_) = rater(type(one), style=one.style.name).plan(CORPUS, EXTENDED, questions=["friendly", "honest"])
        assert (call.request.schema is not None) is held
        assert "JSON" in call.request.messages[-1].content
