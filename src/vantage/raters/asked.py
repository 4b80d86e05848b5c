"""What a rater is asked: the instrument in the form of its style, the question of relevance, items cut to a window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.raters.chat import ChatRater, PlannedCall, chosen_questions
from vantage.raters.design import Design
from vantage.raters.models.base import ChatModel
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


CUT: Final = " […]"
"""Stands where an item was cut to fit into a model's window."""


def fitted(call: PlannedCall, model: ChatModel) -> PlannedCall:
    """The call with its item cut so that prompt and reply fit into the window; instructions are never cut."""
    window = model.window
    if window is None:
        return call
    room = window - call.request.sampling.max_tokens
    cut, kept = call, 1.0
    # With a few tokens for the marks that a chat template puts around each turn.
    while (tokens := sum(model.count_tokens(message.content) + 8 for message in cut.request.messages)) > room:
        if kept < 0.001:
            raise InputError(
                f"the instructions alone have more tokens than the model's window of {window} leaves room for",
                remedy="use fewer examples, one question per prompt, or a smaller max_tokens",
            )
        # A little less than what fits by the rule of three, since instructions do not shrink with the item.
        kept *= min(0.9, room / tokens)
        cut = call.with_item(_shortened(call, kept))
    return cut


def _shortened(call: PlannedCall, share: float) -> Mapping[str, Any]:
    """An item of which the longest field keeps a share: the beginning of a text, the end of a conversation."""
    item, shown = call.item, call.prompter.instrument.shown(call.prompter.condition)
    longest = max((f.name for f in shown if item.get(f.name)), key=lambda name: len(str(item[name])))
    content = item[longest]
    if isinstance(content, list):
        return {**item, longest: content[-max(1, int(len(content) * share)) :]}
    return {**item, longest: str(content)[: int(len(str(content)) * share)].rstrip() + CUT}
