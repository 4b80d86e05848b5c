"""Asking: from a chat rater's plan to judgments, one batch after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.corpora import Corpus
from vantage.corpora.schema import JUDGMENTS
from vantage.errors import InputError
from vantage.instruments import Instrument, Question
from vantage.raters.answers import Choice, choices
from vantage.raters.chat import Call, ChatRater
from vantage.raters.models.base import ChatModel, Completion, LogProbs, Request
from vantage.raters.models.calibration import calibrated, distribution
from vantage.raters.models.embedded import WEAKNESS
from vantage.raters.prompts import RELEVANCE, RELEVANT
from vantage.raters.replies import Reply, parse_replies, parse_reply

BATCH: Final = 32
"""How many requests are given to a model at a time; it decides how to run them."""
CUT: Final = " […]"
"""Stands where an item was cut to fit into a model's window."""
Progress = Callable[[int], None]

_SCHEMA: Final[dict[str, Any]] = {
    **JUDGMENTS,
    "reply": pl.String,
    "rule": pl.String,
    "probabilities": pl.List(pl.Float64),
    "expected": pl.Float64,
}


@dataclass(slots=True)
class Judged:
    """What a rater gave, what it took, and what must be told about it."""

    rater: ChatRater
    judgments: pl.DataFrame
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    truncated: int = 0
    """Prompts whose item was cut to fit into the model's window."""
    skipped: int = 0
    """Requests that were not sent because the corpus already has their answers."""
    notes: list[str] = field(default_factory=list)


def rate(
    corpus: Corpus,
    raters: ChatRater | Iterable[ChatRater],
    instrument: Instrument | str,
    *,
    questions: Sequence[str] = (),
    condition: str = "",
    progress: Progress | None = None,
) -> Corpus:
    """The corpus with the judgments of chat raters added.

    What a rater has answered already is not asked again.

    Args:
        corpus: The items to be judged, and whatever judgments there are.
        raters: One rater or several.
        instrument: What is asked, by name, path or as an object.
        questions: Some of its questions; all where none is named.
        condition: The circumstances, such as static or context.
        progress: Called with the number of requests that were answered.
    """
    known = Instrument.load(instrument) if isinstance(instrument, str) else instrument
    for rater in [raters] if isinstance(raters, ChatRater) else raters:
        judged = judge(rater, corpus, known, questions=questions, condition=condition, progress=progress)
        corpus = added(corpus, judged, known)
    return corpus


def added(corpus: Corpus, judged: Judged, instrument: Instrument) -> Corpus:
    """The corpus with what a rater gave."""
    used = asked_instrument(judged.rater, instrument)
    instruments = [used]
    if judged.rater.parts.voice == "selective-persona":
        instruments.append(relevance_instrument(used))
    row = judged.rater.row()
    known = corpus.raters.filter(pl.col("rater") == row["rater"])
    raters = pl.DataFrame([row]) if known.is_empty() else None
    return corpus.add(judged.judgments, raters, instruments)


def asked_instrument(rater: ChatRater, instrument: Instrument) -> Instrument:
    """The instrument as the rater is asked it: with the bands as answers in the coarse style."""
    return instrument.coarse() if rater.parts.coarse else instrument


def asked_questions(rater: ChatRater, questions: Sequence[str]) -> list[str]:
    """The questions by the ids that they have in that instrument."""
    return [f"{q}-coarse" if rater.parts.coarse and not q.endswith("-coarse") else q for q in questions]


def relevance_instrument(instrument: Instrument) -> Instrument:
    """The question under which a selective persona's relevance of each item is recorded."""
    id_ = f"{instrument.id}-relevance"
    return Instrument.of_questions(id_, f"Relevance to a persona ({instrument.title})", {id_: RELEVANCE})


def judge(
    rater: ChatRater,
    corpus: Corpus,
    instrument: Instrument,
    *,
    questions: Sequence[str] = (),
    condition: str = "",
    model: ChatModel | None = None,
    progress: Progress | None = None,
) -> Judged:
    """Puts the questions to one rater; nothing is added to the corpus yet."""
    used = asked_instrument(rater, instrument)
    opened = model or rater.open()
    try:
        return _Asking(rater, corpus, used, condition, opened, progress).run(asked_questions(rater, questions))
    finally:
        # What was opened here is closed here; a model that was handed over stays open for its owner.
        if model is None and isinstance(rater.model, str):
            opened.close()


