"""Items that are too long for a model's window: cut so that prompt and reply fit, and counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vantage.errors import InputError
from vantage.raters.chat import PlannedCall
from vantage.raters.models.base import ChatModel, Request

CUT: Final = " […]"
"""Stands where an item was cut to fit into a model's window."""


def fitted(call: PlannedCall, model: ChatModel) -> PlannedCall:
    """The call with its item cut so that prompt and reply fit into the window; instructions are never cut."""
    window = model.window
    if window is None:
        return call
    room = window - call.request.sampling.max_tokens
    cut, kept = call, 1.0
    while (tokens := _tokens(model, cut.request)) > room:
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


def _tokens(model: ChatModel, request: Request) -> int:
    """Tokens of a prompt, with a few for the marks that a chat template puts around each turn."""
    return sum(model.count_tokens(message.content) + 8 for message in request.messages)
