from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vantage import ChatRater, InputError, Instrument, Scale, demo_corpus
from vantage.raters import Personas
from vantage.raters.conversation import ROWS, Ask, Conversation, Conversations
from vantage.raters.models.base import Completion, Message

INSTRUMENT = Instrument.load("warmth-competence")
COLUMNS = list(ROWS)


def talk(style: str = "zero-shot", clarify: bool = False, **options: Any) -> Conversation:
    corpus = demo_corpus()
    rater = ChatRater("openai:x", style, **options)
    call = next(rater.plan(corpus, INSTRUMENT, questions=["trust"]))
    return Conversations(rater, corpus, INSTRUMENT, clarify=clarify).about(call)


def drive(conversation: Conversation, answer: Callable[[Ask], Completion]) -> tuple[list[Ask], list[dict[str, Any]]]:
    """Leads a conversation to its end."""
    asks = [next(conversation)]
    while True:
        try:
            asks.append(conversation.send(answer(asks[-1])))
        except StopIteration as end:
            return asks, [dict(zip(COLUMNS, row, strict=True)) for row in end.value]


def test_one_question_one_reply() -> None:
    asks, (row,) = drive(talk(), lambda ask: Completion("2"))
    assert len(asks) == 1
    assert (row["item"], row["question"], row["value"], row["status"], row["reply"]) == (
        *("s01", "trust"),
        *(2.0, "answered", "2"),
    )


def test_a_bare_answer_is_read_as_any_other() -> None:
    corpus, rater = demo_corpus(), ChatRater("openai:x")
    conversations = Conversations(rater, corpus, INSTRUMENT)
    rows = []
    for call in list(rater.plan(corpus, INSTRUMENT, questions=["trust"]))[:4]:
        for text in ("2", "2", "-3", "maybe 1", "purple"):
            rows += drive(conversations.about(call), lambda ask, text=text: Completion(text))[1]  # type: ignore[misc]
    assert [row["value"] for row in rows[:5]] == [2, 2, -3, None, None]
    assert [row["rule"] for row in rows[:5]] == [row["rule"] for row in rows[15:]]


def test_two_steps_carry_the_answer_and_the_sample_on() -> None:
    asks, (row,) = drive(
        talk("two-step", samples=1, seed=7), lambda ask: Completion("2" if ask.step == "answer" else " As it says. ")
    )
    assert [ask.step for ask in asks] == ["answer", "why"]
    assert asks[1].request.messages[-2].content == "2"
    assert asks[1].request.sampling.seed == 7
    assert row["rationale"] == "As it says."


def test_reasons_in_a_turn_of_their_own_are_the_rationale_of_the_answer_alone() -> None:
    said = {"reasons": " It praises them. Answer: 3 ", "answer": "2"}
    asks, (row,) = drive(talk("reasoning+two-step", seed=7), lambda ask: Completion(said[ask.step]))
    assert [ask.step for ask in asks] == ["reasons", "answer"]
    assert [message.role for message in asks[1].request.messages[-3:]] == ["user", "assistant", "user"]
    assert asks[1].request.sampling.seed == 7
    assert (row["value"], row["reply"], row["rule"]) == (2.0, "2", "whole:number")
    assert row["rationale"] == "It praises them. Answer: 3"


@pytest.mark.parametrize(("finish", "status"), [("failed", "failed"), ("filtered", "refused")])
def test_where_there_are_no_reasons_no_answer_is_asked_for(finish: Any, status: str) -> None:
    asks, (row,) = drive(talk("reasoning+two-step"), lambda ask: Completion("", finish, error="gone"))
    assert len(asks) == 1
    assert (row["question"], row["value"], row["status"]) == ("trust", None, status)


def test_a_failed_answer_is_not_asked_why() -> None:
    asks, (row,) = drive(talk("two-step"), lambda ask: Completion("", "failed", error="gone"))
    assert len(asks) == 1
    assert (row["status"], row["reply"], row["rule"]) == ("failed", "gone", "failed")


@pytest.mark.parametrize(("relevance", "asked"), [("Answer: 9", 2), ("Answer: 2", 1), ("no idea", 1)])
def test_a_selective_persona_goes_on_only_where_it_is_relevant(relevance: str, asked: int) -> None:
    persona = Personas.load("pool")[0]
    asks, rows = drive(
        talk("selective-persona", persona=persona),
        lambda ask: Completion(relevance if ask.step == "relevance" else "1"),
    )
    assert len(asks) == asked
    assert [row["question"] for row in rows] == ["warmth-competence-relevance", "trust"][:asked]


