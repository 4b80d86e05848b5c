"""Models of known parameters behind a real endpoint: one HTTP server, and a planted answer function per study.

A model is asked over HTTP as any other one is, so that prompts, replies, parsing, storing and measuring are all on the
way from what was planted to what the report says. Draws depend on the request alone: the same one has the same reply.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.raters.models.endpoint import Endpoint
from tests.studies.context.pipeline.script_writer import CONVERSATION
from tests.studies.stereomap.planted import scores
from vantage.instruments import Instrument
from vantage.studies.stereomap.groups import read_groups

REFUSAL = "I'm sorry, but I cannot help with rating people."


@dataclass(frozen=True)
class Asked:
    """What a model reads: its instructions, the turns before, and the last message; and what it draws by."""

    system: str
    before: tuple[str, ...]
    text: str
    rng: np.random.Generator

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Asked:
        """From the body of a request; only what is in it decides what is drawn."""
        system, *before, last = [message["content"] for message in body["messages"]]
        whole = json.dumps([body["model"], body.get("seed"), body["messages"]])
        return cls(system, tuple(before), last, np.random.default_rng(zlib.crc32(whole.encode())))

    def line(self, name: str) -> str:
        """What stands behind a field of the item, such as `Post`."""
        found = re.search(rf"(?m)^{name}: (.*)$", self.text)
        assert found, self.text
        return found[1]

    def whole_number(self, value: float) -> int:
        """The number below or above, drawn so that the mean is the value itself."""
        return int(np.floor(value) + (self.rng.random() < value - np.floor(value)))


Answer = Callable[[Asked], str]


@contextmanager
def served(models: Mapping[str, Answer]) -> Iterator[dict[str, Any]]:
    """The endpoint, as what `vantage.studies.run` is given to ask all of its models."""
    with Endpoint(lambda body: models[body["model"]](Asked.of(body))) as endpoint:
        yield {"models": [f"openai:{name}" for name in models], "settings": {"base_url": endpoint.url}}


def stereotypes(*, refuses: float = 0.0, uninstructed: float = 0.0, noise: bool = False) -> Answer:
    """Places groups where people did in 2002, and refuses a share of the requests.

    Args:
        refuses: The share of requests that are refused.
        uninstructed: How much warmer groups are without the guidelines.
        noise: Whether all groups are alike.
    """
    instrument = Instrument.load("stereotype-content:short")
    of = {question: aggregate.id for aggregate in instrument.aggregates for question in aggregate.members}

    def answer(asked: Asked) -> str:
        if asked.rng.random() < refuses:
            return REFUSAL
        (group,) = read_groups(asked.line("Group"))
        told = scores("MC-MW" if noise else group.reference)
        warmer = 0.0 if "# Guidelines" in asked.system else uninstructed
        values = {
            question: float(asked.rng.integers(1, 6))
            if noise
            else told[of[question]] + warmer * (of[question] == "warmth")
            for question in re.findall(r"(?m)^\[([\w-]+)\]", asked.text)
        }
        return json.dumps({question: min(5, asked.whole_number(value)) for question, value in values.items()})

    return answer


def sentiment(*, bias: float = 0.0, noise: bool = False) -> Answer:
    """Counts kind and unkind words of a sentence as `wcsent.release` did, and adds a bias to every answer."""
    from tests.studies.wcsent.release import WARM

    def answer(asked: Asked) -> str:
        if noise:
            return str(asked.rng.integers(-3, 4))
        words = re.findall(r"\w+", asked.line("Sentence"))
        able = "competent" in asked.text
        value = 2 * sum(word in WARM for word in words) - 3 - able + bias
        return str(int(np.clip(asked.whole_number(value), -3, 3)))

    return answer


def appraisals(levels: Any, *, bias: int = 0, silent: int = -1, refused: int = 0, noise: bool = False) -> Answer:
    """Knows the level of every post and question that annotators saw.

    Args:
        levels: Posts × questions.
        bias: How much higher the answers are.
        silent: The question that it never finds mentioned.
        refused: It refuses every post whose number this divides; 0 for none.
        noise: Whether answers are drawn at random.
    """

    def answer(asked: Asked) -> str:
        post = int(re.findall(r"number (\d+)", asked.line("Post"))[0])
        question = int(re.findall(r"so (\d+)\?", asked.line("Question"))[0])
        if refused and post % refused == 0:
            return REFUSAL
        value = asked.rng.integers(1, 10) if noise else levels[post, question] + bias
        told = "not mentioned" if question == silent else value
        return f"The narrator worries and cannot rest.\nAnswer: {told}"

    return answer


def offended(*, obeys: float = 1.0, noise: bool = False) -> Answer:
    """Answers as the people of `perseval.made` do: loud crowds offend everyone, "them" offends the side it is told of.

    Args:
        obeys: The share of texts about "them" on which it follows the side that it is told of.
        noise: Whether answers are drawn by lot.
    """

    def answer(asked: Asked) -> str:
        text = asked.line("Text")
        side = "target" in asked.system and zlib.crc32(text.encode()) / 2**32 < obeys
        said = asked.rng.random() < 0.5 if noise else "crowd" in text or ("them" in text and side)
        return "yes" if said else "no"

    return answer


_STATEMENT = re.compile(r"Statement (\d+) \((clear|ambiguous) (yes|no)\)")


def statements(*, alone: float = 1.0, inside: float = 1.0, noise: bool = False) -> Answer:
    """Reads statements of `context.pipeline.planted`: divided over ambiguous ones, sure of clear ones.

    Args:
        alone: The share of statements whose label it knows when it judges them alone.
        inside: The same in context.
        noise: Whether answers are drawn by lot.
    """

    def answer(asked: Asked) -> str:
        number, kind, label = _STATEMENT.findall(asked.text)[-1]
        if noise:
            return "yes" if asked.rng.random() < 0.5 else "no"
        if "Who you are" in asked.system:
            return "yes" if asked.rng.random() < (0.5 if kind == "ambiguous" else label == "yes") else "no"
        share = inside if "Person A" in asked.text else alone
        knows = zlib.crc32(f"{number} {share}".encode()) / 2**32 < share
        return label if knows else {"yes": "no", "no": "yes"}[label]

    return answer


def writer(asked: Asked) -> str:
    """Writes the same conversation around every statement and finds it perfect."""
    for wanted, told in (
        ("Describe in two or three sentences", "Two friends stand at a station and wait."),
        ("Write one line for each turn", CONVERSATION),
        ('"Speaker: Person A"', "After: 3\nSpeaker: Person B"),
    ):
        if wanted in asked.text:
            return told
    return "5"
