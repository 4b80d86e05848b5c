"""Chat raters at work: every style against a real HTTP endpoint, and the embedded model through every style."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from tests.raters.models.endpoint import Answer, Endpoint
from vantage import ChatRater, Corpus, InputError, Instrument, demo_corpus, rate
from vantage.raters import Personas
from vantage.raters.asked import CUT
from vantage.raters.models import load_model
from vantage.raters.models.base import ChatModel, Completion, LogProbs, Request
from vantage.runs import JudgedPart, RunPlan
from vantage.runs.rating import RunEnded, carried_out

INSTRUMENT = Instrument.load("warmth-competence")
ADA = Personas.load("pool")[0]
ITEMS = ["s01", "s02", "s04"]


def corpus() -> Corpus:
    return demo_corpus().filter(item=ITEMS)


def judge(rater: ChatRater, items: Corpus, instrument: Instrument, **options: Any) -> JudgedPart:
    return carried_out(RunPlan.of(items, rater, instrument, **options), None).judged[0]


def last(body: dict[str, Any]) -> str:
    content: str = body["messages"][-1]["content"]
    return content


def answering(body: dict[str, Any]) -> str:
    """A model that follows the form it is asked for."""
    asked = last(body)
    if "Why is this your answer?" in asked:
        return "Because of what the sentence says."
    if "how relevant is it to your own life" in asked:
        return "Occasion: I once lost a wallet.\nAnswer: 8" if "wallet" in asked else "Occasion: none.\nAnswer: 2"
    if '"trust": ' in asked:
        inside = {"reason": "As it says.", "answer": -1}
        plain = "reason" not in asked
        return json.dumps(dict.fromkeys(("trust", "sociability", "competence"), -1 if plain else inside))
    if "JSON object" in asked:
        return json.dumps({"reason": "As it says.", "answer": 2} if '"reason"' in asked else {"answer": 2})
    if "First give your reasons" in asked:
        return "The wallet came back, which speaks for the target.\nAnswer: 2"
    if "low, neutral or high" in asked:
        return "high"
    return "2"


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key-that-stays-secret")
    with Endpoint(answering) as running:
        yield running


def rater(endpoint: Endpoint, style: str, **options: Any) -> ChatRater:
    return ChatRater("openai:tester", style, settings={"base_url": endpoint.url}, **options)


@pytest.mark.parametrize(
    "style",
    [
        *("zero-shot", "few-shot:2", "reasoning", "few-shot:2+reasoning", "two-step", "json", "json+reasoning"),
        *("together", "together+reasoning", "coarse", "few-shot:2+coarse"),
    ],
)
def test_plain_styles(endpoint: Endpoint, style: str) -> None:
    rated = rate(corpus(), rater(endpoint, style), INSTRUMENT)
    mine = rated.judgments.filter(rater=f"openai:tester+{rater(endpoint, style).parts.name}")
    assert mine.height == len(ITEMS) * 3
    assert mine["status"].unique().to_list() == ["answered"]
    expected = -1.0 if "together" in style else 1.0 if "coarse" in style else 2.0
    assert mine["value"].unique().to_list() == [expected]
    if "reasoning" in style or style == "two-step":
        assert mine["rationale"].null_count() == 0
    if style == "two-step":
        assert len(endpoint.requests) == 2 * mine.height
    if "few-shot" in style:
        roles = [message["role"] for message in endpoint.requests[0]["messages"]]
        assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    row = rated.raters.filter(pl.col("kind") == "model").row(0, named=True)
    assert (row["model"], row["style"]) == ("openai:tester", rater(endpoint, style).parts.name)


@pytest.mark.parametrize("style", ["persona", "persona+reasoning"])
def test_a_persona_plays_the_rater(endpoint: Endpoint, style: str) -> None:
    rated = rate(corpus(), rater(endpoint, style, persona=ADA), INSTRUMENT, questions=["trust"])
    name = f"openai:tester+{rater(endpoint, style, persona=ADA).parts.name}/{ADA.id}"
    assert rated.judgments.filter(rater=name).height == len(ITEMS)
    row = rated.raters.filter(rater=name).row(0, named=True)
    assert (row["kind"], row["persona"], row["age"]) == ("persona", ADA.id, ADA.age)
    assert ADA.name is not None
    assert ADA.name in endpoint.requests[0]["messages"][0]["content"]


def test_a_selective_persona_answers_only_what_is_relevant(endpoint: Endpoint) -> None:
    rated = rate(
        corpus(), rater(endpoint, "selective-persona", persona=ADA, samples=2), INSTRUMENT, questions=["trust"]
    )
    mine = rated.judgments.filter(pl.col("rater").str.starts_with("openai:"))
    relevance = mine.filter(question="warmth-competence-relevance")
    assert relevance.select("item", "value").sort("item").rows() == [("s01", 8), ("s02", 2), ("s04", 2)]
    assert relevance.filter(item="s01")["rationale"][0] is not None
    answers = mine.filter(question="trust")
    assert answers.select("item", "sample").rows() == [("s01", 0), ("s01", 1)]


def test_a_perspective_gives_one_trait(endpoint: Endpoint) -> None:
    rate(corpus(), rater(endpoint, "perspective:gender", user="r5"), INSTRUMENT, questions=["trust"])
    assert "Gender: nonbinary" in endpoint.requests[0]["messages"][0]["content"]
    for style, user, sentence in (
        ("perspective:gendr", "r5", "no trait 'gendr'; did you mean 'gender'"),
        ("perspective:gender", "r55", "no rater 'r55'"),
    ):
        with pytest.raises(InputError, match=sentence):
            rate(corpus(), rater(endpoint, style, user=user), INSTRUMENT)


def test_a_user_is_told_by_a_trait_and_shown_by_earlier_answers_of_another_part(endpoint: Endpoint) -> None:
    whole = demo_corpus()
    judged = whole.filter(target="the baker")
    known = whole.filter(pl.col("target") != "the baker")
    trait = whole.traits[0]
    asked = rater(endpoint, f"perspective:{trait}+history:2", user="r1", training=known)
    rate(judged, asked, INSTRUMENT, questions=["trust"])
    value = whole.raters.filter(rater="r1")[trait][0]
    for request in endpoint.requests:
        system, *shown, _ = [message["content"] for message in request["messages"]]
        assert f"{trait.capitalize()}: {value}." in system
        assert len(shown) == 4
        assert not any(text in example for example in shown for text in judged.items["text"])


def test_a_user_without_history_is_refused_by_name(endpoint: Endpoint) -> None:
    with pytest.raises(InputError, match="user 'nobody' has answered 'trust' about no item"):
        rate(demo_corpus(), rater(endpoint, "history:2", user="nobody"), INSTRUMENT, questions=["trust"])


def test_a_history_shows_the_users_own_answers(endpoint: Endpoint) -> None:
    whole = demo_corpus()
    rate(whole.filter(target="the baker"), rater(endpoint, "history:2", user="r1"), INSTRUMENT, questions=["trust"])
    own = whole.judgments.filter(rater="r1", question="trust")
    for body in endpoint.requests:
        shown = [m["content"] for m in body["messages"]]
        assert len(shown) == 6
        for asked, answered in ((shown[1], shown[2]), (shown[3], shown[4])):
            text = re.search(r"Sentence: (.*)", asked)
            assert text is not None
            item = whole.items.filter(text=text[1])["item"][0]
            assert float(answered) == own.filter(item=item)["value"][0]
            assert text[1] not in shown[-1]


def test_samples_have_their_own_seeds_and_rows(endpoint: Endpoint) -> None:
    judged = judge(rater(endpoint, "zero-shot", samples=3, temperature=1.0), corpus(), INSTRUMENT, questions=["trust"])
    assert judged.judgments["sample"].unique().sort().to_list() == [0, 1, 2]
    assert {body["seed"] for body in endpoint.requests} == {0, 1, 2}
    assert judged.prompt_tokens > 0


def test_what_was_answered_is_not_asked_again(endpoint: Endpoint) -> None:
    once = rate(corpus(), rater(endpoint, "zero-shot"), INSTRUMENT, questions=["trust"])
    sent = len(endpoint.requests)
    twice = rate(once, rater(endpoint, "zero-shot"), INSTRUMENT, questions=["trust", "competence"])
    assert len(endpoint.requests) == sent + len(ITEMS)
    assert twice.judgments.height == once.judgments.height + len(ITEMS)


@pytest.mark.parametrize(
    ("answer", "status", "value"),
    [
        (Answer("I'm sorry, but I can't rate people."), "refused", None),
        (Answer("", finish="content_filter"), "refused", None),
        (Answer("purple"), "unparsed", None),
        (Answer("7"), "unparsed", None),
        (Answer(""), "unparsed", None),
        (Answer(status=404, error={"message": "no such model"}), "failed", None),
        (Answer("-3"), "answered", -3.0),
    ],
)
def test_every_reply_ends_as_a_judgment(endpoint: Endpoint, answer: Answer, status: str, value: float | None) -> None:
    endpoint.reply = lambda body: answer
    judged = judge(rater(endpoint, "zero-shot"), corpus(), INSTRUMENT, questions=["trust"])
    assert judged.judgments.height == len(ITEMS)
    assert judged.judgments["status"].unique().to_list() == [status]
    assert judged.judgments["value"].to_list() == [value] * len(ITEMS)
    assert judged.judgments["rule"].null_count() == 0


def test_the_key_is_nowhere_in_what_is_kept(endpoint: Endpoint) -> None:
    endpoint.reply = lambda body: Answer(status=401, error={"message": "bad key test-key-that-stays-secret"})
    with pytest.raises(RunEnded) as ended:
        rate(corpus(), rater(endpoint, "zero-shot"), INSTRUMENT, questions=["trust"])
    assert endpoint.headers[0]["authorization"] == "Bearer test-key-that-stays-secret"
    assert "stays-secret" not in repr(ended.value.outcome)
    assert "stays-secret" not in repr(rater(endpoint, "zero-shot"))


def test_scoring_gives_the_whole_distribution(endpoint: Endpoint) -> None:
    endpoint.reply = lambda body: Answer("C", logprobs={"B": -2.0, "C": -0.2, "D": -4.0, "The": -3.0})
    items = pl.DataFrame({"item": ["a", "b"], "text": ["Sure.", "Fine."]})
    empty = demo_corpus().judgments.clear()
    plain = Corpus(items, demo_corpus().raters, empty, Instrument.load("sarcasm"))
    judged = judge(rater(endpoint, "scoring"), plain, Instrument.load("sarcasm"), condition="static")
    assert judged.judgments["value"].to_list() == [1, 1]
    for chances in judged.judgments["probabilities"].to_list():
        assert len(chances) == 3
        assert sum(chances) == pytest.approx(1)
        assert chances[1] == max(chances)


def test_what_cannot_be_scored_has_failed(endpoint: Endpoint) -> None:
    def reply(body: dict[str, Any]) -> Answer:
        if "Fine." in last(body):
            return Answer(status=400, error={"message": "no"})
        return Answer("C", logprobs={"B": -2.0, "C": -0.2, "D": -4.0})

    endpoint.reply = reply
    items = pl.DataFrame({"item": ["a", "b"], "text": ["Sure.", "Fine."]})
    plain = Corpus(items, demo_corpus().raters, demo_corpus().judgments.clear(), Instrument.load("sarcasm"))
    for calibrate in (False, True):
        scorer = rater(endpoint, "scoring", calibrate=calibrate)
        judged = judge(scorer, plain, Instrument.load("sarcasm"), condition="static")
        assert judged.judgments.select("status", "value").rows() == [("answered", 1), ("failed", None)]


class Windowed:
    """A model with a small window that counts words as tokens and repeats what it was asked."""

    name = "windowed"

    def __init__(self) -> None:
        self.window: int | None = 700
        self.notes: list[str] = []
        self.asked: list[Request] = []

    def complete(self, requests: Any) -> list[Completion]:
        self.asked += requests
        return [Completion("1") for _ in requests]

    def score(self, requests: Any, options: Any) -> LogProbs:
        raise AssertionError

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def close(self) -> None: ...


def test_an_item_that_is_too_long_is_cut_and_counted() -> None:
    model = Windowed()
    long = pl.DataFrame({"item": ["long", "short"], "text": ["word " * 3000, "Short."], "target": ["Bo", "Bo"]})
    corpus = Corpus(long, demo_corpus().raters, demo_corpus().judgments.clear(), INSTRUMENT)
    judged = judge(ChatRater(model, max_tokens=50), corpus, INSTRUMENT, questions=["trust"])
    assert judged.truncated == 1
    assert any("1 prompt was shortened" in note for note in judged.notes)
    first, second = (request.messages[-1].content for request in model.asked)
    assert CUT in first
    assert first.endswith(second[second.index("Target: Bo") :])
    assert CUT not in second
    assert sum(len(m.content.split()) for m in model.asked[0].messages) <= 700
    model.window = 100
    with pytest.raises(InputError, match="the instructions alone have more tokens"):
        judge(ChatRater(model, max_tokens=50), corpus, INSTRUMENT, questions=["trust"])


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ChatRater("embedded", "persona"), "needs a persona"),
        (lambda: ChatRater("embedded", "zero-shot", persona=ADA), "has no place for a persona"),
        (lambda: ChatRater("embedded", "history"), "needs a user"),
        (lambda: ChatRater("embedded", samples=0), "0 samples"),
        (lambda: ChatRater("embedded", "scoring", samples=2), "leave samples at 1"),
        (lambda: ChatRater("embedded", "zeroshot"), "did you mean 'zero-shot'"),
    ],
)
def test_raters_that_make_no_sense_are_refused(make: Callable[[], ChatRater], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        make()


def test_an_unknown_condition_or_question_is_told(endpoint: Endpoint) -> None:
    sarcasm = Instrument.load("sarcasm")
    with pytest.raises(InputError, match="no condition 'statc'; did you mean 'static'"):
        rate(corpus(), rater(endpoint, "zero-shot"), sarcasm, condition="statc")
    with pytest.raises(InputError, match="no question 'trst'; did you mean 'trust'"):
        rate(corpus(), rater(endpoint, "zero-shot"), INSTRUMENT, questions=["trst"])


SHORT = Instrument.of_questions("short", "Short", {"kind": Instrument.load("sarcasm").questions[0].scale})


@pytest.fixture(scope="module")
def embedded() -> Iterator[ChatModel]:
    model = load_model("embedded")
    yield model
    model.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "style",
    [
        *("zero-shot", "few-shot:1", "reasoning", "two-step", "json", "together", "scoring"),
        *("persona", "selective-persona", "perspective:gender", "history:1"),
    ],
)
def test_the_embedded_model_answers_in_every_style(embedded: ChatModel, style: str) -> None:
    options: dict[str, Any] = {"max_tokens": 12}
    if "persona" in style:
        options["persona"] = Personas.load("control")[0]
    if style.startswith(("perspective", "history")):
        options["user"] = "r1"
    whole = demo_corpus()
    answers = pl.DataFrame({"item": ["s02"], "question": "kind", "rater": "r1", "value": [1.0]})
    items = whole.add(answers, instruments=SHORT).filter(item=["s01", "s02"])
    if style.startswith(("few-shot", "history")):
        options["training"] = items
    if style != "scoring":
        items = items._with(items=items.items.filter(item="s01"), judgments=items.judgments.filter(item="s01"))
    judged = judge(ChatRater(embedded, style, **options), items, SHORT)
    assert set(judged.judgments["question"]) <= {"kind", "short-relevance"}
    assert judged.judgments.height == (2 if style == "scoring" else 1) or style == "selective-persona"
    assert set(judged.judgments["status"]) <= {"answered", "ambiguous", "refused", "unparsed"}
    if style == "scoring":
        assert judged.judgments["probabilities"].list.sum().to_list() == pytest.approx([1, 1])


@pytest.mark.slow
def test_the_embedded_model_gives_coarse_answers(embedded: ChatModel) -> None:
    items = demo_corpus().filter(item="s01")
    judged = judge(ChatRater(embedded, "coarse+scoring"), items, INSTRUMENT, questions=["trust"])
    row = judged.judgments.row(0, named=True)
    assert row["question"] == "trust-coarse"
    assert row["value"] in (-1, 0, 1)
    assert -1 < row["expected"] < 1


def test_a_run_that_ends_early_is_told_with_what_there_is(endpoint: Endpoint) -> None:
    endpoint.reply = lambda body: Answer(status=401, error={"message": "no"})
    with pytest.raises(RunEnded, match="refuses the key") as ended:
        rate(demo_corpus(), rater(endpoint, "zero-shot"), INSTRUMENT)
    assert ended.value.outcome.judged[0].missing == 90


def test_a_rater_is_not_asked_with_other_settings_under_the_same_id(endpoint: Endpoint) -> None:
    cold = ChatRater("openai:tester", settings={"base_url": endpoint.url})
    rated = rate(corpus(), cold, INSTRUMENT, questions=["trust"])
    with pytest.raises(InputError, match=r"other settings \(then temperature=0\.0, now temperature=1\.0\)"):
        rate(rated, replace(cold, temperature=1.0, samples=2), INSTRUMENT, questions=["trust"])
    warm = rate(rated, replace(cold, temperature=1.0, samples=2, name="warm"), INSTRUMENT, questions=["trust"])
    assert warm.judgments.filter(rater="warm").height == 2 * len(ITEMS)
    document = json.loads(json.dumps(dict(INSTRUMENT.document)).replace("How trustworthy", "How dishonest"))
    with pytest.raises(InputError, match="before the instrument 'warmth-competence' changed"):
        rate(rated, cold, Instrument.from_document(document), questions=["trust"])


def test_a_reply_that_was_cut_is_asked_for_again_with_more_tokens(endpoint: Endpoint) -> None:
    endpoint.reply = lambda body: Answer(
        "2" if body["max_tokens"] > 8 else "Let me", finish="stop" if body["max_tokens"] > 8 else "length"
    )
    short = ChatRater("openai:tester", max_tokens=8, settings={"base_url": endpoint.url})
    rated = rate(corpus(), short, INSTRUMENT, questions=["trust"])
    assert set(rated.judgments.filter(rater=short.id)["rule"]) == {"cut"}
    rated = rate(rated, replace(short, max_tokens=64), INSTRUMENT, questions=["trust"])
    assert rated.judgments.filter(rater=short.id)["value"].to_list() == [2.0] * len(ITEMS)
