"""What has to hold between the parts of an instrument file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from vantage.documents import Document, Loc
from vantage.errors import nearest
from vantage.instruments.guidance import READERS, REASON, answer_names, has_roles, refers, rendered
from vantage.instruments.questions import part_id
from vantage.scales import Scale, show_code

if TYPE_CHECKING:
    from vantage.instruments.document import (
        AggregatePart,
        ExamplePart,
        InstrumentDocument,
        QuestionPart,
        ReversedPart,
        WordingPart,
    )

MOST_RANKED: Final = 10
APART: Final = ("several", "ranking")
"""Keys of questions that are judged option by option."""


class Checks:
    """What has to hold between the parts of a file; every breach is noted with its place."""

    def __init__(self, document: Document, file: InstrumentDocument, scales: Mapping[str, Scale]) -> None:
        self.document, self.file, self.scales = document, file, scales
        self.questions = [q.id for q in file.questions]
        self.judged = [id_ for q in file.questions for id_ in _judged(q, scales.get(q.scale))]
        self.scale_of = {q.id: scales.get(q.scale) for q in file.questions}
        self.words = {f.name for f in file.fields} | set(file.parameters)
        # Entries that were left out as faulty are reported once, at their own place, not wherever they are used.
        self.declared_scales = set(document.data.get("scales") or ())
        self.declared_questions = {q.get("id") for q in document.data.get("questions") or () if isinstance(q, Mapping)}

    def run(self) -> None:
        """Notes every breach in the document."""
        self._unique("fields", [f.name for f in self.file.fields], "field")
        self._unique("questions", self.questions, "question")
        self._unique("checks", [c.id for c in self.file.checks], "check")
        for index, question in enumerate(self.file.questions):
            self._question(("questions", index), question)
        for name, scale in self.scales.items():
            self._labels(("scales", name), scale.texts)
        for key in ("warning", "consent"):
            self._words((key,), getattr(self.file, key), set(self.file.parameters))
        # A form leaves questions out, not what the guidelines say of their scales.
        answers = {name for scale in self.scales.values() for name in answer_names(scale)}
        answers |= {name for question in self.file.questions for name in self._answers(question)}
        for loc, text in (
            (("guidelines",), self.file.guidelines),
            *((("wordings", index), text) for index, text in enumerate(self.file.wordings)),
        ):
            self._words(loc, text, set(self.file.parameters), answers)
        for name, condition in self.file.conditions.items():
            fields = [f.name for f in self.file.fields]
            self._known(("conditions", name, "shows"), condition.shows, fields, "field")
        for name, form in self.file.forms.items():
            self._known(("forms", name, "questions"), form.questions, self.questions, "question")
            chosen = [
                id_
                for q in self.file.questions
                if q.id in form.questions
                for id_ in _judged(q, self.scales.get(q.scale))
            ]
            self._aggregates(("forms", name, "aggregates"), form.aggregates or [], chosen)
        self._aggregates(("aggregates",), self.file.aggregates, self.judged)
        for index, example in enumerate(self.file.examples):
            self._example(("examples", index), example)
        for index, check in enumerate(self.file.checks):
            self._known(("checks", index, "question"), [check.question], self.judged, "question")
            self._on_scale(("checks", index, "accept"), check.accept, self.scale_of.get(check.question))

    def _note(self, loc: Loc, message: str) -> None:
        self.document.problem(self.document.original(loc), message)

    def _unique(self, key: str, ids: Sequence[str], what: str) -> None:
        for index, id_ in enumerate(ids):
            if id_ in ids[:index]:
                first = self.document.line(self.document.original((key, ids.index(id_))))
                self._note((key, index), f"the {what} '{id_}' is already defined at line {first}; rename one of them")

    def _known(self, loc: Loc, names: Sequence[str], known: Sequence[str], what: str) -> None:
        for name in names:
            if name not in known and not (what == "question" and name in self.declared_questions):
                self._note(loc, f"there is no {what} '{name}'; {nearest(name, known)}")

    def _answers(self, part: QuestionPart | WordingPart, question: QuestionPart | None = None) -> set[str]:
        """The names by which guidelines may refer to the answers of a question, or of a paraphrase of it."""
        scale = self.scales.get(part.scale or (question.scale if question else ""))
        own = {**(question.anchors if question else {}), **part.anchors}
        return set(answer_names(scale.relabelled({c: own[c] for c in own if scale.holds(c)}))) if scale else set()

    def _words(self, loc: Loc, text: str, known: set[str], answers: set[str] | None = None) -> None:
        """What stands between braces; in guidelines also roles, such as answers by these names."""
        try:
            words = refers(text)
        except ValueError:
            self._note(loc, "a brace is not closed; write {{ and }} for braces that are meant as text")
            return
        for word, role in words:
            if answers is not None and word == "answer" and role:
                if role.casefold() not in answers:
                    self._note(loc, f"no question has an answer '{role}'; {nearest(role, sorted(answers))}")
            elif answers is not None and word == "when" and role:
                self._known(loc, [role], [*self.file.conditions, REASON], "condition")
            elif answers is not None and word in READERS:
                continue
            elif word not in known:
                self._note(loc, f"{{{word}}} is neither a field nor a parameter; {nearest(word, sorted(known))}")

    def _asked(self, loc: Loc, part: QuestionPart | WordingPart, question: QuestionPart | None = None) -> None:
        """The words of a question or a paraphrase, and the scale that it names."""
        answers = self._answers(part, question)
        self._ask((*loc, "ask"), part.ask, answers)
        self._labels((*loc, "anchors"), part.anchors.values())
        self._words((*loc, "guidelines"), part.guidelines or "", set(self.file.parameters), answers)
        for condition, wording in part.ask_in.items():
            self._known((*loc, "ask_in"), [condition], list(self.file.conditions), "condition")
            self._ask((*loc, "ask_in", condition), wording, answers)
        if part.scale and part.scale not in self.declared_scales:
            known = sorted(map(str, self.declared_scales))
            self._note((*loc, "scale"), f"there is no scale '{part.scale}'; {nearest(part.scale, known)}")

    def _ask(self, loc: Loc, text: str, answers: set[str]) -> None:
        """The words of a question, of which something always stands."""
        self._words(loc, text, self.words, answers)
        if has_roles(text) and not rendered(text, {}, holds=()).strip():
            self._note(loc, "nothing may be left of this question; begin with a sentence that holds in any case")

    def _labels(self, loc: Loc, texts: Iterable[str]) -> None:
        """Labels refer to readers alone."""
        for text in texts:
            if has_roles(text) and {name for name, _ in refers(text)} - set(READERS):
                self._note(loc, f"a label refers to {{whose}} and {{readers}} only, and not as in '{text}'")

    def _question(self, loc: Loc, question: QuestionPart) -> None:
        self._asked(loc, question)
        self._on_scale((*loc, "anchors"), question.anchors, self.scales.get(question.scale))
        for index, paraphrase in enumerate(question.wordings):
            self._wording((*loc, "wordings", index), paraphrase, question)
        if twin := question.reversed:
            self._reversed((*loc, "reversed"), twin, question)
        self._kind(loc, question, self.scales.get(question.scale))

    def _kind(self, loc: Loc, question: QuestionPart, scale: Scale | None) -> None:
        """What only some kinds of answers allow."""
        varied = [key for key in ("reversed", "wordings", "anchors", "rationale") if key in question.model_fields_set]
        if question.several is not None or question.ranking:
            key, what = ("ranking", "a ranking needs") if question.ranking else ("several", "several options need")
            if scale and (scale.ordered or scale.text):
                self._note((*loc, key), f"{what} a nominal scale, and this is {scale.describe()}")
            elif scale and len(set(_judged(question, scale))) < len(scale.options):
                self._note((*loc, "scale"), "two options differ only in punctuation; give them other labels")
            elif scale and any(map(has_roles, scale.texts)):
                self._note((*loc, "scale"), f"labels refer to nobody by role with '{key}'")
            elif scale and question.ranking and len(scale.options) > MOST_RANKED:
                self._note((*loc, key), f"at most {MOST_RANKED} options can be ranked, and these are more")
            both = ["several"] if question.ranking and question.several is not None else []
            for other in [*varied, *both][:1]:
                self._note((*loc, other), f"'{other}' does not go with '{key}'")
        self._marks(loc, question, scale)
        if scale and scale.text and (unfit := [key for key in varied if key in ("reversed", "anchors")]):
            self._note((*loc, unfit[0]), f"'{unfit[0]}' does not go with a text")
        if question.unlike is not None:
            place = self.questions.index(question.id)
            before = self.file.questions[place - 1] if place else None
            if before is None or before.id != question.unlike or before.scale != question.scale or _parted(before):
                self._note((*loc, "unlike"), f"the question before it must be '{question.unlike}', on the same scale")
        if question.shares and scale and (scale.text or scale.slides):
            self._note((*loc, "shares"), f"shares need options, and the scale is {scale.describe()}")
        if question.shares and (apart := [key for key in (*APART, "unlike", "reversed") if getattr(question, key)]):
            self._note((*loc, apart[0]), f"'{apart[0]}' does not go with 'shares'")
        self._beside(loc, question, scale)

    def _marks(self, loc: Loc, question: QuestionPart, scale: Scale | None) -> None:
        """Words that are marked are those of a text, and belong to the one answer before them."""
        if question.marks is not None:
            texts = [f.name for f in self.file.fields if f.kind == "text"]
            self._known((*loc, "marks"), [question.marks], texts, "field of text")
            if scale and not scale.text:
                self._note((*loc, "marks"), f"marked words are a text, and the scale is {scale.describe()}")
            if (place := self.questions.index(question.id)) and _parted(self.file.questions[place - 1]):
                self._note((*loc, "marks"), "the question before it must have one answer or shares")

    def _beside(self, loc: Loc, question: QuestionPart, scale: Scale | None) -> None:
        """Questions about the answer to another one follow it, or one that does."""
        for key in ("confidence", "others"):
            if (name := getattr(question, key)) is None:
                continue
            place = self.questions.index(question.id)
            while place and name in (self.file.questions[place].confidence, self.file.questions[place].others):
                place -= 1
            asked = self.file.questions[place]
            if asked.id != name or _parted(asked):
                self._note((*loc, key), f"the question before it must be '{name}', with one answer or shares")
            elif key == "others" and asked.scale != question.scale:
                self._note((*loc, key), f"what others answer to '{name}' is asked on the same scale, '{asked.scale}'")
            elif key == "confidence" and scale and (not scale.ordered or scale.text or question.shares):
                self._note((*loc, key), f"how sure somebody is needs an ordered scale, and this is {scale.describe()}")

    def _on_scale(self, loc: Loc, codes: Iterable[float], scale: Scale | None) -> None:
        for code in codes:
            if scale and not scale.holds(code):
                self._note(loc, f"{show_code(code)} is not on the scale {scale.describe()}")

    def _wording(self, loc: Loc, wording: WordingPart, question: QuestionPart) -> None:
        """A paraphrase names the same fields and is answered on the same codes."""
        self._asked(loc, wording, question)
        own, other = self.scales.get(question.scale), self.scales.get(wording.scale or question.scale)
        if own and other and _codes(own) != _codes(other):
            self._note(
                (*loc, "scale"),
                f"scale '{wording.scale}' ({other.describe()}) is another one than that of question '{question.id}' "
                f"({own.describe()}); a paraphrase keeps level, codes and opt-outs",
            )
        self._on_scale((*loc, "anchors"), wording.anchors, other)

    def _reversed(self, loc: Loc, twin: ReversedPart, question: QuestionPart) -> None:
        self._wording(loc, twin, question)
        for index, wording in enumerate(twin.wordings):
            self._wording((*loc, "wordings", index), wording, question)
        scale = self.scales.get(question.scale)
        if twin.scoring is None:
            self._note(loc, f"the twin of '{question.id}' does not say how it is scored; add scoring: mirrored")
        elif scale and any(not scale.holds(scale.mirrored(code)) for code in scale.codes):
            self._note((*loc, "scoring"), f"the codes of {scale.describe()} are not symmetric, so none can be mirrored")
        elif scale and not scale.ordered and len(scale.codes) > 2:
            self._note((*loc, "scoring"), f"{scale.describe()} has no direction, so it cannot be mirrored")
        if len(twin.wordings) not in (0, len(question.wordings)):
            self._note(
                (*loc, "wordings"),
                f"the twin has {len(twin.wordings)} paraphrases and the question {len(question.wordings)}; "
                "give both the same number, or the twin none",
            )

    def _aggregates(self, above: Loc, aggregates: Sequence[AggregatePart], questions: Sequence[str]) -> None:
        known = list(questions)
        for index, aggregate in enumerate(aggregates):
            loc = (*above, index)
            if aggregate.id in known:
                self._note((*loc, "id"), f"'{aggregate.id}' already names a question or an aggregate")
            self._known((*loc, "mean_of"), aggregate.mean_of, known, "question")
            self._known((*loc, "reversed"), aggregate.reversed, aggregate.mean_of, "member")
            known.append(aggregate.id)

    def _example(self, loc: Loc, example: ExamplePart) -> None:
        self._known((*loc, "item"), list(example.item), [f.name for f in self.file.fields], "field")
        if example.condition:
            self._known((*loc, "condition"), [example.condition], list(self.file.conditions), "condition")
        condition = self.file.conditions.get(example.condition)
        for part in self.file.fields:
            if part.name not in example.item:
                if condition is None or part.name in condition.shows:
                    self._note((*loc, "item"), f"the field '{part.name}' is missing")
            elif not _fits(part.kind, example.item[part.name]):
                wanted = "a list of {speaker, text}" if part.kind == "conversation" else "text"
                self._note((*loc, "item", part.name), f"this should be {wanted}")
        for question, answer in example.answers.items():
            self._answer((*loc, "answers", question), question, answer.answer)
            if has_roles(answer.reason) and (asked := next((q for q in self.file.questions if q.id == question), None)):
                self._words((*loc, "answers", question, "reason"), answer.reason, set(), self._answers(asked))

    def _answer(self, place: Loc, question: str, answer: float | list[float] | str) -> None:
        """The answer of a worked example."""
        self._known(place, [question], self.questions, "question")
        scale, part = self.scale_of.get(question), next((q for q in self.file.questions if q.id == question), None)
        if scale is None or part is None:
            return
        if part.shares:
            self._note(place, f"'{question}' asks for shares, so an example has no single answer to it")
        elif isinstance(answer, str):
            if answer not in [o.status for o in scale.opt_outs] and not scale.text:
                self._note((*place, "answer"), f"the scale of '{question}' has no opt-out '{answer}'")
        elif _parted(part) != isinstance(answer, list):
            wanted = "a list of codes" if _parted(part) else "a code"
            self._note((*place, "answer"), f"this should be {wanted}, or an opt-out")
        elif isinstance(answer, list) and part.ranking and sorted(answer) != sorted(scale.codes):
            self._note((*place, "answer"), "a ranking names every option once")
        else:
            for code in answer if isinstance(answer, list) else [answer]:
                if scale.text or not scale.holds(code):
                    self._note((*place, "answer"), f"{show_code(code)} is not on the scale {scale.describe()}")


def _judged(question: QuestionPart, scale: Scale | None) -> list[str]:
    """The ids under which the answers to a question are judged."""
    if not _parted(question) or scale is None:
        return [question.id]
    return [part_id(question.id, option.label) for option in scale.options]


def _parted(question: QuestionPart) -> bool:
    """Whether it is judged option by option."""
    return question.several is not None or question.ranking


def _fits(kind: str, content: Any) -> bool:
    """Whether the content of an example is of the kind that its field shows."""
    if kind != "conversation":
        return isinstance(content, str | int | float)
    return (
        isinstance(content, list)
        and len(content) > 0
        and all(isinstance(turn, Mapping) and set(turn) == {"speaker", "text"} for turn in content)
    )


def _codes(scale: Scale) -> tuple[object, ...]:
    """What two wordings of a question must share: its answers, whatever their labels."""
    return scale.level, scale.codes, scale.range, [opt_out.status for opt_out in scale.opt_outs]
