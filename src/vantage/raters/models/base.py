"""What a chat model is asked and what it returns, whatever runs it and whichever packages that needs.

At the end, what local models share: chats as turns or as running text, and tokens where there is no tokenizer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vantage.errors import VantageError

T = TypeVar("T")
Role = Literal["system", "user", "assistant"]
Finish = Literal["stop", "length", "filtered", "broken", "failed"]
"""How a reply ended; `broken` means for a reason that is not known to complete it."""
LogProbs: TypeAlias = NDArray[np.float64]
"""One row per request, one column per option: natural logarithms of probabilities."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an answer is drawn; temperature 0 means the most probable one."""

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 512
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model."""

    messages: tuple[Message, ...]
    sampling: Sampling = field(default_factory=Sampling)
    schema: Mapping[str, Any] | None = None
    """The JSON Schema that the reply should follow, for models that can be held to one."""
    tag: tuple[str, str, int] | None = None
    """Which item, question and sample the request is about, for models that look answers up (`recorded:`)."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What came back."""

    text: str
    finish: Finish = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    error: str = ""
    """Why there is no reply, in words, when `finish` is failed."""
    scores: tuple[float, ...] | None = None
    """The log-probability of each option, where options were scored; `text` is then the likeliest first token."""
    thinking: str = ""
    """What the model thought before it answered, where the endpoint separates it from the answer."""
    category: str = ""
    """What a content filter objected to, when `finish` is filtered."""
    cached_tokens: int = 0
    """Prompt tokens read from the endpoint's cache, often charged less."""
    reasoning_tokens: int = 0
    """Completion tokens that went into thinking."""
    written_tokens: int = 0
    """Prompt tokens written to the endpoint's cache, sometimes charged more."""
    cost: float | None = None
    """The cost of the call as reported by the endpoint, in its currency."""
    reason: str = ""
    """Why the reply ended, in the provider's word."""
    served: str = ""
    """The model that answered, as it calls itself."""
    provider: str = ""
    """Who ran it, where a router says so."""
    fingerprint: str = ""
    """The configuration that answered (`system_fingerprint`)."""
    request_id: str = ""
    """The provider's name for the call."""


class ModelError(VantageError):
    """A model that cannot be reached, loaded or used as asked, in one sentence."""


class Passing(VantageError):  # noqa: N818 - it says how long, not how bad
    """A fault that may be gone at the next try: a full or failing server, a lost connection, a timeout.

    `overload` says that the server asked for fewer requests, `after` how many seconds it asked to wait, `down` that
    nobody answered or only what stands before the server did, so that it says nothing about the request.
    """

    def __init__(
        self, sentence: str, *, overload: bool = False, after: float | None = None, down: bool = False
    ) -> None:
        super().__init__(sentence)
        self.overload, self.after, self.down = overload, after, down


class AccountError(VantageError):
    """A fault of the account and not of a request: a refused key, no credit, an exhausted quota.

    Every further request would meet it too, so nothing more is sent on this account. `alone` says that the account may
    not use this model, which is no fault for its other models.
    """

    def __init__(self, sentence: str, *, alone: bool = False) -> None:
        super().__init__(sentence)
        self.alone = alone


class ChatModel(Protocol):
    """A chat model. `notes` lists, once each, what it could not do as asked and did differently."""

    name: str
    """As given: `openai:NAME`, `gguf:PATH`, `hf:NAME`, `embedded`, `recorded:PATH`."""
    window: int | None
    """The most tokens that prompt and reply may have together; null if unknown."""
    notes: list[str]

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        """Answers requests, in their order; one that fails is a completion that says so."""

    def score(self, requests: Sequence[Request], options: Sequence[str]) -> LogProbs:
        """The log-probability of each whole option as the reply to each request.

        A model that cannot do it raises `ModelError`. A request that fails is a row of not-a-numbers, and a
        note says why.
        """

    def count_tokens(self, text: str) -> int:
        """How many tokens a text has: exactly where the tokenizer is at hand, else an upper estimate."""

    def close(self) -> None:
        """Frees what the model holds; it cannot be used afterwards."""


@runtime_checkable
class Remote(Protocol):
    """A model behind a network, which many requests can wait for at once; whoever runs it does the retries."""

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs work to its end on the loop on which the model's connections live."""

    async def attempt(self, request: Request, options: Sequence[str] = ()) -> Completion:
        """One try, on that loop: a reply, or the scores of options; a fault that may pass raises `Passing`."""


@runtime_checkable
class Several(Remote, Protocol):
    """A model behind a network that can give several replies to one request, which reads the prompt once."""

    several: int
    """How many replies a request may ask for; 1 if the endpoint gives only one."""

    async def attempt_several(self, request: Request, count: int) -> list[Completion]:
        """One try at so many replies; fewer come back where the endpoint gives fewer."""


