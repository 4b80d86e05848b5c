"""What is said to a model about one item, turn by turn, and the judgments that its replies amount to.

A conversation is a generator: it yields what is to be asked and is sent what came back, so that the same lines
serve whoever asks: an engine that sends requests, or a reader that only looks into a store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.schema import JUDGMENTS
from vantage.errors import InputError
from vantage.instruments import Instrument, Question
from vantage.presentations import PLAIN, Presentation
from vantage.raters.answers import AnswerChoice, choices
from vantage.raters.asked import relevance_instrument
from vantage.raters.chat import ChatRater, PlannedCall
from vantage.raters.models.base import Completion, Message, Request
from vantage.raters.models.dialects import split_thinking
from vantage.raters.prompts import RELEVANT
from vantage.raters.replies import ParsedReply, parse_replies, parse_reply
from vantage.raters.replies.numbers import NUMERIC
from vantage.raters.replies.reply import unparsed
from vantage.raters.templates import Template
from vantage.scales import Scale

Step: TypeAlias = Literal["answer", "clarify", "relevance", "reasons", "why"]
Row: TypeAlias = tuple[Any, ...]
"""One judgment, in the order of `ROWS`."""

ROWS: Final[dict[str, Any]] = {
    **JUDGMENTS,
    "reply": pl.String,
    "rule": pl.String,
    "thinking": pl.String,
    "scores": pl.List(pl.Float64),
    "presentation": pl.String,
}
"""The columns of a judgment as a conversation gives it: with the reply, the rule that read it, what the model thought
before it answered, raw scores in the order of the meaning's codes, and how it was asked."""
_BARE: Final = 40
"""Characters up to which a reply may be nothing but an answer."""
_REMEMBERED: Final = 4096
CLARIFIED: Final = "clarified:"
"""How the rule of a judgment begins that was read from a second reply, which only states the answer of the first."""
_ASIDE: Final = "[Asked for the answer alone:]"
"""Stands between the two replies where both are stored as one."""
SILENT: Final = ("cut", "thinking", "empty", "too-long")
"""Obstacles of replies that hold no answer to be stated: a setting of the run has to change."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request of a conversation, with what tells it from others that read the same."""

    request: Request
    options: tuple[str, ...] = ()
    """What is to be scored, where no reply is to be drawn."""
    sample: int = 0
    step: Step = "answer"
    named: str = ""
    """How the prompt calls the options: letters, words, numbers or text; kept as evidence, no part of a key."""
    ahead: tuple[Ask, ...] = ()
    """What will be asked next whatever the reply is, so that it may be sent at the same time."""


Conversation: TypeAlias = Generator[Ask, Completion, list[Row]]


