"""A Transformers model as scoring sees it: a past that many rows go on from, and options in one pass with prompts."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from vantage.raters.models.options import OptionTree, TokenPath
from vantage.raters.models.prefix_scorer import Pending, Tokens, laid_out, sees

_ATTENTION: Final = ("DynamicLayer", "DynamicSlidingWindowLayer")
"""The layers of a cache whose past can be shared by many continuations."""
_MASKED: Final = ("sdpa", "eager")
"""The kinds of attention that can be told which token sees which."""

_PROBE: Final = 64
"""How many tokens of a prompt are enough to see whether a past can be shared."""


class TransformersNet:
    """Reads with one model; `pad` is the token that fills up short rows."""

    def __init__(self, torch: Any, transformers: Any, net: Any, pad: int) -> None:
        self._torch, self._net, self._pad = torch, net, pad
        self._new_cache = transformers.DynamicCache
        config = net.config.get_text_config()
        kinds = set(getattr(config, "layer_types", None) or ["sliding_attention"])
        self._sliding = getattr(config, "sliding_window", None) if "sliding_attention" in kinds else None
        self._mixed = len(kinds) > 1
        taken = inspect.signature(net.forward).parameters
        self._keeps_last = "logits_to_keep" in taken
        self._can_mask = (
            "position_ids" in taken and not getattr(config, "alibi", False) and config._attn_implementation in _MASKED
        )

    def shares(self, prompt: Tokens, tree: OptionTree) -> bool:
        """Whether the model keeps a past that can be shared, found out by scoring a short prompt in both ways.

        Recurrent models keep none, and some attention cannot be told which token sees which.
        """
        if not self._can_mask or len(prompt) < 2:
            return False
        prompt = prompt[-_PROBE:]
        with self._torch.inference_mode():
            kept = getattr(self._net(input_ids=self._tensor([prompt[:1]]), use_cache=True), "past_key_values", None)
        if not all(type(layer).__name__ in _ATTENTION for layer in getattr(kept, "layers", None) or [None]):
            return False
        nodes, half = list(tree.nodes), len(prompt) // 2
        tokens = sorted({token for behind in tree.nodes.values() for token in behind})
        logprobs = self.following(self.extended(None, prompt[:half]), [prompt[half:]], nodes, tokens)()[0]
        whole = self.in_full(prompt, tree)
        gaps = [
            abs(logprobs[i, tokens.index(t)] - logprob) for i, n in enumerate(nodes) for t, logprob in whole[n].items()
        ]
        # Rounding in half precision moves unlikely tokens by some tenths; a wrong past moves them by whole units.
        return bool(max(gaps) < (0.01 if self._net.dtype == self._torch.float32 else 1.0))

    def extended(self, past: Any, tokens: Tokens) -> Any:
        """The past with more tokens read behind it; the one that was given stays as it is."""
        cache = self._new_cache() if past is None else _branch(past)
        start = 0 if past is None else past.get_seq_length()
        places = self._torch.arange(start, start + len(tokens), device=self._net.device)[None]
        with self._torch.inference_mode():
            self._forward(self._tensor([tokens]), 1, position_ids=places, past_key_values=cache, use_cache=True)
        return cache

    def cut(self, past: Any, length: int) -> Any:
        """The past of the first tokens only; the one that was given stays as it is."""
        branch = _branch(past)
        for layer in branch.layers:
            layer.keys, layer.values = layer.keys[:, :, :length], layer.values[:, :, :length]
        return branch

    def following(self, past: Any, rests: Sequence[Tokens], nodes: Sequence[TokenPath], tokens: Tokens) -> Pending:
        """The log-probabilities of some tokens behind each rest of a prompt and each node written behind that."""
        torch, written = self._torch, [node for node in nodes if node]
        start = 0 if past is None else past.get_seq_length()
        ids, places, real = laid_out(rests, written, start, self._pad)
        width, more = ids.shape[1] - len(written), len(written)
        with torch.inference_mode():
            given: dict[str, Any] = {"use_cache": False}
            if past is not None:
                given = {"use_cache": True, "past_key_values": _for_rows(torch, past)}
            on_device = torch.tensor(places, device=self._net.device)
            mask = self._mask(start, width, written, self._torch.tensor(real, device=self._net.device), on_device)
            answer = self._forward(
                self._tensor(ids), more + 1, attention_mask=mask, position_ids=on_device, **given
            ).logits.float()
            wanted = torch.tensor(list(tokens), device=self._net.device)
            logprobs = answer.index_select(2, wanted) - answer.logsumexp(dim=2, keepdim=True)
        return lambda: logprobs.double().cpu().numpy()

    def states(self, rows: Sequence[Tokens], last: int) -> Any:
        """What is known behind each of the last tokens of each row: row × token × dimension."""
        torch, width = self._torch, max(len(row) for row in rows)
        ids = np.full((len(rows), width), self._pad, dtype=np.int64)
        for n, row in enumerate(rows):
            ids[n, : len(row)] = row
        with torch.inference_mode():
            # What fills up a row stands behind everything that is looked at, which cannot see it.
            answer = self._forward(self._tensor(ids), 1, use_cache=False, output_hidden_states=True)
            hidden = answer.hidden_states[-1].double().cpu().numpy()
        states = np.zeros((len(rows), last, hidden.shape[-1]))
        for n, row in enumerate(rows):
            mine = hidden[n, max(0, len(row) - last) : len(row)]
            states[n, last - len(mine) :] = mine
        return states

    def in_full(self, prompt: Tokens, tree: OptionTree) -> dict[TokenPath, dict[int, float]]:
        """The same for one prompt without keeping anything, for models whose past cannot be shared."""
        chances: dict[TokenPath, dict[int, float]] = {}
        for head in tree.heads or ((),):
            with self._torch.inference_mode():
                answer = self._forward(self._tensor([[*prompt, *head]]), len(head) + 1, use_cache=False)
                logprobs = answer.logits[0].float().log_softmax(dim=-1)
            for depth in range(len(head) + 1):
                behind = tree.nodes[head[:depth]]
                chances[head[:depth]] = dict(zip(behind, logprobs[depth, list(behind)].tolist(), strict=True))
        return chances

    def _mask(self, start: int, width: int, written: Sequence[TokenPath], real: Any, places: Any) -> Any:
        """Which token sees which, as what is added to the attention's scores."""
        torch, device = self._torch, self._net.device
        size = width + len(written)
        own = torch.ones((size, size), dtype=torch.bool, device=device).tril()
        own[width:, width:] = torch.tensor(sees(written), device=device)
        # What fills up a row sees itself, so that its own scores are numbers.
        seen = (own & real[:, None, :]) | torch.eye(size, dtype=torch.bool, device=device)
        seen = torch.cat([seen.new_ones((len(real), size, start)), seen], dim=2)
        if self._sliding is None:
            return self._added(seen)
        known = torch.arange(start, device=device).expand(len(real), -1)
        near = places[:, :, None] - torch.cat([known, places], dim=1)[:, None, :] < self._sliding
        if not self._mixed:
            return self._added(seen & near)
        return {"full_attention": self._added(seen), "sliding_attention": self._added(seen & near)}

    def _added(self, seen: Any) -> Any:
        nothing = self._torch.zeros((), dtype=self._net.dtype, device=seen.device)
        return self._torch.where(seen, nothing, self._torch.finfo(self._net.dtype).min)[:, None]

    def _forward(self, ids: Any, last: int, **given: Any) -> Any:
        """A pass that tells the logits of the last tokens."""
        if self._keeps_last:
            return self._net(input_ids=ids, logits_to_keep=last, **given)
        answer = self._net(input_ids=ids, **given)
        answer.logits = answer.logits[:, -last:]
        return answer

    def _tensor(self, ids: Any) -> Any:
        return self._torch.tensor(np.asarray(ids, dtype=np.int64), device=self._net.device)


def _branch(past: Any) -> Any:
    """A past that grows on its own; what is in it already is not copied, as layers never write in place."""
    branch = copy.copy(past)
    branch.layers = [copy.copy(layer) for layer in past.layers]
    return branch


def _for_rows(torch: Any, past: Any) -> Any:
    """A past of one row that any number of rows go on from; what they add is used and not kept."""
    branch = _branch(past)
    for layer in branch.layers:
        layer.update = _Joined(torch, layer.keys, layer.values)
    return branch


class _Joined:
    """Sets the keys and values of new tokens behind those that all rows share, one layer at a time."""

    def __init__(self, torch: Any, keys: Any, values: Any) -> None:
        self._torch, self._keys, self._values = torch, keys, values

    def __call__(self, keys: Any, values: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
        return self._behind(self._keys, keys), self._behind(self._values, values)

    def _behind(self, shared: Any, own: Any) -> Any:
        return self._torch.cat([shared.expand(len(own), -1, -1, -1), own], dim=2)