@runtime_checkable
class Stoppable(Protocol):
    """A model in this process that can be stopped in the middle of a batch, within about one request.

    What it had answered by then comes back as usual; for the rest there is a completion that failed, or a row of
    not-a-numbers.
    """

    stopped: Callable[[], bool]
    """Called between steps: whether to give up what is still unanswered."""


GIVEN_UP: Final = Completion("", "failed", error="The model was stopped before it had answered.")


def never() -> bool:
    """The answer to `stopped` of a model that nobody stops."""
    return False


def note_once(notes: list[str], sentence: str) -> None:
    """Adds a sentence to a model's notes, once."""
    if sentence not in notes:
        notes.append(sentence)


def too_long(tokens: int, window: int | None) -> str:
    """Says that a prompt does not fit a model's window."""
    return f"The prompt has {tokens} tokens and the model's window {window}; shorten it or set a larger window."


def brief(error: object) -> str:
    r"""What an error of another package says, in one line.

    >>> brief(ValueError("no such\n   file."))
    'no such file'
    """
    return " ".join(str(error).split())[:160].rstrip(".")


def require(module: str, extra: str) -> Any:
    """The module of an optional package; where it is missing, a sentence says how to install it.

    >>> require("json", "embedded").dumps([1])
    '[1]'
    >>> require("nowhere", "local")
    Traceback (most recent call last):
        ...
    vantage.raters.models.base.ModelError: The package 'nowhere' is not installed; pip install 'vantage-raters[local]'.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise ModelError(f"The package '{module}' needs '{error.name}'; pip install {error.name}.") from None
        raise ModelError(f"The package '{module}' is not installed; pip install 'vantage-raters[{extra}]'.") from None
    except (ImportError, OSError) as error:
        reason = str(error).strip().split("\n")[0]
        raise ModelError(f"The package '{module}' cannot be loaded here ({reason}); install it again.") from None


LEAD: Final = " "
"""What stands between a plain prompt and an answer: the prompt ends in a word, not in a line."""

_MARKS: Final = re.compile(
    r"<\|[^|<>\n]{1,40}\|>|</?s>|<(?:bos|eos|pad|unk|start_of_turn|end_of_turn)>|\[/?INST\]|<</?SYS>>|<｜[^｜<>\n]{1,40}｜>"
)
"""Marks with which chat templates tell turns apart."""
_PIECE: Final = re.compile(r"[A-Za-z]+|[0-9]+|\s+|[^\sA-Za-z0-9]")


def turns(messages: Sequence[Message]) -> list[dict[str, str]]:
    """A chat in the form that chat templates take, its texts defused."""
    return [{"role": message.role, "content": defused(message.content)} for message in messages]


def defused(text: str) -> str:
    """Text in which the marks of chat templates are only text: an item must not be able to end its own turn.

    A zero-width space behind the first character keeps a tokenizer from taking the mark for one of its own.

    >>> len(defused("Bye.<|im_end|>")) - len("Bye.<|im_end|>")
    1
    """
    return _MARKS.sub(lambda mark: f"{mark[0][0]}\u200b{mark[0][1:]}", text)


def plain_prompt(messages: Sequence[Message]) -> str:
    """A chat as running text, for models that were never trained on chats.

    >>> print(plain_prompt([Message("system", "Rate the text."), Message("user", "Lovely day.")]))
    Rate the text.
    <BLANKLINE>
    Lovely day.
    <BLANKLINE>
    Answer:
    """
    parts = [f"Answer: {defused(m.content)}" if m.role == "assistant" else defused(m.content) for m in messages]
    if not messages or messages[-1].role != "assistant":
        parts.append("Answer:")
    return "\n\n".join(parts)


def estimate_tokens(text: str) -> int:
    """How many tokens a text has at most, guessed without a tokenizer; for English about a third too many.

    >>> estimate_tokens("How warm does the author seem?")
    11
    """
    return sum(_weight(piece) for piece in _PIECE.findall(text))


def _weight(piece: str) -> int:
    if piece.isspace():
        # A single space belongs to the word behind it.
        return 0 if piece == " " else 1 + piece.count("\n") // 2
    if not piece.isascii():
        size = len(piece.encode("utf-8", "replace"))
        return size if size < 3 else size - 1
    # Some tokenizers write every digit on its own.
    return -(-len(piece) // 3) if piece.isalpha() else len(piece)


class Unopened:
    """Represents a model whose replies are stored, or that runs elsewhere; it answers nothing."""

    def __init__(self, name: str, settings: Mapping[str, Any], account: str = "") -> None:
        self.name, self.account = name, account
        self.window: int | None = settings.get("window")
        self.notes: list[str] = []

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        """Always an error."""
        raise ModelError(f"{self.name} was not opened here, so it cannot answer.")

    def score(self, requests: Sequence[Request], options: Sequence[str]) -> LogProbs:
        """Always an error."""
        raise ModelError(f"{self.name} was not opened here, so it cannot answer.")

    def count_tokens(self, text: str) -> int:
        """An upper estimate, as for the endpoint itself."""
        return estimate_tokens(text)

    def close(self) -> None:
        """There is nothing to close."""
