"""Scores of options from an endpoint that tells only the likeliest first tokens of a reply."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from vantage.raters.models.base import ModelError

_DOUBT: Final = 0.01
"""The share of the options' probability that may lie on tokens with which several of them begin."""
_AROUND: Final = " \t\n\u2581\u0120\"'`*_([{.,:;)]}"
"""What may stand around an option in its token: white space, quotes, brackets, the end of a sentence."""


def first_tokens(top: Sequence[tuple[str, float]], options: Sequence[str]) -> list[float]:
    """The log-probabilities of options, from those of the likeliest tokens with which a reply begins.

    An option that none of the tokens begins has probability 0 here: nothing is known of it but that it is less
    likely than all of them. A token with which several options begin cannot tell them apart and is an error,
    unless it is negligible.

    >>> first_tokens([("4", -0.5), (" 4", -3.0), ("2", -2.0), ("The", -4.0)], ["2", "4", "5"])
    [-2.0, -0.4211..., -inf]
    """
    tokens = [(bare.casefold(), logprob) for token, logprob in top if (bare := token.strip(_AROUND))]
    chances: dict[str, float] = {}
    doubtful: list[tuple[str, float, list[str]]] = []
    for token, logprob in tokens:
        begun = [option for option in options if option.casefold().startswith(token)]
        if len(begun) > 1 and token in [option.casefold() for option in begun]:
            # "1" beside "10" is no doubt where the endpoint writes "10" as a token of its own.
            apart = [o for o in begun if any(len(t) > len(token) and o.casefold().startswith(t) for t, _ in tokens)]
            begun = [option for option in begun if option not in apart]
        if len(begun) == 1:
            chances[begun[0]] = float(np.logaddexp(chances.get(begun[0], -math.inf), logprob))
        elif begun:
            doubtful.append((token, logprob, begun))
    for token, logprob, begun in doubtful:
        if math.exp(logprob) > _DOUBT * sum(map(math.exp, chances.values())):
            raise ModelError(
                f"'{begun[0]}' and '{begun[1]}' begin with the same token '{token}', so the first token cannot tell "
                "them apart; give the options letters, or use hf: or gguf:, which compare whole options."
            )
    return [chances.get(option, -math.inf) for option in options]