def test_a_model_whose_reply_cannot_be_read_is_asked_once_which_answer_it_gave() -> None:
    asks, (row,) = drive(talk(clarify=True, seed=5), lambda ask: Completion("1" if ask.step == "clarify" else "purple"))
    first, second = (ask.request for ask in asks)
    assert second.messages[:-2] == first.messages
    assert second.messages[-2] == Message("assistant", "purple")
    assert "State the answer that you have just given" in second.messages[-1].content
    assert second.sampling == first.sampling
    assert (row["value"], row["status"], row["rule"]) == (1.0, "answered", "clarified:whole:number")
    assert row["reply"] == "purple\n\n[Asked for the answer alone:]\n1"


@pytest.mark.parametrize("stated", ["no single answer", "green", "1 or 2"])
def test_what_a_model_cannot_state_stays_as_it_was_read(stated: str) -> None:
    asks, (row,) = drive(talk(clarify=True), lambda ask: Completion(stated if ask.step == "clarify" else "2 or 3"))
    assert len(asks) == 2
    assert (row["value"], row["status"], row["rule"], row["reply"]) == (None, "unparsed", "range", "2 or 3")


@pytest.mark.parametrize(
    "completion",
    [
        Completion("2"),
        Completion("I can't rate people."),
        Completion("", "failed", error="gone"),
        Completion("", "filtered"),
        Completion("At first glance", "length"),
        Completion("", thinking="So much to think about"),
    ],
)
def test_nothing_is_clarified_where_there_is_an_answer_or_nothing_to_state(completion: Completion) -> None:
    asks, _ = drive(talk(clarify=True), lambda ask: completion)
    assert len(asks) == 1


def test_of_several_questions_only_those_are_clarified_that_could_not_be_read() -> None:
    instrument = Instrument.load("warmth-competence")
    corpus, rater = demo_corpus(), ChatRater("openai:x", "together")
    call = next(rater.plan(corpus, instrument))
    replies = {"answer": '{"trust": 2, "sociability": "2 or 3"}', "clarify": '{"trust": -3, "sociability": 3}'}
    asks, rows = drive(
        Conversations(rater, corpus, instrument, clarify=True).about(call), lambda ask: Completion(replies[ask.step])
    )
    assert asks[1].request.schema is None
    assert [(row["question"], row["value"], row["rule"].partition(":")[0]) for row in rows] == [
        ("trust", 2.0, "json"),
        ("sociability", 3.0, "clarified"),
        ("competence", None, "missing"),
    ]
    assert rows[0]["reply"] == replies["answer"]


def test_a_reason_is_asked_for_after_the_answer_that_was_stated() -> None:
    said = {"answer": "purple", "clarify": "1", "why": "As it says."}
    asks, (row,) = drive(talk("two-step", clarify=True), lambda ask: Completion(said[ask.step]))
    assert [m.content for m in asks[2].request.messages if m.role == "assistant"][-2:] == ["purple", "1"]
    assert (row["value"], row["rationale"]) == (1.0, "As it says.")


def test_recorded_replies_and_printed_prompts_have_no_second_turn() -> None:
    rater = ChatRater("recorded:replies.csv")
    assert not Conversations(rater, demo_corpus(), INSTRUMENT, clarify=True).clarify


def test_options_are_scored_and_a_scale_without_any_is_told() -> None:
    asks, (row,) = drive(talk("scoring"), lambda ask: Completion("", scores=tuple(-1.0 for _ in ask.options)))
    assert asks[0].options == ("B", "C", "D", "E", "F", "G", "H")
    assert row["scores"] == [-1.0] * 7
    free = Instrument.of_questions("free", "Free", {"degrees": Scale.continuous(0, 1)})
    corpus, rater = demo_corpus(), ChatRater("openai:x", "scoring")
    call = next(rater.plan(corpus, free))
    with pytest.raises(InputError, match="no options to compare"):
        next(Conversations(rater, corpus, free).about(call))


