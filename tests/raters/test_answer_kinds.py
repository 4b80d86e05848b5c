"""Models answer every kind of question: what they are asked, what may be replied, and what becomes of the reply."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import polars as pl
import pytest

from tests.instruments.test_kinds import OPINIONS, ORDERS, diary
from tests.runs.test_local import Here
from vantage import ChatRater, Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument, MultipleChoice, grouped, put
from vantage.raters.models.base import Completion, Request
from vantage.raters.prompts import Prompter
from vantage.raters.replies import parse_replies, parse_reply
from vantage.raters.shots import instrument_shots
from vantage.raters.style import Style
from vantage.runs import RunOptions, RunPlan, RunStore, run

ITEM = {"item": "a", "text": "It rained."}


def several() -> MultipleChoice:
    whole = diary().question("emotions.joy").whole
    assert whole is not None
    return whole


def read(reply: str, *, cut: bool = False) -> list[tuple[float | None, str, str]]:
    """What a reply says about each emotion."""
    parsed = parse_replies(reply, diary().named("emotions"), cut=cut)
    assert list(parsed) == ["emotions.joy", "emotions.anger-or-rage", "emotions.fear"]
    return [(reply.value, reply.status, reply.rule) for reply in parsed.values()]


@pytest.mark.parametrize(
    ("reply", "values", "rule"),
    [
        ("joy", [1, 0, 0], "whole:list"),
        ("Joy; Fear.", [1, 0, 1], "whole:list"),
        ("joy, fear", [1, 0, 1], "whole:list"),
        ("anger, or rage", [0, 1, 0], "whole:list"),
        ("- joy\n- anger, or rage", [1, 1, 0], "whole:list"),
        ("<think>joy? no</think> none", [0, 0, 0], "whole:none"),
        ("None of these", [0, 0, 0], "whole:none"),
        ('{"answer": ["fear", "joy"]}', [1, 0, 1], "json:list"),
        ('{"answer": []}', [0, 0, 0], "json:none"),
        ('["fear"]', [0, 0, 1], "json:list"),
        ("It is loud.\nAnswer: fear; joy", [1, 0, 1], "marker:list"),
    ],
)
def test_options_that_apply_are_read(reply: str, values: list[float], rule: str) -> None:
    assert read(reply) == [(float(value), "answered", rule) for value in values]


@pytest.mark.parametrize(
    ("reply", "status", "rule"),
    [
        ("joy and surprise", "unparsed", "not-listed"),
        ("joy; none", "unparsed", "not-listed"),
        ('{"answer": ["joy", 3]}', "unparsed", "not-listed"),
        ("", "unparsed", "empty"),
        ("ambiguous", "ambiguous", "whole:opt-out"),
        ("It cannot be told", "ambiguous", "whole:opt-out"),
        ("I'm sorry, but I can't help with that.", "refused", "prose:refusal"),
    ],
)
def test_anything_else_is_no_set_of_options(reply: str, status: str, rule: str) -> None:
    assert read(reply) == [(None, status, rule)] * 3


def test_a_reply_that_was_cut_names_no_set() -> None:
    assert read("joy; fe", cut=True) == [(None, "unparsed", "cut")] * 3


@pytest.mark.parametrize(
    ("question", "reply", "value", "text", "rule"),
    [
        ("keywords", "rain; mud", 1.0, "rain; mud", "whole:text"),
        ("keywords", '{"answer": ["rain", "mud"]}', 1.0, "rain; mud", "json:text"),
        ("keywords", "It is wet.\nAnswer: rain", 1.0, "rain", "marker:text"),
        ("keywords", "x" * 61, None, None, "too-long"),
        ("keywords", "", None, None, "empty"),
        ("remark", "none", 0.0, None, "whole:none"),
        ("remark", "no words", None, None, "whole:opt-out"),
    ],
)
def test_texts_are_kept_as_they_are(
    question: str, reply: str, value: float | None, text: str | None, rule: str
) -> None:
    parsed = parse_reply(reply, diary().question(question))
    assert (parsed.value, parsed.rationale, parsed.rule) == (value, text, rule)


@pytest.mark.parametrize(
    ("reply", "value", "status"),
    [
        ("50", 50.0, "answered"),
        ("72.5", 72.5, "answered"),
        ("too private", None, "too_private"),
        ("140", None, "unparsed"),
    ],
)
def test_a_slider_takes_numbers_and_its_own_opt_out(reply: str, value: float | None, status: str) -> None:
    parsed = parse_reply(reply, diary().question("strength"))
    assert (parsed.value, parsed.status) == (value, status)


def test_best_and_worst_are_asked_together_and_cannot_be_alike() -> None:
    asked = [diary().question("best"), diary().question("worst")]
    good = parse_replies('{"best": "end", "worst": "middle"}', asked)
    assert [reply.value for reply in good.values()] == [3.0, 2.0]
    same = parse_replies('{"best": "end", "worst": "end"}', asked)
    assert [(reply.value, reply.rule) for reply in same.values()] == [(None, "conflict")] * 2


@pytest.mark.parametrize("style", ["json", "together", "reasoning+json"])
def test_worked_answers_fit_the_schema_and_are_read_back(style: str) -> None:
    instrument, parts = diary(), Style.parse(style)
    groups = [instrument.questions] if parts.together else grouped(instrument.questions)
    for group in groups:
        prompter = Prompter(instrument, parts)
        (shot,) = instrument_shots(instrument, group)
        request = prompter.request(group, ITEM, [shot])
        written = prompter.answer(group, shot)
        jsonschema.validate(json.loads(written), dict(request.schema or {}))
        for question, reply in parse_replies(written, group).items():
            wanted = shot.answers[question]
            scale = instrument.question(question).scale
            if scale.text:
                assert wanted in (reply.rationale, reply.status)
            else:
                assert wanted in (reply.value, reply.status)


def test_a_long_scale_is_named_by_its_ends() -> None:
    request = Prompter(diary(), Style()).request([diary().question("share")], ITEM)
    asked = request.messages[-1].content
    assert "any whole number from 0 to 100\n0 = nobody\n100 = everybody" in asked
    assert len(asked) < 250


SAYS = {
    "How strong": "too private",
    "How many": "40",
    "Which emotions": "joy; fear",
    "Name up": "=rain",
    "Anything": "none",
    "[best]": '{"best": "end", "worst": "middle"}',
}
"""What the model says to which question."""


class Diarist(Here):
    """Answers by the question that it finds in the prompt."""

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        asked = [request.messages[-1].content for request in requests]
        return [Completion(next(says for words, says in SAYS.items() if words in text), "stop") for text in asked]


def judged(store: RunStore, **options: Any) -> pl.DataFrame:
    nobody = pl.DataFrame(schema={"rater": pl.String})
    nothing = pl.DataFrame(schema={"item": pl.String, "question": pl.String, "rater": pl.String, "value": pl.Float64})
    items = pl.DataFrame({"item": ["a", "b"], "text": ["It rained.", "It snowed."]})
    corpus = Corpus(items, nobody, nothing, diary())
    plan = RunPlan.of(corpus, ChatRater(Diarist(), name="m", **options), diary())
    (part,) = run(plan, store, RunOptions()).judged
    return part.judgments


def test_a_run_of_every_kind_is_stored_recalled_and_written(tmp_path: Path) -> None:
    with RunStore(tmp_path / "runs.sqlite") as store:
        first = judged(store)
        assert store.select("SELECT COUNT(*) FROM calls")[0][0] == 2 * len(put(diary().questions)) - 2
        again = judged(store)
    assert again.equals(first)
    mine = first.filter(pl.col("item") == "a")
    rows = {row["question"]: (row["value"], row["status"], row["rationale"]) for row in mine.iter_rows(named=True)}
    assert rows == {
        "strength": (None, "too_private", None),
        "share": (40.0, "answered", None),
        "emotions.joy": (1.0, "answered", None),
        "emotions.anger-or-rage": (0.0, "answered", None),
        "emotions.fear": (1.0, "answered", None),
        "keywords": (1.0, "answered", "=rain"),
        "remark": (0.0, "answered", None),
        "best": (3.0, "answered", None),
        "worst": (2.0, "answered", None),
    }


def test_a_text_has_no_options_to_score() -> None:
    with pytest.raises(InputError, match="question 'keywords' has no options to compare"):
        _scored()


def _scored() -> None:
    nobody = pl.DataFrame(schema={"rater": pl.String})
    nothing = pl.DataFrame(schema={"item": pl.String, "question": pl.String, "rater": pl.String, "value": pl.Float64})
    corpus = Corpus(pl.DataFrame(ITEM), nobody, nothing, diary())
    rater = ChatRater("embedded", "scoring", name="m")
    with RunStore(":memory:") as store:
        run(RunPlan.of(corpus, rater, diary(), questions=["keywords"]), store, RunOptions())


class Pollster(Here):
    """Says that half of all people are in the middle."""

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        asked = [request.messages[-1].content for request in requests]
        joint = '{"tone": "hostile", "tone-sure": 90, "tone-others": {"friendly": 20, "neutral": 50, "hostile": 30}}'
        return [Completion(joint if "[tone]" in text else "little: 10; some: 60; much: 30", "stop") for text in asked]


def test_models_give_distributions_by_the_same_form() -> None:
    opinions = Instrument.load(OPINIONS)
    nobody = pl.DataFrame(schema={"rater": pl.String})
    nothing = pl.DataFrame(schema={"item": pl.String, "question": pl.String, "rater": pl.String, "value": pl.Float64})
    corpus = Corpus(pl.DataFrame(ITEM), nobody, nothing, opinions)
    with RunStore(":memory:") as store:
        (part,) = run(RunPlan.of(corpus, ChatRater(Pollster(), name="m"), opinions), store, RunOptions()).judged
    rows = part.judgments.select("question", "value", "rule", "probabilities").rows()
    assert [row[:3] for row in rows] == [
        ("tone", 2.0, "json:label"),
        ("tone-sure", 90.0, "json:number"),
        ("tone-others", 1.0, "json:shares"),
        ("anger", 2.0, "whole:shares"),
    ]
    assert [row[3] for row in rows[:2]] == [None, None]
    assert rows[2][3] == pytest.approx([0.2, 0.5, 0.3, 0.0])
    assert rows[3][3] == pytest.approx([0.1, 0.6, 0.3])
    assert part.judgments["reply"].null_count() == 0


@pytest.mark.parametrize(
    ("reply", "rule"),
    [
        ('{"answer": {"little": 0, "some": 25, "much": 75}, "reason": "So."}', "json:shares"),
        ("It is loud.\nAnswer: much: 75 %, some: 25 %", "marker:shares"),
        ("little: 50; some: 70", "not-100"),
        ("little: 50; little: 50", "not-100"),
        ("little: 50; rather: 50", "not-listed"),
        ("much", "not-listed"),
    ],
)
def test_shares_are_read_strictly(reply: str, rule: str) -> None:
    read = parse_reply(reply, Instrument.load(OPINIONS).question("anger"))
    assert read.rule == rule
    assert read.shares == (None if "shares" not in rule else (0.0, 0.25, 0.75))


def test_shares_have_a_schema() -> None:
    opinions = Instrument.load(OPINIONS)
    request = Prompter(opinions, Style.parse("json")).request([opinions.question("tone-others")], ITEM)
    jsonschema.validate({"answer": {"friendly": 20, "neutral": 50, "hostile": 30}}, dict(request.schema or {}))
    jsonschema.validate({"answer": "ambiguous"}, dict(request.schema or {}))
    assert 'add up to 100: {"friendly": …, "neutral": …, "hostile": …}, or "ambiguous"' in request.messages[-1].content


@pytest.mark.parametrize(
    ("reply", "places", "rule"),
    [
        ("safety; jobs; the climate, or nature", [2, 3, 1], "whole:ranking"),
        ('{"answer": ["jobs", "safety", "the climate, or nature"]}', [1, 3, 2], "json:ranking"),
        ("1. jobs\n2. the climate, or nature\n3. safety", [1, 2, 3], "whole:ranking"),
        ("jobs; safety", None, "no-ranking"),
        ("jobs; safety; jobs", None, "no-ranking"),
        ("jobs; safety; peace", None, "not-listed"),
        ("not mentioned", None, "whole:opt-out"),
    ],
)
def test_rankings_are_read_strictly(reply: str, places: list[float | None] | None, rule: str) -> None:
    read = parse_replies(reply, Instrument.load(ORDERS).named("aims"))
    assert [one.rule for one in read.values()] == [rule] * 3
    assert [one.value for one in read.values()] == (places or [None, None, None])


@pytest.mark.parametrize(
    ("reply", "text", "rule"),
    [
        ("need work; clean air", "need work; clean air", "whole:marks"),
        ('"We need"', '"We need"', "whole:marks"),
        ("dirty air", None, "not-in-text"),
        ("need clean", None, "not-in-text"),
        ("We need work first and clean", None, "too-long"),
    ],
)
def test_marked_words_must_stand_in_the_text(reply: str, text: str | None, rule: str) -> None:
    source = "We need work first, and clean air after that."
    read = parse_reply(reply, Instrument.load(ORDERS).question("side-words"), source)
    assert (read.rationale, read.rule) == (text, rule)


@pytest.mark.parametrize("style", ["json", "together", "reasoning"])
def test_rankings_and_words_are_asked_for_and_read_back(style: str) -> None:
    instrument, parts = Instrument.load(ORDERS), Style.parse(style)
    for group in [instrument.questions] if parts.together else grouped(instrument.questions):
        prompter = Prompter(instrument, parts)
        (shot,) = instrument_shots(instrument, group)
        request = prompter.request(group, {"text": "We need work.", "place": "Here"}, [shot])
        written = prompter.answer(group, shot)
        if request.schema:
            jsonschema.validate(json.loads(written), dict(request.schema))
        source = "We need work first, and clean air after that. Here"
        read = parse_replies(written, group, source)
        assert {id_: one.rationale if id_ == "side-words" else one.value for id_, one in read.items()} == dict(
            shot.answers
        )
        asked = request.messages[-1].content
        assert ("to the last" in asked) == ("aims.jobs" in read)
        assert ("copied from the text" in asked) == ("side-words" in read)
