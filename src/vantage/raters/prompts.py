"""From an instrument, an item and a style to the messages that a model reads.

What many prompts share stands first (who speaks, the guidelines, the questions' own guidelines, examples) and the
item last, so that engines that keep a prompt's beginning compute it once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vantage.errors import InputError
from vantage.instruments import (
    REASON,
    Instrument,
    MultipleChoice,
    Question,
    answer_names,
    has_roles,
    put,
    rendered,
    shared_names,
)
from vantage.presentations import PLAIN, Presentation
from vantage.raters.answers import (
    NONE,
    anchors,
    answer_schema,
    begin_apart,
    choices,
    listed,
    listed_several,
    words,
    words_marked,
    words_several,
    words_shares,
)
from vantage.raters.models.base import Message, Request, Sampling
from vantage.raters.style import Style
from vantage.scales import Scale, show_code

ROLE = (
    "You are one of several raters in a study. Read the guidelines and judge each item as they say. "
    "There is no single right answer; the study needs an honest judgment in exactly the form that is asked for."
)
RELEVANCE = Scale.points(1, 10, anchors={1: "nothing to do with my life", 10: "right at the centre of my life"})
"""How relevant a persona finds an item; from `RELEVANT` on, it answers."""
RELEVANT = 5
NO_ANSWER = "no single answer"
"""What a model writes that is asked which answer it gave and gave none; no scale has it as an answer."""
_NO_REASON = "I have read the item and made up my mind."
"""Stands where reasons belong and there are none."""


@dataclass(frozen=True, slots=True)
class Shot:
    """A worked example as a model sees it: an item and its answers by question, with reasons where there are any."""

    item: Mapping[str, Any]
    answers: Mapping[str, float | str]
    """Codes of the scale, or the opt-out that was chosen."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    refers: bool = False
    """Whether its reasons refer to answers and readers by role, as those of an instrument may."""


