"""Whole answer options as paths of tokens, so that options that begin alike are still told apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from vantage.raters.models.base import LogProbs, ModelError

Path = tuple[int, ...]


class Tokenise(Protocol):
    """A model's tokenizer; `prompt` says that the text is a whole prompt, template marks included."""

    def __call__(self, text: str, *, prompt: bool = False) -> list[int]:
        """The tokens of a text."""
        ...


def option_tokens(tokenise: Tokenise, prompt: str, options: Sequence[str], lead: str) -> list[list[int]]:
    """The tokens of each option as they are written behind a prompt, whose end all requests share."""
    before = tokenise(prompt, prompt=True)
    tokens = []
    for option in options:
        both = tokenise(prompt + lead + option, prompt=True)
        joined = both[: len(before)] == before
        tokens.append(both[len(before) :] if joined else tokenise(lead + option))
    return tokens


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
        self.options: tuple[Path, ...] = tuple(tuple(option) for option in options)
        if not self.options or not all(self.options):
            raise ModelError("Options to be scored must not be empty; give each at least one character.")
        if len(set(self.options)) < len(self.options):
            raise ModelError("Two options are written in the same way; name them differently.")
        children: dict[Path, dict[int, None]] = {}
        for option in self.options:
            for depth, token in enumerate(option):
                children.setdefault(option[:depth], {})[token] = None
        self.nodes: dict[Path, Path] = {node: tuple(children[node]) for node in sorted(children)}
        """What has been written so far and the tokens that may come next, branch by branch."""
        self._longer = [
            [j for j, other in enumerate(self.options) if _next_longer(option, other, self.options)]
            for option in self.options
        ]

    @property
    def heads(self) -> tuple[Path, ...]:
        """The fewest paths whose prefixes are all the nodes behind the first token."""
        inner = [node for node in self.nodes if node]
        return tuple(
            node for node in inner if not any(len(other) > len(node) and other[: len(node)] == node for other in inner)
        )

    def logprobs(self, following: Mapping[Path, Mapping[int, float]]) -> LogProbs:
        """The log-probability of each option, from those of the tokens that follow each node."""
        begun = [sum(following[option[:depth]][token] for depth, token in enumerate(option)) for option in self.options]
        whole = np.array(begun, dtype=np.float64)
        for i, longer in enumerate(self._longer):
            if longer:
                share = min(math.fsum(math.exp(begun[j] - begun[i]) for j in longer), 1 - 1e-12)
                whole[i] = begun[i] + math.log1p(-share)
        return whole


def _next_longer(option: Path, other: Path, options: Sequence[Path]) -> bool:
    """Whether `other` continues `option` with no third option between them."""
    if len(other) <= len(option) or other[: len(option)] != option:
        return False
    return not any(len(option) < len(third) < len(other) and other[: len(third)] == third for third in options)
