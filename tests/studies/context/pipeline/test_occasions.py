"""What a persona recalls stands before the question it answers, so that the label follows from it."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from tests.studies.context.pipeline.planted import Planted, chance, planted_corpus
from vantage.context import Simulator, simulate
from vantage.raters.models.base import Request

MOCKED, PRAISED = "They mocked my first poem.", "They praised my first poem."


class Recalls(Planted):
    """Recalls an occasion by persona, and labels by what it recalled alone: without an occasion it has no answer."""

    def __init__(self, recalls: Callable[[str], str]) -> None:
        super().__init__("recalls")
        self.recalls, self.labelled = recalls, list[tuple[str, ...]]()

    def _reply(self, request: Request) -> str:
        if "how relevant is it" in request.messages[-1].content:
            return f"Occasion: {self.recalls(request.messages[0].content)}\nAnswer: 9"
        recalled = [turn.content for turn in request.messages[1:-1] if turn.role == "assistant"]
        self.labelled.append(tuple(recalled))
        return "yes" if any(MOCKED in turn for turn in recalled) else "no"


def labels(model: Recalls) -> pl.DataFrame:
    found = simulate(
        planted_corpus(["clear"] * 3),
        "sarcasm",
        Simulator(model, answers="sampling", count=8, samples=1, stop=0),
        "selective",
    )
    judged = found.corpus.filter(question="sarcasm").judgments
    return judged.filter(pl.col("rater").str.contains("recalls"), pl.col("value").is_not_null())


def test_the_occasion_that_a_persona_recalls_decides_its_label() -> None:
    def by_persona(system: str) -> str:
        return MOCKED if chance(system) < 0.5 else PRAISED

    model = Recalls(by_persona)
    mixed = labels(model)
    assert model.labelled
    assert all(len(turns) == 1 and turns[0].startswith("Occasion: They") for turns in model.labelled)
    # The same persona says the same about every text, and personas differ as their occasions do.
    by_rater = mixed.group_by("rater").agg(pl.col("value").n_unique().alias("answers"), pl.col("value").first())
    assert by_rater["answers"].to_list() == [1] * 8
    assert by_rater["value"].n_unique() == 2


def test_another_occasion_turns_every_label() -> None:
    mocked, praised = labels(Recalls(lambda _: MOCKED)), labels(Recalls(lambda _: PRAISED))
    assert mocked["value"].unique().to_list() == [1.0]
    assert praised["value"].unique().to_list() == [0.0]