@dataclass(frozen=True, slots=True)
class Prompter:
    """Writes the prompts of one instrument in one style and, where there is one, one voice."""

    instrument: Instrument
    style: Style
    condition: str = ""
    voice: str = ""
    """Who speaks, in prose: a persona's profile or a user's trait; empty for the plain rater."""
    sampling: Sampling = field(default_factory=Sampling)
    first_tokens: bool = field(default=False, kw_only=True)
    """Whether the model tells only the tokens with which a reply begins, so that options may need letters."""
    presentation: Presentation = field(default=PLAIN, kw_only=True)
    """How the questions are put; they come as they are shown."""

    def request(self, questions: Sequence[Question], item: Mapping[str, Any], shots: Sequence[Shot] = ()) -> Request:
        """The request for one question, or for all of them together."""
        messages = [Message("system", self.system(questions))]
        for shot in shots:
            messages.append(Message("user", self.user(questions, shot.item)))
            if self.reasons_first:
                messages.append(Message("assistant", self._reason(questions[0], shot) or _NO_REASON))
                messages.append(Message("user", self._now(questions)))
            messages.append(Message("assistant", self.answer(questions, shot)))
        messages.append(Message("user", self.user(questions, item)))
        schema = None if self.reasons_first else self._schema(questions, reason=self._explains(questions))
        return Request(tuple(messages), self.sampling, schema)

    def _schema(self, questions: Sequence[Question], *, reason: bool) -> Mapping[str, Any] | None:
        if self.style.free or not (self.style.json or self._jointly(questions)):
            return None
        return answer_schema(
            questions, reason=reason, together=self._jointly(questions), answer_first=self.style.answer_first
        )

    @property
    def reasons_first(self) -> bool:
        """Whether reasons are asked for in a turn of their own, before the answer."""
        return self.style.reasoning and (self.style.scoring or self.style.two_step)

    def letters(self, question: Question) -> bool:
        """Whether the answers are written as letters, because a first token could not tell them apart."""
        needed = self.style.scoring and self.first_tokens and not begin_apart(question.scale)
        if needed and question.scale.called in ("words", "numbers"):
            raise InputError(
                f"the {question.scale.called} of question '{question.id}' cannot be told apart by their first tokens",
                remedy="use labels=letters where options are scored, or another format",
            )
        return needed

    def answered(self, asked: Request, questions: Sequence[Question], reasons: str) -> Request:
        """The turn after the reasons, in which nothing but the answer is asked for."""
        turns = (Message("assistant", reasons.strip() or _NO_REASON), Message("user", self._now(questions)))
        schema = None if self.style.scoring else self._schema(questions, reason=False)
        return Request((*asked.messages, *turns), asked.sampling, schema, tag=asked.tag)

    def _jointly(self, questions: Sequence[Question]) -> bool:
        return self.style.together or len(put(questions)) > 1

    def _explains(self, questions: Sequence[Question]) -> bool:
        """Whether a reason is asked for beside the answer; a text is no reason."""
        return self.explains or any(q.rationale == "required" and not q.scale.text for q in questions)

    @property
    def explains(self) -> bool:
        """Whether the style asks for a reason in the same reply, whatever the questions say."""
        return self.style.reasoning or self.style.answer_first

    def reasons(self, questions: Sequence[Question]) -> bool:
        """Whether the request asks for a reason."""
        style = self.style
        return self.explains or (not style.scoring and not style.two_step and self._explains(questions))

    def _now(self, questions: Sequence[Question]) -> str:
        alone = replace(self, style=replace(self.style, reasoning=False))
        return f"Now give your answer. {self._plainly(questions) if self.style.scoring else alone.form(questions)}"

    def _plainly(self, questions: Sequence[Question]) -> str:
        question = questions[0]
        return f"Reply with {words(question.scale, letters=self.letters(question))}, and nothing else."

    def clarified(self, asked: Request, questions: Sequence[Question], reply: str) -> Request:
        """The turn after a reply that could not be read: which answer does it give, if it gives one?"""
        if self._jointly(questions):
            keys = ", ".join(f"{json.dumps(q.id)}: …" for q in put(questions))
            form = f"Reply with one JSON object and nothing else: {{{keys}}}."
        else:
            form = f"Reply with {_allowed(put(questions)[0], as_list=False)}, and nothing else."
        ask = (
            "State the answer that you have just given, in the form that was asked for and without anything new. "
            f'{form} Where you gave no answer, or more than one, write "{NO_ANSWER}" in its place.'
        )
        return Request((*asked.messages, Message("assistant", reply), Message("user", ask)), asked.sampling)

    def why(self, asked: Request, reply: str) -> Request:
        """The second step: why this answer?"""
        messages = (
            *asked.messages,
            Message("assistant", reply),
            Message("user", "Why is this your answer? Explain it in one to three sentences, from the item itself."),
        )
        return Request(messages, self.sampling)

    def relevance(self, item: Mapping[str, Any]) -> Request:
        """Asks a persona how relevant an item is to its life, and for an occasion that it recalls."""
        asked = (
            f"{self.item_text(item)}\n\nBefore you judge this: how relevant is it to your own life? Think of one "
            "occasion that you remember and that has to do with it, or say that there is none.\n\n"
            f'{listed(RELEVANCE)}\n\nReply with a line "Occasion: …" in one sentence and then a last line of the '
            'form "Answer: X", where X is a whole number from 1 to 10.'
        )
        return Request((Message("system", self._voiced()), Message("user", asked)), self.sampling)

    def system(self, questions: Sequence[Question]) -> str:
        """Who speaks, the guidelines, what the questions mean and, for scoring, how they may be answered."""
        general, *explained = self.guided(questions)
        parts = [self._voiced(), f"# Guidelines\n\n{general}"]
        if explained:
            heading = "# The questions" if len(explained) > 1 else "# The question"
            parts.append(heading + "\n\n" + "\n\n".join(explained))
        if self.style.scoring:
            # Options are compared for many items: what can be said once stands where it is computed once.
            answers = listed(questions[0].scale, letters=self.letters(questions[0]))
            parts.append(f"# The answers\n\n{answers}\n\n{self.form(questions)}")
        return "\n\n".join(parts)

    def user(self, questions: Sequence[Question], item: Mapping[str, Any]) -> str:
        """The item, the question or questions, and the form of the answer unless the system message tells it."""
        filled = {name: _plain(value) for name, value in item.items()}
        parts = [self.item_text(item)]
        if not self._jointly(questions):
            (question,) = put(questions)
            parts.append(f"Question: {question.wording(self.condition, **filled)}")
            if self.style.scoring:
                return "\n\n".join(parts)
            if isinstance(question, MultipleChoice):
                parts.append(listed_several(question))
            elif not question.marks:
                parts.append(listed(question.scale))
        else:
            asked = []
            for question in put(questions):
                allowed = _allowed(question, as_list=True)
                if question.unlike:
                    allowed += f", but another one than for [{question.unlike}]"
                meant = f" ({words})" if (words := anchors(question.scale)) else ""
                asked.append(
                    f"[{question.id}] {question.wording(self.condition, **filled)}\nAnswer with {allowed}.{meant}"
                )
            parts += ["Questions:", *asked]
        return "\n\n".join([*parts, self.form(questions)])

    def item_text(self, item: Mapping[str, Any]) -> str:
        """The fields of an item under their headings, in the order that the condition shows them."""
        shown = []
        for part in self.instrument.shown(self.condition):
            content = item.get(part.name)
            if content is None:
                continue
            text = _turns(content) if part.kind == "conversation" else str(content).strip()
            shown.append(f"{part.title}:\n{text}" if "\n" in text else f"{part.title}: {text}")
        return "\n\n".join(shown)

    def form(self, questions: Sequence[Question]) -> str:
        """The form of the answer, unmistakably."""
        if self.reasons_first:
            return (
                "First give only your reasons, in two or three sentences; you will be asked for the answer afterwards."
            )
        if self.style.scoring:
            return self._plainly(questions)
        reason = self.reasons(questions)
        if self._jointly(questions):
            inside = self._shape() if reason else "…"
            keys = ", ".join(f"{json.dumps(q.id)}: {inside}" for q in put(questions))
            brief = " with a reason of one sentence each" if reason else ""
            return f"Reply with one JSON object{brief} and nothing else:\n{{{keys}}}"
        (question,) = put(questions)
        allowed = _allowed(question, as_list=self.style.json)
        if self.style.json:
            shape = self._shape() if reason else '{"answer": …}'
            return f"Reply with one JSON object and nothing else: {shape}. The answer is {allowed}."
        if reason:
            return (
                "First give your reasons in two or three sentences. Then write a last line of the form "
                f'"Answer: X", where X is {allowed}.'
            )
        return f"Reply with {allowed}, and nothing else."

    def answer(self, questions: Sequence[Question], shot: Shot) -> str:
        """A worked example's answers in the form that is asked for."""
        asked = put(questions)
        answers = {q.id: self._shown(q, shot) for q in asked}
        first = {q.id: next(q.parts()).id if isinstance(q, MultipleChoice) else q.id for q in asked}
        reasons = {q.id: self._reason(q, shot, first[q.id]) for q in asked}
        if self._jointly(questions):
            with_reason = self._explains(questions)
            full = {q: self._object(reasons[q], _json(a)) if with_reason else _json(a) for q, a in answers.items()}
            return json.dumps(full, ensure_ascii=False)
        (question,) = asked
        answer, reason = answers[question.id], reasons[question.id]
        with_reason = not self.style.scoring and self._explains(questions)
        if self.style.json:
            whole = self._object(reason, _json(answer)) if with_reason else {"answer": _json(answer)}
            return json.dumps(whole, ensure_ascii=False)
        plain = answer if isinstance(answer, str) else "; ".join(answer) or NONE
        if with_reason and not self.style.two_step:
            return f"{reason}\nAnswer: {plain}".strip()
        return plain

    def _shape(self) -> str:
        """An object with a reason, in the order that the style asks for."""
        return '{"answer": …, "reason": "…"}' if self.style.answer_first else '{"reason": "…", "answer": …}'

    def _object(self, reason: str, answer: Any) -> dict[str, Any]:
        if self.style.answer_first:
            return {"answer": answer, "reason": reason}
        return {"reason": reason, "answer": answer}

    def _shown(self, question: Question, shot: Shot) -> str | list[str]:
        if not isinstance(question, MultipleChoice):
            return _written(question.scale, shot.answers[question.id], letters=self.letters(question))
        declined = shot.answers[next(question.parts()).id]
        if isinstance(declined, str):
            return _written(question.scale, declined)
        return [question.scale.label(code) for code in question.codes(shot.answers)]

    def _answers(self, question: Question) -> dict[str, str]:
        """What the answers to a question are called in the prompt."""
        said = {
            choice.status if choice.value is None else choice.value: choice.word
            for choice in choices(question.scale, letters=self.letters(question))
        }
        return answer_names(question.scale, said, mirrored=self.presentation.direction == "reversed")

    def _holds(self, questions: Sequence[Question]) -> set[str]:
        conditions = [self.condition] if self.condition else list(self.instrument.conditions)
        return {*conditions, *([REASON] if self.reasons(questions) else [])}

    def read(self, questions: Sequence[Question]) -> tuple[Question, ...]:
        """The questions, as they are shown, in the words in which this rater reads them: without roles."""
        mine = [question.spoken() if self.voice else question for question in questions]
        holds = self._holds(mine)
        return tuple(one.read(self._answers(one.whole or one), person=bool(self.voice), holds=holds) for one in mine)

    def _reason(self, question: Question, shot: Shot, part: str = "") -> str:
        """The reason of a worked example, as this rater reads it."""
        reason = shot.reasons.get(part or question.id, "")
        if not (shot.refers and has_roles(reason)):
            return reason
        return rendered(reason, self._answers(question), person=bool(self.voice), holds=self._holds([question]))

    def guided(self, questions: Sequence[Question]) -> list[str]:
        """The guidelines and what the questions mean, for whoever is asked, under these circumstances."""
        holds = self._holds(questions)
        names = {question.id: self._answers(question) for question in put(questions)}
        written = [(self.presentation.guidance(self.instrument), "", shared_names(names.values()))]
        for question in put(questions):
            own = self._answers(question.whole) if question.whole else names[question.id]
            written.append((question.guidance, f"{question.title}: ", own))
        return [
            title + text.strip()
            for guidance, title, answers in written
            if (text := rendered(guidance, answers, person=bool(self.voice), holds=holds))
        ]

    def _voiced(self) -> str:
        if not self.voice:
            return ROLE
        return f"{ROLE}\n\n# Who you are\n\n{self.voice.strip()}"


def _allowed(question: Question, *, as_list: bool) -> str:
    if isinstance(question, MultipleChoice):
        return words_several(question, as_list=as_list)
    if question.shares:
        return words_shares(question, as_object=as_list)
    if question.marks:
        return words_marked(question)
    empty = f', or "{NONE}"' if question.scale.text and question.rationale == "optional" else ""
    return words(question.scale) + empty


def _written(scale: Scale, answer: float | str, *, letters: bool = False) -> str:
    for choice in choices(scale, letters=letters):
        if choice.status == answer or (choice.value is not None and choice.value == answer):
            return choice.word
    return str(answer) if scale.text else show_code(float(answer))


def _json(word: str | list[str]) -> str | list[str] | int | float:
    if isinstance(word, list):
        return word
    try:
        number = float(word)
    except ValueError:
        return word
    return int(number) if number.is_integer() else number


def _turns(content: Any) -> str:
    if isinstance(content, str):
        return content.strip()
    return "\n".join(f"{turn['speaker']}: {turn['text']}" for turn in content)


def _plain(value: Any) -> str:
    spoken = isinstance(value, list) and all(isinstance(turn, Mapping) and "speaker" in turn for turn in value)
    return _turns(value) if spoken else str(value)
