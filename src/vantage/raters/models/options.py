"""Whole answer options as paths of tokens, so that options that begin alike are still told apart."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vantage.raters.models.base import LEAD, LogProbs, Message, ModelError, Request, note_once, too_long

TokenPath = tuple[int, ...]


class OptionTree:
    """The options as paths in a tree of tokens.

    A model tells how probable the next token is; the probability of an option is the product along its
    path. An option that continues another ("10" and "1", "agree strongly" and "agree") takes its share from
    the shorter one: the probability of an option is that the reply begins with it **and with no longer
    option**. The options are thus disjoint events, and their probabilities add up to at most 1.

    >>> tree = OptionTree([[5], [5, 6], [7]])
    >>> tree.nodes
    {(): (5, 7), (5,): (6,)}
    >>> np.exp(tree.logprobs({(): {5: math.log(0.5), 7: math.log(0.3)}, (5,): {6: math.log(0.2)}})).round(3)
    array([0.4, 0.1, 0.3])
    """

    def __init__(self, options: Sequence[Sequence[int]]) -> None:
        self.options: tuple[TokenPath, ...] = tuple(tuple(option) for option in options)
        if not self.options or not all(self.options):
            raise ModelError("Options to be scored must not be empty; give each at least one character.")
        if len(set(self.options)) < len(self.options):
            raise ModelError("Two options are written in the same way; name them differently.")
        children: dict[TokenPath, dict[int, None]] = {}
        for option in self.options:
            for depth, token in enumerate(option):
                children.setdefault(option[:depth], {})[token] = None
        self.nodes: dict[TokenPath, TokenPath] = {node: tuple(children[node]) for node in sorted(children)}
        """What has been written so far and the tokens that may come next, branch by branch."""
        self._longer = [
            [j for j, other in enumerate(self.options) if _next_longer(option, other, self.options)]
            for option in self.options
        ]

    @property
    def tokens(self) -> TokenPath:
        """Every token that may come next somewhere."""
        return tuple(sorted({token for behind in self.nodes.values() for token in behind}))

    @property
    def heads(self) -> tuple[TokenPath, ...]:
        """The fewest paths whose prefixes are all the nodes behind the first token."""
        inner = [node for node in self.nodes if node]
        return tuple(
            node for node in inner if not any(len(other) > len(node) and other[: len(node)] == node for other in inner)
        )

    def logprobs(self, following: Mapping[TokenPath, Mapping[int, float | NDArray[Any]]]) -> LogProbs:
        """The log-probability of each option, from those of the tokens that follow each node.

        Where these are arrays, one number for each prompt, it is a row for each prompt.
        """
        begun = np.array(
            [sum(following[option[:depth]][token] for depth, token in enumerate(option)) for option in self.options],
            dtype=np.float64,
        )
        whole = begun.copy()
        for i, longer in enumerate(self._longer):
            if longer:
                share = np.minimum(np.exp(begun[longer] - begun[i]).sum(axis=0), 1 - 1e-12)
                whole[i] = begun[i] + np.log1p(-share)
        return whole.T


class LocalModel(ABC):
    """A model in this process, which scores whole options; each kind says how it reads and computes."""

    window: int | None
    notes: list[str]
    prepared: int | None = None
    """How many prompts are written and handed over first, and then twice as many each time while a GPU works on those
    before; otherwise all at once."""
    _has_template: bool

    @abstractmethod
    def _prompt(self, messages: Sequence[Message]) -> str:
        """A chat as the model reads it."""

    @abstractmethod
    def _tokens(self, text: str, *, prompt: bool = False) -> list[int]:
        """The tokens of a text; `prompt` says that it is a whole prompt, template marks included."""

    @abstractmethod
    def _scored(self, prompts: Sequence[list[int]], tree: OptionTree) -> Callable[[], LogProbs]:
        """Gives or fetches one row per prompt, one column per option; not a number where the model was stopped."""

    def _all_tokens(self, prompts: Sequence[str]) -> list[list[int]]:
        return [self._tokens(prompt, prompt=True) for prompt in prompts]

    def score(self, requests: Sequence[Request], options: Sequence[str]) -> LogProbs:
        """The log-probability that the reply begins with each option and with no longer one.

        What prompts and options have in common is computed once. A row of a prompt that is too long is not a number,
        and a note says so.
        """
        table = np.full((len(requests), len(options)), np.nan)
        if not requests:
            return table
        tree = OptionTree(self._option_tokens(self._prompt(requests[0].messages), options))
        longest = max(len(option) for option in tree.options)
        start, step, begun = 0, self.prepared or len(requests), []
        while start < len(requests):
            texts = [self._prompt(request.messages) for request in requests[start : start + step]]
            fit: dict[int, list[int]] = {}
            for row, prompt in enumerate(self._all_tokens(texts), start):
                if self.window is None or len(prompt) + longest <= self.window:
                    fit[row] = prompt
                else:
                    note_once(self.notes, too_long(len(prompt), self.window))
            if fit:
                begun.append((list(fit), self._scored(list(fit.values()), tree)))
            start, step = start + step, 2 * step
        for rows, scores in begun:
            table[rows] = scores()
        return table

    def _option_tokens(self, prompt: str, options: Sequence[str]) -> list[list[int]]:
        """The tokens of each option as they are written behind a prompt, whose end all requests share."""
        lead, before = "" if self._has_template else LEAD, self._tokens(prompt, prompt=True)
        tokens = []
        for option in options:
            both = self._tokens(prompt + lead + option, prompt=True)
            joined = both[: len(before)] == before
            tokens.append(both[len(before) :] if joined else self._tokens(lead + option))
        return tokens


def _next_longer(option: TokenPath, other: TokenPath, options: Sequence[TokenPath]) -> bool:
    """Whether `other` continues `option` with no third option between them."""
    if len(other) <= len(option) or other[: len(option)] != option:
        return False
    return not any(len(option) < len(third) < len(other) and other[: len(third)] == third for third in options)


_AROUND: Final = " \t\n\u2581\u0120\"'`*_([{.,:;)]}"
"""What may stand around an option in its token: white space, quotes, brackets, the end of a sentence."""


def first_tokens(top: Sequence[tuple[str, float]], options: Sequence[str]) -> list[float]:
    """The log-probabilities of options, from those of the likeliest tokens with which a reply begins.

    Only a token that is a whole option counts: the beginning of one may be that of any sentence ("In" of
    "inappropriate"). An option that is none of the tokens has probability 0 here: nothing is known of it but that it is
    less likely than all of them. What falls outside all options is left out, and counts as their missing mass.

    >>> first_tokens([("4", -0.5), (" 4", -3.0), ("2", -2.0), ("The", -4.0)], ["2", "4", "5"])
    [-2.0, -0.4211..., -inf]
    """
    _check_aliases(options)
    chances: dict[str, float] = {}
    for token, logprob in top:
        bare = token.strip(_AROUND)
        # A capital letter is an option's name, a small one the article of a sentence.
        if bare in options:
            chances[bare] = float(np.logaddexp(chances.get(bare, -math.inf), logprob))
    return [chances.get(option, -math.inf) for option in options]


def _check_aliases(options: Sequence[str]) -> None:
    """Refuses options that are no single digits or capital letters, which alone are tokens of their own everywhere."""
    if wrong := [option for option in options if not (len(option) == 1 and (option.isdecimal() or option.isupper()))]:
        raise ModelError(
            f"'{wrong[0]}' is not a single digit or capital letter, so the first token of a reply cannot tell it "
            "from the beginning of a sentence; give the options letters, or use hf: or gguf:, which compare whole "
            "options."
        )
