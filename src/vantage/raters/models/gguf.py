"""Quantised model files, run in this process by llama.cpp; nothing is compiled and torch is not needed."""

from __future__ import annotations

import json
import mmap
import secrets
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from types import FrameType
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np

from vantage.raters.models.base import (
    GIVEN_UP,
    Completion,
    LogProbs,
    Message,
    ModelError,
    Request,
    never,
    note_once,
    plain_prompt,
    require,
    too_long,
    turns,
)
from vantage.raters.models.evidence import ending
from vantage.raters.models.options import LocalModel, OptionTree

_HEADER: Final = 64 * 2**20
_LIKELY: Final = 1000


class GGUFModel(LocalModel):
    """`gguf:PATH`: any model file in GGUF format, with the chat template that it carries.

    llama.cpp opens a port on the loopback interface for as long as the model lives; a random key guards it.
    docs/models.md has the settings.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        window: int = 4096,
        threads: int = 1,
        gpu_layers: int = -1,
        parallel: int = 1,
        exact: bool = True,
    ) -> None:
        self.name = f"gguf:{path}"
        self.notes: list[str] = []
        self.stopped: Callable[[], bool] = never
        file = Path(path).expanduser()
        self._has_template = _has_template(file)
        if not self._has_template:
            self.notes.append(f"{file.name} has no chat template; prompts are given to it as plain text.")
        self._parallel = self.together = parallel
        self._key = secrets.token_hex(16)
        with _deaf():
            self._server: Any = self._start(file, window, threads, gpu_layers, exact)
            model = self._ask("/v1/models")["data"][0]["meta"]
            self._vocabulary = int(model["n_vocab"])
            self.window: int | None = int(self._ask("/props")["default_generation_settings"]["n_ctx"])
            # llama.cpp reports no probabilities when it has written half a character, so scoring has it write this.
            self._anchor = self._tokens("A")[0]

    def __repr__(self) -> str:
        return f"<model {self.name}>"

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        """Answers requests, in their order."""
        if self._parallel == 1:
            return [self._complete(request) for request in requests]
        with ThreadPoolExecutor(self._parallel) as pool:
            return list(pool.map(self._complete, requests))

    def count_tokens(self, text: str) -> int:
        """How many tokens a text has, exactly, as part of a prompt."""
        return len(self._ask("/tokenize", {"content": text, "add_special": False, "parse_special": True})["tokens"])

    def close(self) -> None:
        """Frees the model's memory and closes its port."""
        self._server = None

    def _start(self, file: Path, window: int, threads: int, gpu_layers: int, exact: bool) -> Any:
        llama = require("xllamacpp", "embedded")
        params = llama.CommonParams()
        params.model.path = str(file)
        params.n_ctx = window * self._parallel
        params.n_parallel = self._parallel
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.n_gpu_layers = gpu_layers
        params.api_keys = [self._key]
        params.ui = params.warmup = False
        params.verbosity = -1
        params.cache_ram_mib = 0
        if exact:
            # Flash attention and a half-precision cache round differently in a batch than token by token.
            params.flash_attn_type = llama.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
            params.cache_type_k = params.cache_type_v = llama.ggml_type.GGML_TYPE_F32
        try:
            return llama.Server(params)
        except RuntimeError:
            raise ModelError(
                f"{file}: llama.cpp cannot load the file; it may be cut short, need more memory than there "
                "is, or be newer than the installed xllamacpp."
            ) from None

    def _scored(self, prompts: Sequence[list[int]], tree: OptionTree) -> Callable[[], LogProbs]:
        table = np.full((len(prompts), len(tree.options)), np.nan)
        # Neighbours in this order share the longest beginnings, which stay in the prompt cache.
        for row in sorted(range(len(prompts)), key=prompts.__getitem__):
            if self.stopped():
                break
            table[row] = tree.logprobs(
                {node: self._following([*prompts[row], *node], tokens) for node, tokens in tree.nodes.items()}
            )
        return lambda: table

    @property
    def _live(self) -> Any:
        if self._server is None:
            raise ModelError(f"The model {self.name} was closed; load it again.")
        return self._server

    def _complete(self, request: Request) -> Completion:
        if self.stopped():
            return GIVEN_UP
        sampling = request.sampling
        body: dict[str, Any] = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            # Drawn from the whole distribution, not from what llama.cpp would cut it down to by default.
            "top_k": 0,
            "min_p": 0.0,
            "max_tokens": sampling.max_tokens,
            "cache_prompt": True,
        }
        if sampling.seed is not None:
            body["seed"] = sampling.seed % 2**32
        answer = self._answer(body, request, request.schema)
        if "error" in answer:
            return Completion("", "failed", error=self._reason(answer["error"]))
        choice, usage = answer["choices"][0], answer.get("usage", {})
        text = choice["message"].get("content") if "message" in choice else choice["text"]
        reason = choice["finish_reason"]
        finish, tokens = ending("chat", reason), (usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0))
        return Completion(text or "", finish, *tokens, reason=str(reason))

    def _answer(self, body: dict[str, Any], request: Request, schema: Mapping[str, Any] | None) -> Any:
        fields = dict(body)
        if schema is not None:
            fields["json_schema"] = dict(schema)
        try:
            if not self._has_template:
                return self._live.handle_completions({**fields, "prompt": plain_prompt(request.messages)})
            return self._live.handle_chat_completions({**fields, "messages": turns(request.messages)})
        except (RuntimeError, ValueError) as error:
            if schema is None:
                return {"error": {"message": str(error)}}
            note_once(
                self.notes,
                "llama.cpp cannot enforce this JSON Schema; the form of the reply is asked for in words only.",
            )
            return self._answer(body, request, None)

    def _reason(self, error: Mapping[str, Any]) -> str:
        if error.get("type") == "exceed_context_size_error":
            return too_long(int(error["n_prompt_tokens"]), self.window)
        return f"llama.cpp could not answer ({str(error.get('message', error)).splitlines()[0].rstrip('.')})."

    def _prompt(self, messages: Sequence[Message]) -> str:
        if not self._has_template:
            return plain_prompt(messages)
        return str(self._ask("/apply-template", {"messages": turns(messages)})["prompt"])

    def _following(self, prompt: list[int], tokens: Sequence[int]) -> dict[int, float]:
        known = self._next(prompt, _LIKELY, self._anchor)
        for token in tokens:
            if token not in known:
                # A token that has to be written is reported however unlikely it is. Only half characters are not,
                # and for them the whole vocabulary is listed, which takes many times as long.
                known |= self._next(prompt, 1, token) or self._next(prompt, self._vocabulary, self._anchor)
        return {token: known[token] for token in tokens}

    def _next(self, prompt: list[int], count: int, written: int) -> dict[int, float]:
        """The log-probabilities of the likeliest next tokens, and of the one that the model has to write."""
        answer = self._live.handle_completions(
            {
                "prompt": prompt,
                "max_tokens": 1,
                "temperature": 0,
                "n_probs": count,
                "cache_prompt": True,
                # Reported probabilities are those before the bias.
                "logit_bias": [[written, 1000.0]],
            }
        )
        if "error" in answer:
            raise ModelError(self._reason(answer["error"]))
        logprobs = answer["choices"][0]["logprobs"]
        entries = [logprobs["content"][0], *logprobs["content"][0]["top_logprobs"]] if logprobs else []
        return {entry["id"]: entry["logprob"] for entry in entries}

    def _tokens(self, text: str, *, prompt: bool = False) -> list[int]:
        body = {"content": text, "add_special": prompt, "parse_special": prompt}
        return list(self._ask("/tokenize", body)["tokens"])

    def _ask(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """What only llama.cpp's own port tells: tokens, templates, properties."""
        connection = HTTPConnection(urlsplit(self._live.listening_address).netloc, timeout=600)
        try:
            connection.request(
                "GET" if body is None else "POST",
                path,
                None if body is None else json.dumps(body),
                {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"},
            )
            answer = connection.getresponse()
            answer_of = json.loads(answer.read())
        finally:
            connection.close()
        if answer.status != 200:
            raise ModelError(self._reason(answer_of.get("error", {})))
        return answer_of


@contextmanager
def _deaf() -> Iterator[None]:
    """Holds `Ctrl-C` back while llama.cpp starts, which never ends if it is given up before it has answered once."""
    if threading.current_thread() is not threading.main_thread():  # others hear no signals
        yield
        return
    heard: list[tuple[int, FrameType | None]] = []
    usual = signal.signal(signal.SIGINT, lambda number, frame: heard.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if heard and callable(usual):
            usual(*heard[0])


def _has_template(file: Path) -> bool:
    """Whether a model file carries a chat template; refuses what is not a model file."""
    if not file.is_file():
        raise ModelError(f"{file}: there is no such model file; check the path.")
    with file.open("rb") as opened:
        if opened.read(4) != b"GGUF":
            raise ModelError(f"{file}: this is not a GGUF file; convert the model with llama.cpp's tools.")
        with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return data.find(b"tokenizer.chat_template", 0, _HEADER) >= 0