class _Asking:
    """One rater at work."""

    def __init__(
        self,
        rater: ChatRater,
        corpus: Corpus,
        instrument: Instrument,
        condition: str,
        model: ChatModel,
        progress: Progress | None,
    ) -> None:
        self.rater, self.corpus, self.instrument, self.condition = rater, corpus, instrument, condition
        self.model, self.progress = model, progress or (lambda _: None)
        self.rows: list[dict[str, Any]] = []
        self.judged = Judged(rater, pl.DataFrame(schema=_SCHEMA))
        self.done = self._done()

    def run(self, questions: Sequence[str]) -> Judged:
        calls = self.rater.plan(self.corpus, self.instrument, questions=questions, condition=self.condition)
        calls = self._open(calls)
        if self.rater.parts.voice == "selective-persona":
            calls = self._relevant(calls)
        if self.rater.parts.scoring:
            self._score(calls)
        else:
            for batch in _batches(calls, BATCH):
                self._complete(batch)
                self.progress(len(batch))
        self.judged.judgments = pl.DataFrame(self.rows, schema=_SCHEMA)
        self.judged.notes = [*self.model.notes]
        if self.rater.model_name == "embedded":
            self.judged.notes.append(WEAKNESS)
        if self.judged.truncated:
            self.judged.notes.append(f"{self.judged.truncated} prompts were cut to fit the model's window.")
        return self.judged

    def _done(self) -> set[tuple[str, str, int]]:
        mine = self.corpus.judgments.filter(pl.col("rater") == self.rater.id, pl.col("condition") == self.condition)
        return set(mine.select("item", "question", "sample").iter_rows())

    def _open(self, calls: Iterator[Call]) -> Iterator[Call]:
        """The calls whose answers the corpus does not have yet."""
        for call in calls:
            if all((str(call.item["item"]), q.id, call.sample) in self.done for q in call.questions):
                self.judged.skipped += 1
                continue
            yield self._fitted(call)

    def _fitted(self, call: Call) -> Call:
        """The call with its item cut so that prompt and reply fit into the window; instructions are never cut."""
        window = self.model.window
        if window is None:
            return call
        room = window - call.request.sampling.max_tokens
        fitted, kept = call, 1.0
        while (tokens := _tokens(self.model, fitted.request)) > room:
            if kept < 0.001:
                raise InputError(
                    f"the instructions alone have more tokens than the model's window of {window} leaves room for",
                    remedy="use fewer examples, one question per prompt, or a smaller max_tokens",
                )
            # A little less than what fits by the rule of three, since instructions do not shrink with the item.
            kept *= min(0.9, room / tokens)
            fitted = call.with_item(self._shortened(call.item, kept))
        self.judged.truncated += fitted is not call
        return fitted

    def _shortened(self, item: Mapping[str, Any], share: float) -> dict[str, Any]:
        """An item of which the longest field keeps a share: the beginning of a text, the end of a conversation."""
        fields = [f.name for f in self.instrument.shown(self.condition) if item.get(f.name)]
        longest = max(fields, key=lambda name: len(str(item[name])))
        content = item[longest]
        if isinstance(content, list):
            return {**item, longest: content[-max(1, int(len(content) * share)) :]}
        return {**item, longest: str(content)[: int(len(str(content)) * share)].rstrip() + CUT}

    def _relevant(self, calls: Iterator[Call]) -> Iterator[Call]:
        """Asks the persona once per item how relevant it is, and passes on only what is."""
        prompter = self.rater.prompter(self.corpus, self.instrument, self.condition)
        question = relevance_instrument(self.instrument).questions[0]
        answers: dict[str, bool] = {}
        for call in calls:
            item = str(call.item["item"])
            if item not in answers:
                request = replace(prompter.relevance(call.item), tag=(item, question.id, 0))
                (completion,) = self._send([request])
                reply = _read(completion, question, prompter.item_text(call.item))
                if (item, question.id, 0) not in self.done:
                    self._note(call, question, 0, reply, completion)
                answers[item] = reply.value is not None and reply.value >= RELEVANT
            if answers[item]:
                yield call
            else:
                self.progress(1)

    def _complete(self, calls: Sequence[Call]) -> None:
        completions = self._send([call.request for call in calls])
        reasons: list[Completion | None] = [None] * len(calls)
        if self.rater.parts.two_step:
            prompter = self.rater.prompter(self.corpus, self.instrument, self.condition)
            asked = [n for n, completion in enumerate(completions) if completion.finish != "failed"]
            found = self._send([prompter.why(calls[n].request, completions[n].text) for n in asked])
            for n, completion in zip(asked, found, strict=True):
                reasons[n] = completion
        for call, completion, reason in zip(calls, completions, reasons, strict=True):
            source = " ".join(str(v) for v in call.item.values() if isinstance(v, str))
            replies = _read_all(completion, call.questions, source)
            for question in call.questions:
                reply = replies[question.id]
                if reason is not None and reason.finish != "failed":
                    reply = replace(reply, rationale=reason.text.strip() or None)
                if (str(call.item["item"]), question.id, call.sample) not in self.done:
                    self._note(call, question, call.sample, reply, completion)

    def _score(self, calls: Iterator[Call]) -> None:
        """Option scoring: per question, the probabilities of all answers for all items."""
        by_question: dict[str, list[Call]] = {}
        for call in calls:
            by_question.setdefault(call.questions[0].id, []).append(call)
        for asked in by_question.values():
            question = asked[0].questions[0]
            options = choices(question.scale)
            if not options:
                raise InputError(
                    f"question '{question.id}' has no options to compare",
                    remedy="use another style than scoring",
                )
            scores = np.concatenate(
                [self._scored(batch, [o.word for o in options]) for batch in _batches(asked, BATCH)]
            )
            # What could not be scored is a row of NaN. Calibration compares items; a single one stays as it is.
            scored = ~np.isnan(scores).any(axis=1)
            comparable = self.rater.calibrates and np.count_nonzero(scored) > 1
            probabilities = np.exp(calibrated(scores)) if comparable else distribution(scores)
            for call, chances, known in zip(asked, probabilities, scored, strict=True):
                row = self._key(call, question, call.sample)
                self.rows.append({**row, **(_most_probable(options, chances, question) if known else _UNSCORED)})

    def _scored(self, calls: Sequence[Call], words: Sequence[str]) -> LogProbs:
        scores = self.model.score([call.request for call in calls], words)
        self.judged.calls += len(calls)
        self.progress(len(calls))
        return scores

    def _send(self, requests: Sequence[Request]) -> list[Completion]:
        completions = self.model.complete(requests)
        self.judged.calls += len(requests)
        self.judged.prompt_tokens += sum(c.prompt_tokens for c in completions)
        self.judged.completion_tokens += sum(c.completion_tokens for c in completions)
        return completions

    def _note(self, call: Call, question: Question, sample: int, reply: Reply, completion: Completion) -> None:
        self.rows.append(
            {
                **self._key(call, question, sample),
                "value": reply.value,
                "status": reply.status,
                "rationale": reply.rationale,
                "reply": completion.text if completion.finish != "failed" else completion.error,
                "rule": reply.rule,
            }
        )

    def _key(self, call: Call, question: Question, sample: int) -> dict[str, Any]:
        key = {"item": str(call.item["item"]), "question": question.id, "rater": self.rater.id}
        return {**key, "condition": self.condition, "sample": sample}


