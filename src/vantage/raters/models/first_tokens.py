"""Scores of options from an endpoint that tells only the likeliest first tokens of a reply."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from vantage.raters.models.base import ModelError, note_once

_DOUBT: Final = 0.01
"""The share of the options' probability that may lie on tokens with which several of them begin."""


def first_tokens(top: Sequence[tuple[str, float]], options: Sequence[str], notes: list[str]) -> list[float]:
    """The log-probabilities of options, from those of the likeliest tokens with which a reply begins.

    A token with which several options begin cannot tell them apart and is an error, unless it is negligible. An
    option that none of the tokens begins gets the probability of the last of them, and a note says so.

    >>> first_tokens([("4", -0.5), ("2", -2.0), ("The", -4.0)], ["2", "4"], [])
    [-2.0, -0.5]
    """
    tokens = [(token.strip(), logprob) for token, logprob in top if token.strip()]
    found: dict[str, float] = {}
    doubtful: list[tuple[str, float, list[str]]] = []
    for token, logprob in tokens:
        begun = [option for option in options if option.startswith(token)]
        if len(begun) > 1 and token in begun:
            # "1" beside "10" is no doubt where the endpoint writes "10" as a token of its own.
            apart = [o for o in begun if any(len(t) > len(token) and o.startswith(t) for t, _ in tokens)]
            begun = [option for option in begun if option not in apart]
        if len(begun) == 1:
            found[begun[0]] = float(np.logaddexp(found.get(begun[0], -math.inf), logprob))
        elif begun:
            doubtful.append((token, logprob, begun))
    for token, logprob, begun in doubtful:
        if math.exp(logprob) > _DOUBT * sum(map(math.exp, found.values())):
            raise ModelError(
                f"'{begun[0]}' and '{begun[1]}' begin with the same token '{token}', so whole options "
                "must be compared, which an endpoint cannot do; use hf:, gguf: or a style that reads "
                "replies."
            )
    if len(found) < len(options):
        note_once(
            notes,
            f"Options beyond the {len(top)} likeliest tokens get the probability of the last of these, "
            "which is an upper bound.",
        )
    last = min(logprob for _, logprob in top)
    return [found.get(option, last) for option in options]
