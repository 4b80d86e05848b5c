"""Transformers models on CPU or GPU: batched replies, and option scores that compute shared prompts once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vantage.raters.models.base import (
    GIVEN_UP,
    Completion,
    LogProbs,
    Message,
    ModelError,
    Request,
    Sampling,
    Unopened,
    brief,
    never,
    note_once,
    plain_prompt,
    require,
    too_long,
    turns,
)
from vantage.raters.models.options import LocalModel, OptionTree
from vantage.raters.models.prefix_scorer import GPU, PROCESSOR, PrefixScorer, marked, side_by_side, states_of
from vantage.raters.models.transformers_net import TransformersNet, in_one_pass

_UNLOADABLE: Final = (ImportError, KeyError, OSError, RuntimeError, ValueError)


class HuggingFaceModel(LocalModel):
    """`hf:NAME_OR_PATH`: a causal language model from a folder or from the hub.

    Code that comes with a model is never run. The settings are those of docs/models.md.
    """

    def __init__(
        self,
        model: str,
        *,
        device: str | None = None,
        precision: str | None = None,
        batch_size: int | None = None,
        window: int | None = None,
        revision: str = "main",
        gguf_file: str | None = None,
    ) -> None:
        self._torch = torch = require("torch", "local")
        self._transformers = transformers = require("transformers", "local")
        self.name = f"hf:{model}"
        self.notes: list[str] = []
        self.stopped: Callable[[], bool] = never
        self._device = device or _best_device(torch)
        self._rows = batch_size or (8 if self._device == "cpu" else 32)
        # A GPU gets several batches at a time, whose prompts of like length are then computed together.
        self.together = self._rows if self._device == "cpu" else 4 * self._rows
        self.prepared = None if self._device == "cpu" else 128
        budget = PROCESSOR if self._device == "cpu" else GPU
        self._budgeted = replace(budget, rows=batch_size) if batch_size else budget
        self._scorer: PrefixScorer | None = None
        self._shares: bool | None = None
        source = _source(revision, gguf_file)
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(model, **source)
            self._net = transformers.AutoModelForCausalLM.from_pretrained(
                model, dtype=_precision(torch, self._device, precision), **source
            )
            self._net = self._net.to(self._device).eval()
        except _UNLOADABLE as error:
            raise ModelError(
                f"hf:{model} cannot be loaded ({brief(error)}); name a folder with a model or one that the hub has."
            ) from None
        if self._device.startswith("cuda"):
            in_one_pass(self._net)
        config = self._net.config.get_text_config()
        self.window = window or getattr(config, "max_position_embeddings", None)
        ends = self._net.generation_config.eos_token_id
        self._ends = _ends(self._tokenizer.eos_token_id if ends is None else ends)
        pad = self._tokenizer.pad_token_id
        self._pad = pad if pad is not None else next(iter(sorted(self._ends)), 0)
        # Whatever sampling the model's authors recommend, replies are drawn as a request asks.
        self._net.generation_config = transformers.GenerationConfig(
            pad_token_id=self._pad, eos_token_id=sorted(self._ends) or None
        )
        self._has_template = bool(self._tokenizer.chat_template)
        if not self._has_template:
            self.notes.append(f"{self.name} has no chat template; prompts are given to it as plain text.")

    def __repr__(self) -> str:
        return f"<model {self.name} on {self._device}>"

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        """Answers requests in batches, in their order."""
        if any(request.schema is not None for request in requests):
            note_once(
                self.notes,
                "Transformers models cannot be held to a JSON Schema; the form is asked for in words only.",
            )
        prompts = self._all_tokens([self._prompt(request.messages) for request in requests])
        done: dict[int, Completion] = {}
        for row, prompt in enumerate(prompts):
            if self.window is not None and len(prompt) >= self.window:
                done[row] = Completion("", "failed", error=too_long(len(prompt), self.window))
        todo = [row for row in range(len(requests)) if row not in done]
        budgets = {row: self._budget(requests[row], len(prompts[row])) for row in todo}
        for rows in self._batches(sorted(todo, key=lambda row: len(prompts[row])), prompts, budgets):
            if self.stopped():
                break
            chosen = [requests[row] for row in rows]
            replies = self._generate([prompts[row] for row in rows], chosen, [budgets[row] for row in rows])
            done.update(zip(rows, replies, strict=True))
        return [done.get(row, GIVEN_UP) for row in range(len(requests))]

    def states(self, rows: Sequence[Sequence[str]], longest: int) -> tuple[NDArray[np.float64], int]:
        """The states behind every piece of a row but its first, and how many first pieces had to be cut."""
        begin = [self._tokenizer.bos_token_id] if getattr(self._tokenizer, "add_bos_token", False) else []
        read = [marked(self._tokens, row, longest, begin) for row in rows]
        net = TransformersNet(self._torch, self._transformers, self._live, self._pad)
        return states_of(read, net.states, self._budgeted.tokens), sum(row.cut for row in read)

    def count_tokens(self, text: str) -> int:
        """How many tokens a text has, exactly."""
        return len(self._tokens(text))

    def close(self) -> None:
        """Frees the model's memory."""
        self._net = self._scorer = None
        if self._device.startswith("cuda"):
            self._torch.cuda.empty_cache()

    def _scored(self, prompts: Sequence[list[int]], tree: OptionTree) -> Callable[[], LogProbs]:
        net = TransformersNet(self._torch, self._transformers, self._live, self._pad)
        if self._shares is None:
            self._shares = net.shares(max(prompts, key=len), tree)
            self._scorer = PrefixScorer(net, self._budgeted) if self._shares else None
        if self._scorer is not None:
            return self._scorer.begin(prompts, tree, self.stopped)
        note_once(self.notes, f"{self.name} has no cache that prompts can share; every option is computed in full.")
        table = np.full((len(prompts), len(tree.options)), np.nan)
        for row, prompt in enumerate(prompts):
            if self.stopped():
                break
            table[row] = tree.logprobs(net.in_full(prompt, tree))
        return lambda: table

    def _budget(self, request: Request, length: int) -> int:
        most = request.sampling.max_tokens
        return most if self.window is None else min(most, self.window - length)

    def _batches(
        self, rows: Sequence[int], prompts: Sequence[Sequence[int]], budgets: dict[int, int]
    ) -> Iterator[list[int]]:
        """Rows, by length, in batches whose longest prompt and longest reply fit the window together."""
        batch: list[int] = []
        for row in rows:
            grown = [*batch, row]
            longest = len(prompts[row]) + max(budgets[r] for r in grown)
            if batch and (len(grown) > self._rows or (self.window is not None and longest > self.window)):
                yield batch
                grown = [row]
            batch = grown
        if batch:
            yield batch

    def _generate(
        self, prompts: Sequence[Sequence[int]], requests: Sequence[Request], budgets: Sequence[int]
    ) -> list[Completion]:
        tokens, columns = side_by_side(prompts, self._pad)
        inputs = {"input_ids": tokens, "attention_mask": (columns >= 0).astype(np.int64)}
        sampler = RowSampler(self._torch, self._live.device, [request.sampling for request in requests])
        with self._torch.inference_mode():
            written = self._live.generate(
                **{name: self._torch.tensor(part, device=self._live.device) for name, part in inputs.items()},
                max_new_tokens=max(budgets),
                do_sample=False,
                logits_processor=self._transformers.LogitsProcessorList([sampler]),
                stopping_criteria=self._transformers.StoppingCriteriaList([self._looks]),
            )
        replies = [
            self._reply(row[columns.shape[1] :].tolist()[:budget], len(prompt))
            for row, prompt, budget in zip(written, prompts, budgets, strict=True)
        ]
        # A reply that was stopped in the middle is none.
        return [
            GIVEN_UP if reply.finish == "length" and reply.completion_tokens < budget else reply
            for reply, budget in zip(replies, budgets, strict=True)
        ]

    def _looks(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        """Whether the rows of a batch are done because the model was stopped; asked after every token."""
        return self._torch.full((len(input_ids),), self.stopped(), dtype=self._torch.bool, device=input_ids.device)

    def _reply(self, tokens: list[int], prompt_tokens: int) -> Completion:
        end = next((i for i, token in enumerate(tokens) if token in self._ends), None)
        text = self._tokenizer.decode(tokens[:end], skip_special_tokens=True)
        used = len(tokens) if end is None else end + 1
        return Completion(text, "length" if end is None else "stop", prompt_tokens, used)

    @property
    def _live(self) -> Any:
        if self._net is None:
            raise ModelError(f"The model {self.name} was closed; load it again.")
        return self._net

    def _prompt(self, messages: Sequence[Message]) -> str:
        if not self._has_template:
            return plain_prompt(messages)
        chat = turns(messages)
        begun = bool(messages) and messages[-1].role == "assistant"
        how = {"tokenize": False, "add_generation_prompt": not begun, "continue_final_message": begun}
        refused = require("jinja2", "local").TemplateError
        try:
            return str(self._tokenizer.apply_chat_template(chat, **how))
        except refused:
            note_once(
                self.notes,
                f"The chat template of {self.name} takes no system message; it is put before the first question.",
            )
            return str(self._tokenizer.apply_chat_template(_without_system(chat), **how))

    def _tokens(self, text: str, *, prompt: bool = False) -> list[int]:
        special = prompt and not self._has_template
        return list(self._tokenizer(text, add_special_tokens=special)["input_ids"])

    def _all_tokens(self, prompts: Sequence[str]) -> list[list[int]]:
        if not prompts:
            return []
        special = not self._has_template
        shared = self._whole_turns(prompts)
        first, *rests = self._encoded([prompts[0][:shared], *(prompt[shared:] for prompt in prompts)], special=special)
        return [first + rest for rest in rests] if shared else rests

    def _encoded(self, texts: Sequence[str], *, special: bool) -> list[list[int]]:
        # Fast tokenizers read many side by side.
        return list(self._tokenizer(list(texts), add_special_tokens=special)["input_ids"])

    def _whole_turns(self, prompts: Sequence[str]) -> int:
        """How many characters of the prompts are the same and end before a mark of the template.

        A tokenizer splits a text at its marks before anything else, so that what stands before one is read alike
        whatever follows; that it is so is seen at the shortest and the longest of the prompts.
        """
        first, last = min(prompts), max(prompts)
        differ = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
        shared = first[:differ]
        place = max((shared.rfind(mark) for mark in self._tokenizer.get_added_vocab()), default=0)
        if len(prompts) < 3 or not self._has_template or place <= 0:
            return 0
        tried = [min(prompts, key=len), max(prompts, key=len)]
        begun, *rests = self._encoded([shared[:place], *(prompt[place:] for prompt in tried)], special=False)
        return place if [begun + rest for rest in rests] == self._encoded(tried, special=False) else 0


def _source(revision: str, gguf_file: str | None) -> dict[str, Any]:
    """What of a model is loaded, and that its code is never run."""
    source = {"revision": revision, "trust_remote_code": False}
    return source if gguf_file is None else {**source, "gguf_file": gguf_file}


def _best_device(torch: Any) -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _precision(torch: Any, device: str, asked: str | None) -> Any:
    known = ("float32", "bfloat16", "float16")
    if asked is not None:
        if asked not in known:
            raise ModelError(f"There is no precision '{asked}'; use one of {', '.join(known)}.")
        return getattr(torch, asked)
    if device.startswith("cuda"):
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    return torch.float32 if device == "cpu" else torch.float16


def _ends(token: int | Sequence[int] | None) -> frozenset[int]:
    if token is None:
        return frozenset()
    return frozenset([token] if isinstance(token, int) else token)


def _without_system(turns: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    system = "\n\n".join(turn["content"] for turn in turns if turn["role"] == "system")
    rest = [dict(turn) for turn in turns if turn["role"] != "system"]
    if rest:
        rest[0]["content"] = f"{system}\n\n{rest[0]['content']}"
    return rest or [{"role": "user", "content": system}]


class RowSampler:
    """A logits processor after which the most probable token of a row is a draw from its distribution.

    Adding Gumbel noise to log-probabilities and taking the greatest is drawing from the distribution (Gumbel
    1954). As each row has its own generator, a reply depends on its own seed and not on its neighbours in the
    batch, which one generator for the whole batch could not give.
    """

    def __init__(self, torch: Any, device: Any, rows: Sequence[Sampling]) -> None:
        self._torch = torch
        self._drawn = [row for row, sampling in enumerate(rows) if sampling.temperature > 0]
        asked = [rows[row] for row in self._drawn]
        self._temperatures = torch.tensor([[s.temperature] for s in asked], device=device)
        # The likeliest token always stays.
        self._nuclei = torch.tensor([[max(s.top_p, 1e-9)] for s in asked], device=device)
        self._cuts = any(s.top_p < 1 for s in asked)
        self._generators = [torch.Generator(device=device) for _ in asked]
        for generator, sampling in zip(self._generators, asked, strict=True):
            if sampling.seed is None:
                generator.seed()
            else:
                generator.manual_seed(sampling.seed)

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """The scores of the next token, with noise where the row is to be drawn."""
        scores = scores.float()
        if not self._drawn:
            return scores
        logits = scores[self._drawn] / self._temperatures
        if self._cuts:
            logits = self._nucleus(logits)
        noise = self._torch.empty_like(logits)
        for row, generator in enumerate(self._generators):
            noise[row].exponential_(generator=generator)
        scores[self._drawn] = logits - noise.log()
        return scores

    def _nucleus(self, logits: Any) -> Any:
        """Only the likeliest tokens that together have the probability `top_p` (Holtzman et al. 2020)."""
        ordered, index = logits.sort(dim=-1, descending=True)
        probabilities = ordered.softmax(dim=-1)
        before = probabilities.cumsum(dim=-1) - probabilities
        ordered = ordered.masked_fill(before >= self._nuclei, float("-inf"))
        return self._torch.empty_like(logits).scatter(-1, index, ordered)


class HubTokens(Unopened):
    """A Transformers model that runs on other machines: measures prompts exactly as `HuggingFaceModel` does.

    Its settings are those of that model; how the weights are computed does not matter here.
    """

    def __init__(
        self,
        model: str,
        *,
        window: int | None = None,
        revision: str = "main",
        gguf_file: str | None = None,
        **others: Any,
    ) -> None:
        del others
        transformers = require("transformers", "local")
        super().__init__(f"hf:{model}", {"window": window})
        source = _source(revision, gguf_file)
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(model, **source)
            config = transformers.AutoConfig.from_pretrained(model, **source).get_text_config()
        except _UNLOADABLE as error:
            raise ModelError(f"The tokenizer of hf:{model} cannot be loaded ({brief(error)}).") from None
        self.window = window or getattr(config, "max_position_embeddings", None)

    def count_tokens(self, text: str) -> int:
        """How many tokens a text has, exactly."""
        return len(self._tokenizer(text, add_special_tokens=False)["input_ids"])