class Conversations:
    """The conversations of one rater about the items of a corpus.

    Args:
        rater: Who is asked.
        corpus: The items.
        instrument: What is asked, in the rater's form (see `vantage.raters.asked`).
        condition: The circumstances.
        clarify: Whether a model whose reply cannot be read is shown it and asked, once, which answer it gives.
    """

    def __init__(
        self,
        rater: ChatRater,
        corpus: Corpus,
        instrument: Instrument,
        condition: str = "",
        clarify: bool = False,
    ) -> None:
        # Recorded replies, and prompts that are put as they are printed, have no second turn.
        second = rater.answers and rater.template is None and not rater.model_name.startswith("recorded:")
        self.rater, self.condition, self.clarify = rater, condition, clarify and second
        self._meant = {question.id: choices(question.scale.meaning) for question in instrument.questions}
        self.prompter = rater.prompter(corpus, instrument, condition)
        self._relevance = relevance_instrument(instrument).questions[0]
        self._id = rater.id
        self._recorded = rater.model_name.startswith("recorded:")
        self._known: dict[tuple[str, str, str], Mapping[str, ParsedReply]] = {}

    def about(self, call: PlannedCall) -> Conversation:
        """The conversation that a planned call opens."""
        style = call.prompter.style
        if style.scoring:
            return (yield from self._scoring(call))
        rows: list[Row] = []
        if style.voice == "selective-persona":
            reply, recalled = yield from self._relevant(call, rows)
            if reply.value is None or reply.value < RELEVANT:
                return rows
            # What came to the persona's mind stands before the question, so that it answers from there.
            *before, last = call.request.messages
            call = replace(call, request=replace(call.request, messages=(*before, *recalled, last)))
        if style.sampling:
            return [*rows, (yield from self._sampled(call))]
        reason: str | None = None
        if call.prompter.reasons_first:
            call, reason, unanswered = yield from self._reasons(call)
            if unanswered:
                return [*rows, *unanswered]
        asked, completion, replies = yield from self._answer(call)
        if style.two_step and not style.reasoning and completion.finish not in ("failed", "broken"):
            asked = replace(call.prompter.why(asked, completion.text), sampling=call.request.sampling)
            why = yield Ask(asked, sample=call.repetition, step="why")
            reason = why.text.strip() or None if why.finish in ("stop", "length") else None
        for question in call.questions:
            (parsed, given), way = replies[question.id], call.presented(question.id)
            if parsed.value is not None:
                parsed = replace(parsed, value=way.decoded(question, parsed.value))
            # The rationale of a text is the text, whatever was said about it afterwards.
            why_so = parsed.rationale if question.scale.text else reason or parsed.rationale
            with np.errstate(divide="ignore"):
                # An opt-out beside shares has none.
                scores = parsed.shares and [*np.log(parsed.shares).tolist(), *[-np.inf] * len(question.scale.opt_outs)]
            cells = self._row(parsed, given, why_so, scores or None, way)
            rows.append((*self._key(call, question.id, call.sample), *cells))
        return rows

    def _reasons(self, call: PlannedCall) -> Generator[Ask, Completion, tuple[PlannedCall, str, list[Row]]]:
        """The turn for the reasons: the call that follows, what was said, and what is recorded if nothing was."""
        first = yield Ask(call.request, sample=call.repetition, step="reasons")
        if first.finish in ("failed", "filtered", "broken"):
            replies = read_reply(first, call.questions, "")
            rows = []
            for question in call.questions:
                reply, way = replies[question.id], call.presented(question.id)
                key = self._key(call, question.id, call.sample)
                rows.append((*key, *self._row(reply, first, reply.rationale, way=way)))
            return call, "", rows
        reasons = split_thinking(first.text).answer.strip()
        return replace(call, request=call.prompter.answered(call.request, call.questions, reasons)), reasons, []

    def _relevant(
        self, call: PlannedCall, rows: list[Row]
    ) -> Generator[Ask, Completion, tuple[ParsedReply, tuple[Message, Message]]]:
        """How relevant the item is to the persona, and the two turns that say so.

        It is one request for all questions and samples of an item.
        """
        item, question = str(call.item["item"]), self._relevance
        request = replace(self.prompter.relevance(call.item), tag=(item, question.id, 0))
        completion = yield Ask(request, step="relevance")
        reply = read_reply(completion, [question], self.prompter.item_text(call.item))[question.id]
        rows.append((*self._key(call, question.id, 0), *self._row(reply, completion, reply.rationale)))
        return reply, (request.messages[-1], Message("assistant", _parted(completion)[0]))

    def _answer(
        self, call: PlannedCall
    ) -> Generator[Ask, Completion, tuple[Request, Completion, dict[str, tuple[ParsedReply, Completion]]]]:
        """The last request with its reply and, by question, what was read from which reply."""
        asked, way = call.request, str(call.presentations[0]) if call.presentations else ""
        completion = yield Ask(asked, sample=call.repetition, named=_named(call.questions[0]))
        replies = {id_: (r, completion) for id_, r in self._read(completion, call.questions, call.item, way).items()}
        unread = [id_ for id_, (r, _) in replies.items() if r.status == "unparsed" and r.rule not in SILENT]
        if not (self.clarify and unread):
            return asked, completion, replies
        said = _parted(completion)[0]
        again = call.prompter.clarified(asked, call.questions, said)
        stated = yield Ask(again, sample=call.repetition, step="clarify")
        if stated.finish in ("failed", "broken"):
            return asked, completion, replies
        both = replace(stated, text=f"{said}\n\n{_ASIDE}\n{_parted(stated)[0]}")
        for id_, reply in self._read(stated, call.questions, call.item, way).items():
            if id_ in unread and reply.status != "unparsed":
                replies[id_] = replace(reply, rule=CLARIFIED + reply.rule), both
        return again, stated, replies

    def rows(self, completion: Completion, questions: Sequence[Question], item: Mapping[str, Any]) -> list[Row]:
        """What the reply to a first request says on each question: the columns of a judgment behind its key."""
        if self.rater.parts.scoring:
            return [self._scored(completion, questions[0])]
        replies = self._read(completion, questions, item)
        return [self._row(replies[q.id], completion, replies[q.id].rationale) for q in questions]

    def is_bare(self, completion: Completion, questions: Sequence[Question]) -> bool:
        """Whether a reply was found to be nothing but an answer, which says the same about every item."""
        return completion.finish == "stop" and (completion.text, questions[0].id, "") in self._known

    def _read(
        self, completion: Completion, questions: Sequence[Question], item: Mapping[str, Any], way: str = ""
    ) -> Mapping[str, ParsedReply]:
        """What a reply says. A bare answer says the same about every item, so it is worked out once."""
        bare = completion.finish == "stop" and len(questions) == 1 and len(completion.text) <= _BARE
        key = (completion.text, questions[0].id, way)
        if bare and key in self._known:
            return self._known[key]
        source = " ".join([str(v) for v in item.values() if isinstance(v, str)])
        lettered = self._recorded or "labels=letters" in way or questions[0].scale.called == "letters"
        replies = read_reply(
            completion, questions, source, self.rater.template, lettered=lettered, prose=self._recorded
        )
        if bare and replies[key[1]].rule.startswith("whole:") and len(self._known) < _REMEMBERED:
            self._known[key] = replies
        return replies

    def _scoring(self, call: PlannedCall) -> Conversation:
        question = call.questions[0]
        options = _options(question, letters=call.prompter.letters(question))
        key, way, reasons = self._key(call, question.id, call.sample), call.presented(question.id), None
        if call.prompter.reasons_first:
            call, reasons, unanswered = yield from self._reasons(call)
            if unanswered:
                return unanswered
        named = "letters" if call.prompter.letters(question) else _named(question)
        completion = yield Ask(call.request, tuple(option.word for option in options), named=named)
        return [(*key, *self._scored(completion, question, way, reasons))]

    def _sampled(self, call: PlannedCall) -> Generator[Ask, Completion, Row]:
        """The distribution over the answers, from replies that are drawn side by side."""
        question, request = call.questions[0], call.request
        options, drawn, said = _options(question), request.sampling, Counter[str]()
        way = call.presented(question.id)
        counts = np.zeros(len(options))
        asked = refused = 0
        asks: list[Ask] = []
        for number in range(call.prompter.style.sampling):
            sampling = replace(drawn, temperature=drawn.temperature or 1.0, seed=(drawn.seed or 0) + number)
            tag = (str(call.item["item"]), question.id, number)
            asks.append(Ask(replace(request, sampling=sampling, tag=tag), sample=number, named=_named(question)))
        for ask in (replace(asks[0], ahead=tuple(asks[1:])), *asks[1:]):
            completion = yield ask
            reply = self._read(completion, call.questions, call.item, str(way))[question.id]
            if reply.status == "failed":
                continue
            asked, refused = asked + 1, refused + (reply.status == "refused")
            places = [n for n, o in enumerate(options) if (o.value, o.status) == (reply.value, reply.status)]
            counts[places] += 1
            said[options[places[0]].word if places else reply.status] += 1
        key = self._key(call, question.id, call.sample)
        if not asked:
            return (*key, *self._row(reply, completion, None, way=way))
        summary = Completion(", ".join(f"{word} × {count}" for word, count in said.most_common()))
        if 2 * refused > asked:
            return (*key, *self._row(ParsedReply(None, "refused", None, "sampling"), summary, None, way=way))
        with np.errstate(divide="ignore"):
            scores = self._aligned(np.log(counts / asked).tolist(), question, way)
        return (*key, *self._row(ParsedReply(None, "failed", None, "sampling"), summary, None, scores, way))

    def _scored(
        self, completion: Completion, question: Question, way: Presentation = PLAIN, reasons: str | None = None
    ) -> Row:
        """What could not be scored is told as failed; what it stands for is known when all items are there."""
        if completion.finish == "filtered":
            return self._row(ParsedReply(None, "refused", None, "filtered"), completion, completion.category, way=way)
        scores = None if completion.scores is None else self._aligned(completion.scores, question, way)
        failed = ParsedReply(None, "failed", None, "failed" if scores is None else "scoring")
        return self._row(failed, completion, reasons, scores, way)

    def _aligned(self, scores: Sequence[float], question: Question, way: Presentation) -> list[float]:
        """Scores of the options as shown in the order of the meaning's codes; what is not offered has none."""
        given = {
            (choice.value if choice.value is None else way.decoded(question, choice.value), choice.status): score
            for choice, score in zip(choices(question.scale), scores, strict=True)
        }
        return [given.get((choice.value, choice.status), -np.inf) for choice in self._meant[question.id]]

    def _key(self, call: PlannedCall, question: str, sample: int) -> Row:
        return (str(call.item["item"]), question, self._id, self.condition, sample)

    def _row(
        self,
        reply: ParsedReply,
        completion: Completion,
        rationale: str | None,
        scores: list[float] | None = None,
        way: Presentation = PLAIN,
    ) -> Row:
        answer, thought = _parted(completion)
        said = _whole(completion.error) or None if completion.finish == "failed" else _whole(answer)
        why = None if rationale is None else _whole(rationale)
        shown = None if way is PLAIN else str(way) or None
        return (reply.value, reply.status, why, said, reply.rule, _whole(thought) or None, scores, shown)


