"""A Transformers model as scoring sees it: a past that many rows go on from, and options in one pass with prompts."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
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
_TWO_PARTS: Final = "vantage_two_parts"
"""The name under which Transformers knows the attention below."""
_SHARED: ContextVar[Sequence[tuple[Any, Any]]] = ContextVar("_SHARED")
"""The keys and values, layer by layer, of the past that all rows of a pass go on from."""


class TransformersNet:
    """Reads with one model; `pad` is the token that fills up short rows."""

    def __init__(self, torch: Any, transformers: Any, net: Any, pad: int) -> None:
        self._torch, self._net, self._pad = torch, net, pad
        self._new_cache = transformers.DynamicCache
        self._config = config = net.config.get_text_config()
        self._heads = getattr(config, "num_attention_heads", 1)
        kinds = set(getattr(config, "layer_types", None) or ["sliding_attention"])
        self._sliding = getattr(config, "sliding_window", None) if "sliding_attention" in kinds else None
        self._mixed = len(kinds) > 1
        taken = inspect.signature(net.forward).parameters
        self._keeps_last = "logits_to_keep" in taken
        self._can_mask = (
            "position_ids" in taken and not getattr(config, "alibi", False) and config._attn_implementation in _MASKED
        )
        self._in_parts = hasattr(transformers, "AttentionInterface") and net.device.type in ("cpu", "cuda")
        if self._in_parts:
            transformers.AttentionInterface.register(_TWO_PARTS, _two_parts)

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
        whole = self.in_full(prompt, tree)
        # Some models do more in their attention than can be done in parts; their past is set before every row.
        self._in_parts = self._in_parts and self._equals(whole, prompt, tree)
        return self._in_parts or self._equals(whole, prompt, tree)

    def _equals(self, whole: dict[TokenPath, dict[int, float]], prompt: Tokens, tree: OptionTree) -> bool:
        """Whether options behind a prompt with a shared past have the log-probabilities that they have in full."""
        nodes, half = list(tree.nodes), len(prompt) // 2
        try:
            logprobs = self.following(self.extended(None, prompt[:half]), [prompt[half:]], nodes, tree.tokens)()[0]
        except (AttributeError, KeyError, NotImplementedError, RuntimeError, TypeError, ValueError):
            if not self._in_parts:
                raise
            return False
        gaps = [
            abs(logprobs[i, tree.tokens.index(t)] - logprob)
            for i, n in enumerate(nodes)
            for t, logprob in whole[n].items()
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
        # Where a window slides past the beginning, not every token sees all of the past.
        apart = past is not None and self._in_parts and (self._sliding is None or places.max() < self._sliding)
        with torch.inference_mode():
            given: dict[str, Any] = {"use_cache": False}
            if past is not None and not apart:
                given = {"use_cache": True, "past_key_values": _for_rows(torch, past)}
            on_device = self._tensor(places)
            behind = 0 if apart else start
            mask = self._mask(behind, width, written, self._tensor(real), on_device)
            if apart:
                mask = self._for_groups(mask, past)
            with self._going_on_from(past if apart else None):
                answer = self._forward(
                    self._tensor(ids), more + 1, attention_mask=mask, position_ids=on_device, **given
                ).logits.float()
            wanted = self._tensor(tokens)
            logprobs = answer.index_select(2, wanted) - answer.logsumexp(dim=2, keepdim=True)
        return lambda: logprobs.double().cpu().numpy()

    def _for_groups(self, mask: Any, past: Any) -> Any:
        """A mask for heads that stand behind one another, in rows that begin at multiples of 16 bytes."""
        if isinstance(mask, dict):
            return {kind: self._for_groups(one, past) for kind, one in mask.items()}
        groups = past.layers[0].keys.shape[1]
        length = mask.shape[-1]
        room = self._torch.nn.functional.pad(mask, (0, -length % 16)).repeat(1, 1, self._heads // groups, 1)
        return room[..., :length].expand(-1, groups, -1, -1)

    @contextmanager
    def _going_on_from(self, past: Any) -> Iterator[None]:
        """Within it every row sees a past of one row, which is neither copied nor read once more for each of them."""
        if past is None:
            yield
            return
        usual = self._config._attn_implementation
        set_before = _SHARED.set([(layer.keys, layer.values) for layer in past.layers])
        self._config._attn_implementation = _TWO_PARTS
        try:
            yield
        finally:
            self._config._attn_implementation = usual
            _SHARED.reset(set_before)

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
        own[width:, width:] = self._tensor(sees(written))
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
        if self._keeps_last:
            return self._net(input_ids=ids, logits_to_keep=last, **given)
        answer = self._net(input_ids=ids, **given)
        answer.logits = answer.logits[:, -last:]
        return answer

    def _tensor(self, numbers: Any) -> Any:
        """Numbers where the model is; on their way to a GPU nobody waits for them, nor for what it does meanwhile."""
        here = self._torch.as_tensor(np.asarray(numbers))
        if self._net.device.type == "cuda":
            return here.pin_memory().to(self._net.device, non_blocking=True)
        return here.to(self._net.device)


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


def _two_parts(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: float | None = None, **more: Any
) -> tuple[Any, None]:
    """Attention of many rows to a past that they share and to their own tokens, put together by their weights.

    The queries of all rows and of all heads with the same keys go to the shared past as one long row (as in Hydragen,
    Juravsky et al. 2024), so that the past is read once for all of them.
    """
    import torch

    if more.get("softcap") is not None or more.get("s_aux") is not None:
        raise NotImplementedError("Attention with a cap or with sinks is not computed in parts.")
    keys, values = _SHARED.get()[module.layer_idx]
    _, heads, length, size = query.shape
    groups = keys.shape[1]
    # Heads that share keys stand behind one another: groups × rows × (heads of a group × tokens) × dimensions.
    asked = query.unflatten(1, (groups, -1)).flatten(2, 3).transpose(0, 1).contiguous()
    before, weight_before = _attended(asked.view(1, groups, -1, size), keys, values, scaling)
    after, weight_after = _attended(asked.transpose(0, 1), key, value, scaling, attention_mask)
    # Views alone, however the kernels leave their output: rows × groups × (heads of a group × tokens) × dimensions.
    before = before[0].unflatten(1, asked.shape[1:3]).transpose(0, 1)
    share = (weight_before.reshape(asked.shape[:-1]).transpose(0, 1) - weight_after).sigmoid()[..., None]
    # The model goes on with tokens before heads, so that both are put together there.
    both = query.new_empty((len(query), length, heads, size))
    places = both.unflatten(2, (groups, -1)).permute(0, 2, 3, 1, 4)
    parts = [part.unflatten(2, (-1, length)) for part in (after, before, share.to(query.dtype))]
    torch.lerp(*parts, out=places)
    return both, None


def _attended(query: Any, key: Any, value: Any, scaling: float | None, mask: Any = None) -> tuple[Any, Any]:
    import torch

    aten = torch.ops.aten
    if query.device.type == "cpu":
        output, weight = aten._scaled_dot_product_flash_attention_for_cpu(
            query, key, value, attn_mask=mask, scale=scaling
        )
    elif mask is None and query.dtype != torch.float32:
        # From Hopper on, the kernels of cuDNN are twice as fast.
        backends: Any = torch.backends.cuda
        if torch.cuda.get_device_capability(query.device) >= (9, 0) and backends.cudnn_sdp_enabled():
            output, weight = aten._scaled_dot_product_cudnn_attention(query, key, value, None, True, scale=scaling)[:2]
        else:
            output, weight = aten._scaled_dot_product_flash_attention(query, key, value, scale=scaling)[:2]
    else:
        output, weight = aten._scaled_dot_product_efficient_attention(query, key, value, mask, True, scale=scaling)[:2]
    return output, weight.reshape(*query.shape[:2], -1)[..., : query.shape[2]]


def in_one_pass(net: Any) -> int:
    """Lets every RMS norm be computed in one pass over the numbers instead of six; how many of them are.

    Only those that give what the model's own code gives, but for rounding: some multiply by one plus their weights.
    """
    import torch

    count = 0
    for norm in net.modules():
        weight, eps = getattr(norm, "weight", None), getattr(norm, "variance_epsilon", getattr(norm, "eps", None))
        if "RMSNorm" not in type(norm).__name__ or weight is None or eps is None:
            continue
        once = partial(torch.nn.functional.rms_norm, normalized_shape=weight.shape, weight=weight, eps=eps)
        with torch.inference_mode():
            tried = torch.linspace(-2, 3, 4 * len(weight), device=weight.device, dtype=weight.dtype).view(4, -1)
            same = torch.allclose(norm(tried), once(tried), rtol=4 * torch.finfo(weight.dtype).eps, atol=1e-5)
        if same:
            norm.forward, count = once, count + 1
    return count
