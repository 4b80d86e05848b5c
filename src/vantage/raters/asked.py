"""What a rater is asked: the instrument in the form of its style, and the question of relevance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.raters.chat import ChatRater, chosen_questions
from vantage.raters.design import Design
from vantage.raters.prompts import RELEVANCE


def asked_instrument(rater: ChatRater, instrument: Instrument) -> Instrument:
    """The instrument as the rater is asked it: with the bands as answers in the coarse style."""
    return instrument.coarse() if rater.parts.coarse else instrument


def asked_questions(rater: ChatRater, questions: Sequence[str]) -> list[str]:
    """The questions by the ids that they have in that instrument."""
    return [f"{q}-coarse" if rater.parts.coarse and not q.endswith("-coarse") else q for q in questions]


def varied(
    rater: ChatRater,
    instrument: Instrument,
    questions: Sequence[str] = (),
    *,
    vary: str | Sequence[str] = (),
    design: str = "balanced",
    presentation: str = "",
) -> ChatRater:
    """The rater with a design: the presentations in which every item is put to it."""
    if not vary and not presentation:
        return rater
    if rater.template is not None:
        raise InputError("a template is put to a model as it is printed", remedy="vary presentations without it")
    used = asked_instrument(rater, instrument)
    asked = chosen_questions(used, asked_questions(rater, questions))
    chosen = Design.of(
        vary, used, asked, rater.parts, kind=design, base=presentation, samples=rater.samples, seed=rater.seed
    )
    return replace(rater, design=chosen)


def relevance_instrument(instrument: Instrument) -> Instrument:
    """The question under which a selective persona's relevance of each item is recorded."""
    id_ = f"{instrument.id}-relevance"
    return Instrument.of_questions(id_, f"Relevance to a persona ({instrument.title})", {id_: RELEVANCE})