def _whole(text: str) -> str:
    """Text as a table can hold it: half a character, which a model may well send, becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def read_reply(
    completion: Completion,
    questions: Sequence[Question],
    source: str,
    template: Template | None = None,
    *,
    lettered: bool = False,
    prose: bool = False,
) -> Mapping[str, ParsedReply]:
    """What a completion says on each question: a failed call and a filtered reply are no unreadable ones.

    Args:
        completion: What came back.
        questions: What was asked.
        source: The text of the item.
        template: The prompt that was put as published, which reads its own replies.
        lettered: Whether the options may have been put to the model with letters, as in recorded replies and where
            the presentation has them. Other prompts have none, so that "A" chooses nothing; nor have options in words
            numbers, so that "1" may be the first of them as well as the one whose code it is.
        prose: Whether the prompt was somebody else's, as with recorded replies, so that free prose is read too. A
            prompt of Vantage says in which form to answer, and only that form is read.

    >>> from vantage import Instrument
    >>> question = Instrument.load("sarcasm-rating").question("sarcasm-rating")
    >>> read_reply(Completion("", "filtered"), [question], "")["sarcasm-rating"].status
    'refused'
    """
    answer, thought = _parted(completion)
    cut = completion.finish == "length"
    none: ParsedReply | None = None
    if completion.finish == "failed":
        none = ParsedReply(None, "failed", None, "failed")
    elif completion.finish == "broken":
        # What was going to be said is not known, so nothing of it is an answer.
        none = ParsedReply(None, "failed", None, "broken-off")
    elif completion.finish == "filtered":
        none = ParsedReply(None, "refused", completion.category or None, "filtered")
    elif not answer.strip() and (thought or completion.reasoning_tokens):
        # All tokens went into thinking: there is no answer to be read, and the summary says what to do.
        none = unparsed("thinking")
    elif split_thinking(completion.text).open:
        # Whether the thinking has come to its end is not known, nor then which words are the answer.
        none = unparsed("thinking" if cut else "unclosed-thinking")
    if none is not None:
        return {question.id: none for question in questions}
    if template is not None:
        return {questions[0].id: template.read(answer, questions[0], source, cut=cut)}
    if len(questions) == 1:
        only = parse_reply(answer, questions[0], source, cut=cut, strict=not prose)
        replies: Mapping[str, ParsedReply] = {questions[0].id: only}
    else:
        replies = parse_replies(answer, questions, source, cut=cut, strict=not prose)
    return replies if lettered else {one.id: as_offered(replies[one.id], one.scale) for one in questions}


def as_offered(reply: ParsedReply, scale: Scale) -> ParsedReply:
    """What a reply says where options had no letters: a letter chooses nothing, nor a number where they were words.

    >>> scale = Scale.labels("negative", "neutral", "positive")
    >>> as_offered(ParsedReply(1.0, "answered", None, "whole:number"), scale).rule
    'other-scale'
    """
    form = reply.rule.rpartition(":")[2]
    uncalled = "letter" if form == "letter" else "other-scale" if form in NUMERIC and scale.named else ""
    return unparsed(uncalled) if uncalled else reply


def _parted(completion: Completion) -> tuple[str, str]:
    """The answer and the thinking, also where the endpoint left thinking between tags in the text."""
    answer, thought, *_ = split_thinking(completion.text)
    return answer, "\n".join(part for part in (completion.thinking, thought) if part)


def _named(question: Question) -> str:
    scale = question.scale
    return "text" if scale.text else scale.called or ("words" if scale.named else "numbers")


def _options(question: Question, *, letters: bool = False) -> tuple[AnswerChoice, ...]:
    options = choices(question.scale, letters=letters)
    if not choices(question.scale):
        raise InputError(f"question '{question.id}' has no options to compare", remedy="use a style that reads replies")
    if len(options) < len(choices(question.scale)):
        raise InputError(
            f"question '{question.id}' has more options than there are letters", remedy="use the style sampling"
        )
    return options