_UNSCORED: Final = {"value": None, "status": "failed", "rule": "failed"}


def _most_probable(options: Sequence[Choice], chances: NDArray[np.float64], question: Question) -> dict[str, Any]:
    """The judgment that a distribution over the options stands for, with the distribution itself."""
    best = options[int(np.argmax(chances))]
    told = {"value": best.value, "status": best.status, "rule": "scoring", "probabilities": chances.tolist()}
    if not question.scale.ordered:
        return told
    numbered = [
        (chance, option.value) for chance, option in zip(chances, options, strict=True) if option.value is not None
    ]
    total = sum(chance for chance, _ in numbered)
    return {**told, "expected": float(sum(chance * value for chance, value in numbered) / total)}


def _read(completion: Completion, question: Question, source: str) -> Reply:
    """What a completion says: a failed call and a filtered reply are told apart from what cannot be read."""
    if completion.finish == "failed":
        return Reply(None, "failed", None, "failed")
    if completion.finish == "filtered" and not completion.text.strip():
        return Reply(None, "refused", None, "filtered")
    return parse_reply(completion.text, question, source)


def _read_all(completion: Completion, questions: Sequence[Question], source: str) -> Mapping[str, Reply]:
    unanswered = completion.finish == "failed" or (completion.finish == "filtered" and not completion.text.strip())
    if unanswered or len(questions) == 1:
        return {question.id: _read(completion, question, source) for question in questions}
    return parse_replies(completion.text, questions, source)


def _tokens(model: ChatModel, request: Request) -> int:
    """Tokens of a prompt, with a few for the marks that a chat template puts around each turn."""
    return sum(model.count_tokens(message.content) + 8 for message in request.messages)


def _batches(calls: Iterable[Call], size: int) -> Iterator[list[Call]]:
    calls = iter(calls)
    while batch := list(islice(calls, size)):
        yield batch
