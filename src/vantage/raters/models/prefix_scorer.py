"""Scores of answer options from a Transformers model, with everything that prompts share computed once."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from vantage.raters.models.base import LogProbs
from vantage.raters.models.options import OptionTree, Path

_ATTENTION: Final = ("DynamicLayer", "DynamicSlidingWindowLayer")
"""The layers of a cache whose past can be shared by many continuations."""

_WORTHWHILE: Final = 32
"""How many tokens a batch must share beyond what all prompts share to be worth a pass of their own."""

Following: TypeAlias = dict[Path, dict[int, float]]
"""For each node of an option tree, the log-probabilities of the tokens behind it."""


class PrefixScorer:
    """Log-probabilities of options behind prompts that begin alike.

    What all prompts have in common (guidelines, examples) is computed once, what a batch has in common once
    per batch, and what options have in common once per prompt: the keys and values of the attention are kept
    for whatever follows.

    Args:
        torch: The module.
        net: The language model.
        pad: The token that fills up short rows.
        rows: How many sequences are computed side by side.
    """

    def __init__(self, torch: Any, net: Any, pad: int, rows: int) -> None:
        self._torch, self._net, self._pad, self._rows = torch, net, pad, rows
        self._sliding = getattr(net.config.get_text_config(), "sliding_window", None)
        taken = inspect.signature(net.forward).parameters
        self._last_only: dict[str, Any] = {"logits_to_keep": 1} if "logits_to_keep" in taken else {}
        self._takes_positions = "position_ids" in taken
        self.shares = True
        """Whether the model keeps a past that can be shared; recurrent ones do not."""

    def score(self, prompts: Sequence[Sequence[int]], tree: OptionTree) -> LogProbs:
        """One row per prompt, one column per option."""
        table = np.empty((len(prompts), len(tree.options)))
        with self._torch.inference_mode():
            shared = _common([prompt[:-1] for prompt in prompts])
            root = self._extended(None, shared or list(prompts[0][:1]))
            self.shares = _shareable(root)
            if not self.shares:
                for row, prompt in enumerate(prompts):
                    table[row] = tree.logprobs(self._in_full(prompt, tree))
                return table
            # Neighbours in this order share the longest beginnings.
            order = sorted(range(len(prompts)), key=lambda row: list(prompts[row]))
            together = self._together(prompts, tree)
            for start in range(0, len(order), together):
                rows = order[start : start + together]
                batch = [prompts[row] for row in rows]
                for row, told in zip(rows, self._following(batch, shared, root if shared else None, tree), strict=True):
                    table[row] = tree.logprobs(told)
        return table

    def _together(self, prompts: Sequence[Sequence[int]], tree: OptionTree) -> int:
        """How many prompts are scored at a time."""
        reach = max(len(prompt) for prompt in prompts) + max(len(option) for option in tree.options)
        # Padding takes up room in a sliding window, so prompts longer than that are scored without any.
        return 1 if self._sliding and reach > self._sliding else self._rows

    def _following(
        self, prompts: Sequence[Sequence[int]], shared: Sequence[int], root: Any, tree: OptionTree
    ) -> list[Following]:
        """For each prompt, the log-probabilities of the tokens behind each node of the tree."""
        own = _common([prompt[:-1] for prompt in prompts])
        if len(own) - len(shared) < _WORTHWHILE:
            own = shared
        past = self._extended(_branch(root), own[len(shared) :], len(shared))
        if past is not None:
            past.batch_repeat_interleave(len(prompts))
        rests = [prompt[len(own) :] for prompt in prompts]
        ids, mask = self._padded(rests)
        mask = self._torch.cat([mask.new_ones((len(prompts), len(own))), mask], dim=1)
        answer = self._forward(ids, mask, past, self._last_only)
        first = self._logprobs(answer.logits[:, -1])
        found: list[Following] = [{(): told} for told in _picked(first, tree.nodes[()])]
        if tree.heads:
            self._behind_first(answer.past_key_values, mask, tree, found)
        return found

    def _behind_first(self, past: Any, mask: Any, tree: OptionTree, found: list[Following]) -> None:
        """Adds what follows the nodes behind the first token, for a few prompts at a time."""
        heads = tree.heads
        ids, written = self._padded(heads, left=False)
        step = max(1, self._rows // len(heads))
        for start in range(0, len(found), step):
            rows = range(start, min(start + step, len(found)))
            part = _branch(past)
            part.batch_select_indices(self._torch.tensor(list(rows), device=mask.device))
            part.batch_repeat_interleave(len(heads))
            seen = mask[start : rows.stop].repeat_interleave(len(heads), dim=0)
            whole = self._torch.cat([seen, written.repeat(len(rows), 1)], dim=1)
            logprobs = self._logprobs(self._forward(ids.repeat(len(rows), 1), whole, part, {}).logits)
            for number, head in enumerate(heads):
                for depth in range(1, len(head) + 1):
                    node = head[:depth]
                    behind = _picked(logprobs[number :: len(heads), depth - 1], tree.nodes[node])
                    for row, told in zip(rows, behind, strict=True):
                        found[row][node] = told

    def _in_full(self, prompt: Sequence[int], tree: OptionTree) -> Following:
        """The same without keeping anything, for models whose past cannot be shared."""
        found: Following = {}
        for node, tokens in tree.nodes.items():
            ids, mask = self._padded([[*prompt, *node]])
            answer = self._forward(ids, mask, None, self._last_only)
            (found[node],) = _picked(self._logprobs(answer.logits[:, -1]), tokens)
        return found

    def _extended(self, past: Any, tokens: Sequence[int], length: int = 0) -> Any:
        """A past of one row with more tokens computed behind it; null where there are none at all."""
        if not tokens:
            return past
        ids, mask = self._padded([tokens])
        mask = self._torch.cat([mask.new_ones((1, length)), mask], dim=1)
        return getattr(self._forward(ids, mask, past, self._last_only), "past_key_values", None)

    def _forward(self, ids: Any, mask: Any, past: Any, extra: dict[str, Any]) -> Any:
        if self._takes_positions:
            positions = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, -ids.shape[1] :]
            extra = {**extra, "position_ids": positions}
        return self._net(input_ids=ids, attention_mask=mask, past_key_values=past, use_cache=True, **extra)

    def _logprobs(self, logits: Any) -> Any:
        return self._torch.log_softmax(logits.float(), dim=-1)

    def _padded(self, rows: Sequence[Sequence[int]], *, left: bool = True) -> tuple[Any, Any]:
        width = max(len(row) for row in rows)
        return padded(self._torch, self._net.device, rows, width, self._pad, left=left)


def padded(
    torch: Any, device: Any, rows: Sequence[Sequence[int]], width: int, pad: int, *, left: bool = True
) -> tuple[Any, Any]:
    """Token sequences of unequal length as one tensor, and which of its cells are real."""
    ids = np.full((len(rows), width), pad, dtype=np.int64)
    mask = np.zeros((len(rows), width), dtype=np.int64)
    for row, tokens in enumerate(rows):
        cells = slice(width - len(tokens), width) if left else slice(0, len(tokens))
        ids[row, cells], mask[row, cells] = tokens, 1
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


def _common(sequences: Sequence[Sequence[int]]) -> Sequence[int]:
    """The longest beginning that all sequences have: that of the first and the last in order."""
    first, last = min(sequences, key=list), max(sequences, key=list)
    same = (i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    return first[: next(same, len(first))]


def _picked(logprobs: Any, tokens: Sequence[int]) -> list[dict[int, float]]:
    """For each row, the log-probabilities of some tokens."""
    return [dict(zip(tokens, row, strict=True)) for row in logprobs[:, list(tokens)].tolist()]


def _branch(past: Any) -> Any:
    """A past that grows on its own; what is in it already is not copied, as layers never write in place."""
    if past is None:
        return None
    branch = copy.copy(past)
    branch.layers = [copy.copy(layer) for layer in past.layers]
    return branch


def _shareable(past: Any) -> bool:
    return all(type(layer).__name__ in _ATTENTION for layer in getattr(past, "layers", [None]))