def test_scales_that_first_tokens_cannot_tell_apart_get_letters_at_endpoints_only() -> None:
    asks, _ = drive(talk("scoring+few-shot:1"), lambda ask: Completion("", scores=(-1.0,) * 7))
    system, *_, example, _ = asks[0].request.messages
    assert "B = -3" in system.content
    assert "Reply with B, C, D, E, F, G or H, and nothing else." in system.content
    assert example.content in "BCDEFGH"
    here = ChatRater("gguf:model.gguf", "scoring")
    call = next(here.plan(demo_corpus(), INSTRUMENT, questions=["trust"]))
    assert "-3 = " in call.request.messages[0].content
    coarse = talk_about(Instrument.of_questions("w", "W", {"w": Scale.points(1, 5)}), "scoring")
    assert next(coarse).options == ("1", "2", "3", "4", "5")
    many = Instrument.of_questions("m", "M", {"m": Scale.points(0, 30)})
    with pytest.raises(InputError, match="more options than there are letters"):
        next(talk_about(many, "scoring"))


def test_options_can_be_scored_after_reasons() -> None:
    def answer(ask: Ask) -> Completion:
        return (
            Completion("<think>Hm.</think>It is kind.")
            if ask.step == "reasons"
            else Completion("A", scores=(-1.0,) * 7)
        )

    asks, (row,) = drive(talk("reasoning+scoring"), answer)
    assert [ask.step for ask in asks] == ["reasons", "answer"]
    assert "only your reasons" in asks[0].request.messages[0].content
    assert [m.role for m in asks[1].request.messages] == ["system", "user", "assistant", "user"]
    assert asks[1].request.messages[2].content == "It is kind."
    assert asks[1].request.messages[3].content.startswith("Now give your answer. Reply with B, C")
    assert (row["rationale"], row["scores"]) == ("It is kind.", [-1.0] * 7)
    _, (failed,) = drive(talk("reasoning+scoring"), lambda ask: Completion("", "failed", error="No."))
    assert (failed["status"], failed["reply"]) == ("failed", "No.")


def test_a_distribution_from_samples_counts_what_was_said() -> None:
    said = iter(["2", "2", "3", "purple", "Answer: 2", "2", "3", "2", "2", "2"])
    asks, (row,) = drive(talk("sampling:10", seed=5), lambda ask: Completion(next(said)))
    assert [ask.request.sampling.seed for ask in asks] == list(range(5, 15))
    assert {ask.request.sampling.temperature for ask in asks} == {1.0}
    assert np.exp(row["scores"]) == pytest.approx([0, 0, 0, 0, 0, 0.7, 0.2])
    assert (row["rule"], row["reply"]) == ("sampling", "2 × 7, 3 × 2, unparsed × 1")
    _, (refused,) = drive(talk("sampling:3"), lambda ask: Completion("I'm sorry, but I can't rate people."))
    assert (refused["status"], refused["scores"]) == ("refused", None)
    _, (failed,) = drive(talk("sampling:3"), lambda ask: Completion("", "failed", error="Gone."))
    assert (failed["status"], failed["reply"]) == ("failed", "Gone.")


def test_a_filter_refuses_with_its_category_whatever_was_written() -> None:
    _, (row,) = drive(talk(), lambda ask: Completion("2 bec", "filtered", category="violence"))
    assert (row["value"], row["status"], row["rule"], row["rationale"]) == (None, "refused", "filtered", "violence")
    _, (scored,) = drive(talk("scoring"), lambda ask: Completion("", "filtered", category="hate"))
    assert (scored["status"], scored["rule"], scored["rationale"]) == ("refused", "filtered", "hate")


@pytest.mark.parametrize(
    ("completion", "reply", "thinking", "rule"),
    [
        (Completion("<think>1? 2.</think>2"), "2", "1? 2.", "whole:number"),
        (Completion("2", thinking="Kind."), "2", "Kind.", "whole:number"),
        (Completion("", "length", thinking="Let me see"), "", "Let me see", "thinking"),
        (Completion("<think>Let me see, 2", "length"), "", "Let me see, 2", "thinking"),
        (Completion("", "length", reasoning_tokens=512), "", None, "thinking"),
        (Completion("", "length"), "", None, "cut"),
        (Completion("I would say that he is very", "length"), "I would say that he is very", None, "cut"),
    ],
)
def test_thinking_is_kept_apart_and_an_empty_reply_says_why(
    completion: Completion, reply: str, thinking: str | None, rule: str
) -> None:
    _, (row,) = drive(talk(), lambda ask: completion)
    assert (row["reply"], row["thinking"], row["rule"]) == (reply, thinking, rule)


def talk_about(instrument: Instrument, style: str) -> Conversation:
    corpus, rater = demo_corpus(), ChatRater("openai:x", style)
    return Conversations(rater, corpus, instrument).about(next(rater.plan(corpus, instrument)))
