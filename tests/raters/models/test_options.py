from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage.raters.models import ModelError
from vantage.raters.models.options import OptionTree

paths = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4).map(tuple), min_size=1, max_size=8, unique=True)


def chances(seed: int, node: tuple[int, ...]) -> np.ndarray:
    """A language of five tokens (0 to 4) with any probabilities behind any node."""
    return np.random.default_rng([seed, len(node), *node]).dirichlet(np.ones(5))


@pytest.mark.slow
@given(paths, st.integers(0, 99))
def test_options_are_disjoint_and_add_up_as_all_replies_do(options: list[tuple[int, ...]], seed: int) -> None:
    tree = OptionTree(options)
    following = {
        node: {token: math.log(chances(seed, node)[token]) for token in tokens} for node, tokens in tree.nodes.items()
    }
    scored = np.exp(tree.logprobs(following))
    by_hand = dict.fromkeys(options, 0.0)

    def walk(written: tuple[int, ...], chance: float) -> None:
        if len(written) == 5:
            longest = max((o for o in options if written[: len(o)] == o), key=len, default=None)
            if longest is not None:
                by_hand[longest] += chance
            return
        for token, share in enumerate(chances(seed, written)):
            walk((*written, token), chance * share)

    walk((), 1.0)
    assert scored == pytest.approx([by_hand[option] for option in options], abs=1e-9)
    assert scored.sum() <= 1 + 1e-9


@given(paths)
def test_heads_reach_every_node_and_are_as_few_as_can_be(options: list[tuple[int, ...]]) -> None:
    tree = OptionTree(options)
    reached = {head[:depth] for head in tree.heads for depth in range(1, len(head) + 1)}
    assert reached == {node for node in tree.nodes if node}
    assert not any(a != b and b[: len(a)] == a for a in tree.heads for b in tree.heads)


def test_options_without_tokens_and_equal_options_are_refused() -> None:
    with pytest.raises(ModelError, match="must not be empty"):
        OptionTree([[1], []])
    with pytest.raises(ModelError, match="must not be empty"):
        OptionTree([])
    with pytest.raises(ModelError, match="written in the same way"):
        OptionTree([[1, 2], [1, 2]])
