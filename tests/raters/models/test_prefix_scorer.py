"""Against a model whose probabilities are a plain function of all that stands before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vantage.raters.models.options import OptionTree, TokenPath
from vantage.raters.models.prefix_scorer import Pending, PrefixScorer, ScoringBudget, Tokens

VOCABULARY = 6


def logprobs(tokens: Tokens) -> Any:
    logits = np.random.default_rng(crc32(bytes(tokens))).normal(size=VOCABULARY)
    return logits - math.log(np.exp(logits).sum())


class Hashing:
    """Keeps the tokens themselves as its past, and counts those that it read."""

    def __init__(self) -> None:
        self.read = 0

    def extended(self, past: Any, tokens: Tokens) -> Any:
        self.read += len(tokens)
        return (*(past or ()), *tokens)

    def cut(self, past: Any, length: int) -> Any:
        return past[:length]

    def following(self, past: Any, rests: Sequence[Tokens], nodes: Sequence[TokenPath], tokens: Tokens) -> Pending:
        self.read += sum(map(len, rests))
        found = [[logprobs([*(past or ()), *rest, *node])[list(tokens)] for node in nodes] for rest in rests]
        return lambda: np.array(found)


def expected(prompts: Sequence[Tokens], tree: OptionTree) -> Any:
    return [
        tree.logprobs({node: dict(enumerate(logprobs([*prompt, *node]))) for node in tree.nodes}) for prompt in prompts
    ]


TREE = OptionTree([[1], [1, 2], [3, 4, 5], [3, 4], [0]])
PROMPTS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=8), min_size=1, max_size=10)


@pytest.mark.slow
@given(PROMPTS, PROMPTS, st.integers(1, 5), st.integers(1, 40))
@settings(max_examples=100)
def test_scores_are_those_of_every_prompt_on_its_own(
    first: list[list[int]], second: list[list[int]], worth: int, room: int
) -> None:
    scorer = PrefixScorer(Hashing(), ScoringBudget(tokens=room, worth=worth))
    for prompts in (first, second, first):
        assert scorer.begin(prompts, TREE)() == pytest.approx(np.array(expected(prompts, TREE)), abs=1e-12)


def test_a_scorer_that_is_stopped_gives_what_it_has_and_goes_on_later() -> None:
    looks = iter([False] * 2)
    scorer = PrefixScorer(Hashing(), ScoringBudget(tokens=8, worth=8, rows=2))
    prompts = [[1, 2, 0, item] for item in range(6)]
    told = scorer.begin(prompts, TREE, lambda: next(looks, True))()
    known = ~np.isnan(told).any(axis=1)
    assert 0 < known.sum() < 6
    whole = np.array(expected(prompts, TREE))
    assert told[known] == pytest.approx(whole[known], abs=1e-12)
    assert scorer.begin(prompts, TREE)() == pytest.approx(whole, abs=1e-12)


def test_what_is_shared_is_read_once_and_kept_for_the_next_call() -> None:
    net = Hashing()
    scorer = PrefixScorer(net, ScoringBudget(tokens=64, worth=8))
    guidelines = [1] * 100
    first = [[*guidelines, 2, 2, item] for item in range(3)]
    scorer.begin([*first, *first], TREE)()
    assert net.read == 102 + 3
    scorer.begin([[*guidelines, 3, 3, 3, item] for item in range(3)], TREE)()
    assert net.read == 102 + 3 + 3 + 3, "the guidelines are not read again"
