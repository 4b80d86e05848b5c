"""The same contract for every provider: what is asked arrives, what comes back is read alike, faults are told alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from vantage.instruments import MultipleChoice, Question
from vantage.raters.answers import answer_schema
from vantage.raters.models import Message, ModelError, Request, Sampling, load_model
from vantage.raters.models.remote import RemoteModel
from vantage.scales import Scale

from .endpoint import Answer, Endpoint
from .providers import DIALECTS, SIZES, Dialect, Served, base_url

QUESTION = (
    Message("system", "Rate."),
    Message("user", "Hm."),
    Message("assistant", "3"),
    Message("user", "A lovely day"),
)
SCHEMA = {
    "type": "object",
    "properties": {"rating": {"type": "integer", "enum": [1, 2]}},
    "required": ["rating"],
    "additionalProperties": False,
}
Script = Callable[[dict[str, Any]], Served]

pytestmark = [
    pytest.mark.parametrize("dialect", DIALECTS, ids=lambda d: d.name + "".join(f"+{v}" for v in d.settings.values())),
    pytest.mark.xdist_group("providers"),  # their clients take seconds to import
]


class Lab:
    """Loads models of a dialect that talk to an endpoint with a script."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch, self.models = monkeypatch, list[RemoteModel]()

    def model(self, dialect: Dialect, endpoint: Endpoint, **settings: Any) -> RemoteModel:
        for name, value in dialect.environment.items():
            self.monkeypatch.setenv(name, value)
        url = base_url(dialect, endpoint)
        told = {"max_retries": 0, "timeout": 10, "base_url": url, **dialect.settings, **settings}
        loaded = load_model(dialect.name, **told)
        assert isinstance(loaded, RemoteModel)
        self.models.append(loaded)
        return loaded


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    for name in ("OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT", "OPENAI_API_VERSION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    made = Lab(monkeypatch)
    yield made
    for model in made.models:
        model.close()


def asked(lab: Lab, dialect: Dialect, script: Script, request: Request, **settings: Any) -> Any:
    with Endpoint(dialect.reply(script)) as endpoint:
        model = lab.model(dialect, endpoint, **settings)
        (answer,) = model.complete([request])
    return answer, endpoint, model


def test_what_is_asked_arrives_and_what_comes_back_is_read(lab: Lab, dialect: Dialect) -> None:
    request = Request(QUESTION, Sampling(temperature=0.5, max_tokens=40, seed=11), SCHEMA)
    answer, endpoint, _ = asked(lab, dialect, lambda _: Served('{"rating": 2}'), request)
    assert (answer.text, answer.finish, answer.error) == ('{"rating": 2}', "stop", "")
    assert (answer.prompt_tokens, answer.completion_tokens) == (20, 7)
    assert answer.cached_tokens == 3
    body = endpoint.requests[0]
    assert endpoint.paths[0].endswith(dialect.path)
    assert dialect.system(body) == "Rate."
    assert dialect.limit(body) == 40
    assert dialect.schema(body) == {name: part for name, part in SCHEMA.items() if name not in dialect.unknown}
    assert ("11" in str(body)) == dialect.takes_seed
    assert ("0.5" in str(body)) == dialect.takes_temperature
    assert str(body).count("A lovely day") == str(body).count("Hm.") == 1
    # Only Anthropic has to be told to keep what prompts share.
    assert ("cache_control" in str(body)) == dialect.name.startswith("anthropic:")


def test_thinking_is_kept_apart_from_the_answer(lab: Lab, dialect: Dialect) -> None:
    served = Served("4", thinking="Lovely, so high.", thought=5)
    answer, _, _ = asked(lab, dialect, lambda _: served, Request(QUESTION))
    assert (answer.text, answer.thinking) == ("4", "Lovely, so high.")
    assert answer.reasoning_tokens == (5 if dialect.counts_thinking else 0)


def test_how_a_reply_ended(lab: Lab, dialect: Dialect) -> None:
    cut, _, _ = asked(lab, dialect, lambda _: Served("4 bec", finish="length"), Request(QUESTION))
    assert (cut.text, cut.finish) == ("4 bec", "length")
    filtered, endpoint, _ = asked(
        lab, dialect, lambda _: Served("", finish="filtered"), Request(QUESTION), max_retries=3
    )
    assert (filtered.finish, filtered.error) == ("filtered", "")
    assert filtered.category
    assert len(endpoint.requests) == 1


def test_a_full_server_is_asked_again_after_the_wait_that_it_asks_for(lab: Lab, dialect: Dialect) -> None:
    answers = iter(
        [
            Served(status=429, headers={"retry-after": "0.01"}),
            Served(status=500, headers={"retry-after": "0"}),
            Served("4"),
        ]
    )
    answer, endpoint, _ = asked(lab, dialect, lambda _: next(answers), Request(QUESTION), max_retries=2)
    assert (answer.text, answer.finish) == ("4", "stop")
    assert len(endpoint.requests) == 3


def test_a_lasting_fault_is_told_in_one_sentence(lab: Lab, dialect: Dialect) -> None:
    answer, endpoint, _ = asked(
        lab,
        dialect,
        lambda _: Served(status=400, message="messages: roles must alternate"),
        Request(QUESTION),
        max_retries=2,
    )
    assert answer.finish == "failed"
    assert "refuses the request (400: " in answer.error
    assert "roles must alternate" in answer.error
    assert len(endpoint.requests) == 1


def test_a_refused_key_is_not_quoted(lab: Lab, dialect: Dialect) -> None:
    answer, _, model = asked(lab, dialect, lambda _: Served(status=401, message="bad key k-123456"), Request(QUESTION))
    assert "refuses the key (401)" in answer.error
    assert "k-123456" not in answer.error + repr(model) + " ".join(model.notes)


def test_a_schema_that_is_refused_is_left_out(lab: Lab, dialect: Dialect) -> None:
    def script(body: dict[str, Any]) -> Served:
        try:
            dialect.schema(body)
        except LookupError:
            return Served("4")
        return Served(status=400, named=dialect.schema_field, message="In context=('answer'), 'enum' is not permitted")

    answer, endpoint, model = asked(lab, dialect, script, Request(QUESTION, schema=SCHEMA))
    assert answer.text == "4"
    assert len(endpoint.requests) == 2
    assert any("asked for in words only" in note for note in model.notes)


def test_a_schema_has_no_keyword_that_the_provider_refuses(lab: Lab, dialect: Dialect) -> None:
    def script(body: dict[str, Any]) -> Served:
        told = str(dialect.schema(body))
        named = [keyword for keyword in dialect.unknown if f"'{keyword}':" in told]
        if named:
            message = f"For 'integer' type, property '{named[0]}' is not supported"
            return Served(status=400, named=dialect.schema_field, message=message)
        return Served('{"rank": ["a", "b"]}')

    ranked = MultipleChoice("rank", "Rank", "Which?", Scale.labels("a", "b"), ranked=True)
    points = Question("points", "Points", "How many?", Scale.points(0, 100))
    words = Question("words", "Words", "Why?", Scale.free_text(40))
    asked_for = [*ranked.parts(), points, words]
    schema = answer_schema(asked_for, reason=False, together=True)
    assert all(f"'{keyword}'" in str(schema) for keyword in (*SIZES, "additionalProperties"))
    answer, endpoint, model = asked(lab, dialect, script, Request(QUESTION, schema=schema))
    assert (answer.text, len(endpoint.requests)) == ('{"rank": ["a", "b"]}', 1)
    assert list(dialect.schema(endpoint.requests[0])["properties"]) == ["rank", "points", "words"]
    assert not any("in words only" in note for note in model.notes)


def test_an_endpoint_that_is_gone_or_silent_is_told(lab: Lab, dialect: Dialect) -> None:
    with Endpoint() as endpoint:
        pass
    gone = lab.model(dialect, endpoint).complete([Request(QUESTION)])[0]
    assert (gone.finish, "cannot be reached" in gone.error) == ("failed", True)


def test_what_is_no_answer_at_all_is_told(lab: Lab, dialect: Dialect) -> None:
    with Endpoint(lambda _: Answer(raw="{}")) as endpoint:
        answer = lab.model(dialect, endpoint).complete([Request(QUESTION)])[0]
    assert answer.finish == "failed"
    assert "did not answer with a chat completion" in answer.error


def test_settings_pass_through(lab: Lab, dialect: Dialect) -> None:
    name = "thinking_config.thinking_budget" if dialect.name == "gemini:m" else "top_k"
    _, endpoint, _ = asked(lab, dialect, lambda _: Served("4"), Request(QUESTION), **{name: 17})
    assert "17" in str(endpoint.requests[0])


def test_options_are_scored_or_the_way_out_is_named(lab: Lab, dialect: Dialect) -> None:
    tops = {"A": math.log(0.6), "B": math.log(0.3), "The": math.log(0.1)}
    with Endpoint(dialect.reply(lambda _: Served("A", logprobs=tops))) as endpoint:
        model = lab.model(dialect, endpoint)
        assert model.tells_probabilities == dialect.tells_probabilities
        if dialect.tells_probabilities:
            scores = model.score([Request(QUESTION)], ["A", "B", "C"])
            assert scores.tolist() == [[pytest.approx(math.log(0.6)), pytest.approx(math.log(0.3)), -math.inf]]
        else:
            with pytest.raises(ModelError, match="use the style sampling"):
                model.score([Request(QUESTION)], ["A", "B", "C"])


def test_many_requests_keep_their_order(lab: Lab, dialect: Dialect) -> None:
    def script(body: dict[str, Any]) -> Served:
        return Served(next(word for word in ("n0n", "n1n", "n2n", "n3n", "n4n") if word in str(body)))

    with Endpoint(dialect.reply(script)) as endpoint:
        requests = [Request((Message("user", f"n{n}n"),)) for n in range(5)]
        answers = lab.model(dialect, endpoint, concurrency=3).complete(requests)
    assert [answer.text for answer in answers] == ["n0n", "n1n", "n2n", "n3n", "n4n"]


def test_no_key_no_model(lab: Lab, dialect: Dialect) -> None:
    if dialect.name.startswith("bedrock"):
        pytest.skip("credentials are found by the client, and missing ones are told by the first request")
    for name in dialect.environment:
        lab.monkeypatch.delenv(name, raising=False)
    lab.monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://openai.azure.com")
    with pytest.raises(ModelError, match="There is no key for"):
        load_model(dialect.name, **dialect.settings)
