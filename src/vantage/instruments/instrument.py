"""The instrument: what is asked, of what, on which scales, and how it is explained."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import resources
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any, Final, Literal

from vantage.documents import Document, Loc
from vantage.errors import InputError, nearest
from vantage.plugins import Plugins
from vantage.scales import Band, Option, OptOut, Scale, show_code

if TYPE_CHECKING:
    from vantage.instruments.document import (
        AggregatePart,
        ExamplePart,
        InstrumentDocument,
        QuestionPart,
        ReversedPart,
        ScalePart,
        WordingPart,
    )


INFERRED = "Questions and scales as found in the data; no wording was given."
"""How an instrument that was inferred from answers is described."""


@dataclass(frozen=True, slots=True)
class Field:
    """Something that an item shows: a column of the items table and how it is headed."""

    name: str
    title: str
    kind: Literal["text", "target", "conversation"] = "text"


@dataclass(frozen=True, slots=True)
class Question:
    """One question about an item."""

    id: str
    title: str
    ask: str
    scale: Scale
    ask_in: Mapping[str, str] = field(default_factory=dict)
    guidelines: str = ""
    rationale: Literal["no", "optional", "required"] = "no"
    section: str = ""
    wordings: tuple[Question, ...] = ()
    """The same question in other words."""
    reversed: Question | None = None
    """The opposite question; its answers are mirrored within the scale."""

    def wording(self, condition: str = "", **filled: str) -> str:
        """The question under a condition, with the item's fields filled in."""
        return _fill(self.ask_in.get(condition, self.ask), filled)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A score that is the mean of several questions or of earlier aggregates."""

    id: str
    title: str
    members: tuple[str, ...]
    reversed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a worked example: a code of the scale, or the opt-out that was chosen."""

    answer: float | str
    reason: str


@dataclass(frozen=True, slots=True)
class Example:
    """A worked example: an item with its answers by question."""

    item: Mapping[str, Any]
    answers: Mapping[str, Answer]
    condition: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """An attention check: an instruction whose accepted answers are known."""

    id: str
    instruction: str
    question: str
    accept: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Instrument:
    """Questions, scales, guidelines, worked examples and checks: one YAML file, put to people and models alike.

    >>> instrument = Instrument.load("warmth-competence")
    >>> [question.id for question in instrument.questions]
    ['trust', 'sociability', 'competence']
    >>> instrument.question("trust").scale.band(-1.2)
    'low'
    """

    document: Mapping[str, Any] = field(repr=False)
    """The plain data of the file, as it is stored inside a corpus."""
    id: str = field(compare=False)
    version: int = field(compare=False)
    title: str = field(compare=False)
    description: str = field(compare=False, repr=False)
    language: str = field(compare=False, repr=False)
    sources: tuple[str, ...] = field(compare=False, repr=False)
    parameters: Mapping[str, str] = field(compare=False, repr=False)
    fields: tuple[Field, ...] = field(compare=False, repr=False)
    conditions: Mapping[str, tuple[str, ...]] = field(compare=False, repr=False)
    """The fields shown under each condition."""
    guidelines: str = field(compare=False, repr=False)
    warning: str = field(compare=False, repr=False)
    questions: tuple[Question, ...] = field(compare=False, repr=False)
    forms: Mapping[str, tuple[str, ...]] = field(compare=False, repr=False)
    aggregates: tuple[Aggregate, ...] = field(compare=False, repr=False)
    examples: tuple[Example, ...] = field(compare=False, repr=False)
    checks: tuple[Check, ...] = field(compare=False, repr=False)
    consent: str = field(compare=False, repr=False)
    wordings: tuple[str, ...] = field(compare=False, repr=False)
    """The general guidelines in other words."""

    def __hash__(self) -> int:
        return hash((self.id, self.version, len(self.questions)))

    @classmethod
    def load(cls, name_or_path: str | Path) -> Instrument:
        """A bundled instrument by name (`NAME` or `NAME:FORM`), or an instrument file by its path."""
        name = str(name_or_path)
        if name.endswith((".yaml", ".yml")) or "/" in name or "\\" in name or isinstance(name_or_path, Path):
            return cls._resolve(Document.read(name_or_path))
        stem, _, form = name.partition(":")
        if stem in bundled():
            instrument = cls._resolve(Document.bundled("vantage.instruments", "bundled", f"{stem}.yaml"))
        else:
            instrument = PLUGINS.find(stem)
        return instrument.form(form) if form else instrument

    @classmethod
    def from_document(cls, data: Mapping[str, Any], file: str = "instrument") -> Instrument:
        """An instrument from plain data, checked like a file."""
        return cls._resolve(Document(file, copy.deepcopy(dict(data))))

    @classmethod
    def of_questions(cls, id: str, title: str, questions: Mapping[str, Scale]) -> Instrument:  # noqa: A002
        """A bare instrument for data that came without one: question ids and their scales.

        >>> Instrument.of_questions("mine", "My table", {"rating": Scale.points(1, 5)}).questions[0].scale.codes
        (1.0, 2.0, 3.0, 4.0, 5.0)
        """
        return cls.from_document(
            {
                "id": id,
                "version": 1,
                "title": title,
                "description": INFERRED,
                "fields": [{"name": "text", "title": "Text"}],
                "guidelines": "No guidelines were given with the data.",
                "scales": {f"scale-{n}": _scale_data(scale) for n, scale in enumerate(questions.values(), 1)},
                "questions": [
                    {"id": question, "title": question, "ask": _escaped(question), "scale": f"scale-{n}"}
                    for n, question in enumerate(questions, 1)
                ],
            },
            file=title,
        )

    @property
    def inferred(self) -> bool:
        """Whether it was made from answers, so that nobody has worded its questions."""
        return self.description == INFERRED

    def question(self, id: str) -> Question:  # noqa: A002
        """The question with this id."""
        for question in self.questions:
            if question.id == id:
                return question
        raise InputError(
            f"instrument '{self.id}' has no question '{id}'",
            remedy=nearest(id, [q.id for q in self.questions]),
        )

    def form(self, name: str) -> Instrument:
        """The instrument with the questions of one of its forms only."""
        if name not in self.forms:
            known = list(self.forms)
            remedy = nearest(name, known) if known else "use the whole instrument"
            raise InputError(f"instrument '{self.id}' has no form '{name}'", remedy=remedy)
        chosen = self.forms[name]
        data = copy.deepcopy(dict(self.document))
        form = data.pop("forms")[name]
        by_id = {question["id"]: question for question in data["questions"]}
        data |= {
            "id": f"{self.id}-{name}",
            "title": form["title"],
            "questions": [by_id[id_] for id_ in chosen],
        }
        scores = form.get("aggregates")
        if scores is None:
            available, scores = set(chosen), []
            for aggregate in self.document.get("aggregates", []):
                if available.issuperset(aggregate["mean_of"]):
                    scores.append(aggregate)
                    available.add(aggregate["id"])
        data["aggregates"] = scores
        data["checks"] = [c for c in data.get("checks", []) if c["question"] in chosen]
        for example in data.get("examples", []):
            example["answers"] = {q: a for q, a in example["answers"].items() if q in chosen}
        data["examples"] = [e for e in data.get("examples", []) if e["answers"]]
        return Instrument.from_document(data, file=f"{self.id}:{name}")

    def with_parameters(self, **values: str) -> Instrument:
        """The instrument with other words for its parameters, such as another society that judges."""
        for name in values:
            if name not in self.parameters:
                raise InputError(
                    f"instrument '{self.id}' has no parameter '{name}'",
                    remedy=nearest(name, list(self.parameters)),
                )
        data = copy.deepcopy(dict(self.document))
        data["parameters"] = {**data.get("parameters", {}), **values}
        return Instrument.from_document(data, file=self.id)

    def coarse(self) -> Instrument:
        """The instrument with the bands of its scales as the answers: low, neutral and high instead of −3…+3.

        Questions get the suffix `-coarse`, since their answers are on another scale; those without bands are
        left out. Bands are coded by their order, with 0 in the middle where there is one.

        >>> [o.label for o in Instrument.load("warmth-competence").coarse().questions[0].scale.options]
        ['low', 'neutral', 'high']
        """
        banded = [q for q in self.questions if q.scale.bands]
        if not banded:
            raise InputError(f"no scale of instrument '{self.id}' has bands", remedy="use the fine answers")
        data = copy.deepcopy(dict(self.document))
        kept = {q["id"]: q for q in data["questions"]}
        data |= {"id": f"{self.id}-coarse", "forms": {}, "aggregates": [], "checks": [], "questions": [], "scales": {}}
        for number, question in enumerate(banded, 1):
            count = len(question.scale.bands)
            codes = range(-(count // 2), count // 2 + 1) if count % 2 else range(count)
            options = [{"code": c, "label": b.name} for c, b in zip(codes, question.scale.bands, strict=True)]
            scale: dict[str, Any] = {"level": "ordinal", "options": options}
            if question.scale.opt_outs:
                scale["opt_outs"] = {o.status: o.label for o in question.scale.opt_outs}
            data["scales"][f"bands-{number}"] = scale
            asked = {**kept[question.id], "id": f"{question.id}-coarse", "scale": f"bands-{number}"}
            for wording in (asked, *_worded(asked)):
                wording.pop("anchors", None)
            for wording in _worded(asked):
                wording.pop("scale", None)
            data["questions"].append(asked)
        data["examples"] = [
            {**example, "answers": answers}
            for example in data.get("examples", [])
            if (answers := _coarse_answers(example["answers"], banded))
        ]
        return Instrument.from_document(data, file=self.id)

    def shown(self, condition: str = "") -> tuple[Field, ...]:
        """The fields that a rater sees under a condition."""
        if condition not in self.conditions:
            return self.fields
        by_name = {field.name: field for field in self.fields}
        return tuple(by_name[name] for name in self.conditions[condition])

    def _repr_html_(self) -> str:
        from vantage.notebook import html

        rows = []
        for question in self.questions:
            scale = question.scale
            named = [f"{show_code(o.code)} {o.label}" for o in scale.options if o.label]
            rows.append((question.id, question.ask, scale.describe(), "; ".join(named)))
        shown = html.block(
            self.title,
            html.line(self.description),
            html.grid(("question", "asks", "scale", "answers"), rows),
            html.folded("Guidelines", *(html.line(part) for part in self.guidelines.split("\n\n"))),
            note=f"{self.id}, version {self.version}",
        )
        return str(shown)

    @classmethod
    def _resolve(cls, document: Document) -> Instrument:
        from vantage.instruments.document import InstrumentDocument

        stand_ins = {"id": "x", "version": 1, "title": "x", "description": "x", "guidelines": "x"}
        file = document.validate(InstrumentDocument, stand_ins)
        if file is None:
            document.check()
            raise AssertionError("a document that does not validate has a problem to report")
        scales = _scales(document, file)
        _Checks(document, file, scales).run()
        document.check()
        words = file.parameters

        return cls(
            document=document.data,
            id=file.id,
            version=file.version,
            title=file.title,
            description=file.description,
            language=file.language,
            sources=tuple(file.sources),
            parameters=file.parameters,
            fields=tuple(Field(f.name, f.title, f.kind) for f in file.fields),
            conditions={name: tuple(c.shows) for name, c in file.conditions.items()},
            guidelines=_fill(file.guidelines, words),
            warning=_fill(file.warning, words),
            questions=tuple(_question(q, scales, words) for q in file.questions),
            forms={name: tuple(form.questions) for name, form in file.forms.items()},
            aggregates=tuple(
                Aggregate(a.id, a.title, tuple(a.mean_of), frozenset(a.reversed)) for a in file.aggregates
            ),
            examples=tuple(
                Example(e.item, {q: Answer(a.answer, a.reason) for q, a in e.answers.items()}, e.condition)
                for e in file.examples
            ),
            checks=tuple(Check(c.id, c.instruction, c.question, tuple(c.accept)) for c in file.checks),
            consent=_fill(file.consent, words),
            wordings=tuple(_fill(text, words) for text in file.wordings),
        )


def _question(part: QuestionPart, scales: Mapping[str, Scale], words: Mapping[str, str]) -> Question:
    def worded(wording: WordingPart | QuestionPart, plain: Question | None = None) -> Question:
        """The question in some words; what these leave out is as in the plain question."""
        scale = plain.scale if plain and wording.scale is None else scales[wording.scale or part.scale]
        return Question(
            part.id,
            part.title,
            _fill(wording.ask, words, again=True),
            scale.relabelled(wording.anchors),
            {condition: _fill(ask, words, again=True) for condition, ask in wording.ask_in.items()},
            plain.guidelines if plain and wording.guidelines is None else _fill(wording.guidelines or "", words),
            part.rationale,
            part.section,
        )

    plain, twin = worded(part), part.reversed
    if twin is not None:
        opposite = replace(worded(twin, plain), title=twin.title or part.title)
        others = tuple(replace(worded(one, opposite), title=opposite.title) for one in twin.wordings)
        opposite = replace(opposite, wordings=others)
        plain = replace(plain, reversed=opposite)
    return replace(plain, wordings=tuple(worded(one, plain) for one in part.wordings))


def _worded(question: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The paraphrases and the reversed twin of a question, as plain data."""
    twin = question.get("reversed")
    twins = [twin, *twin.get("wordings", [])] if twin else []
    return [*question.get("wordings", []), *twins]


def _coarse_answers(answers: Mapping[str, Any], questions: Sequence[Question]) -> dict[str, Any]:
    """The answers of a worked example as bands."""
    coarse: dict[str, Any] = {}
    for question in questions:
        if question.id in answers:
            answer, scale = answers[question.id], question.scale
            if not isinstance(answer["answer"], str):
                names = [band.name for band in scale.bands]
                middle = len(names) // 2 if len(names) % 2 else 0
                answer = {**answer, "answer": names.index(scale.band(answer["answer"]) or "") - middle}
            coarse[f"{question.id}-coarse"] = answer
    return coarse


def bundled() -> list[str]:
    """The names of the instruments that come with the package."""
    folder = resources.files("vantage.instruments") / "bundled"
    return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))


def _fill(text: str, values: Mapping[str, str], *, again: bool = False) -> str:
    """Text with `{name}` replaced where the name is known; a doubled brace stands for itself.

    With `again`, the result is to be filled once more: braces of the text stay doubled and unknown names stand.
    """
    parts: list[str] = []
    for literal, name, _, _ in Formatter().parse(text):
        parts.append(_escaped(literal) if again else literal)
        if name is not None:
            value = values.get(name)
            parts.append("{" + name + "}" if value is None else _escaped(value) if again else value)
    return "".join(parts)


class _Checks:
    """What has to hold between the parts of a file; every breach is noted with its place."""

    def __init__(self, document: Document, file: InstrumentDocument, scales: Mapping[str, Scale]) -> None:
        self.document, self.file, self.scales = document, file, scales
        self.questions = [q.id for q in file.questions]
        self.scale_of = {q.id: scales.get(q.scale) for q in file.questions}
        self.words = {f.name for f in file.fields} | set(file.parameters)
        # Entries that were left out as faulty are reported once, at their own place, not wherever they are used.
        self.declared_scales = set(document.data.get("scales") or ())
        self.declared_questions = {q.get("id") for q in document.data.get("questions") or () if isinstance(q, Mapping)}

    def run(self) -> None:
        self._unique("fields", [f.name for f in self.file.fields], "field")
        self._unique("questions", self.questions, "question")
        self._unique("checks", [c.id for c in self.file.checks], "check")
        for index, question in enumerate(self.file.questions):
            self._question(("questions", index), question)
        for key in ("guidelines", "warning", "consent"):
            self._words((key,), getattr(self.file, key), set(self.file.parameters))
        for index, text in enumerate(self.file.wordings):
            self._words(("wordings", index), text, set(self.file.parameters))
        for name, condition in self.file.conditions.items():
            fields = [f.name for f in self.file.fields]
            self._known(("conditions", name, "shows"), condition.shows, fields, "field")
        for name, form in self.file.forms.items():
            self._known(("forms", name, "questions"), form.questions, self.questions, "question")
            self._aggregates(("forms", name, "aggregates"), form.aggregates or [], form.questions)
        self._aggregates(("aggregates",), self.file.aggregates, self.questions)
        for index, example in enumerate(self.file.examples):
            self._example(("examples", index), example)
        for index, check in enumerate(self.file.checks):
            self._known(("checks", index, "question"), [check.question], self.questions, "question")
            scale = self.scale_of.get(check.question)
            for code in check.accept if scale else ():
                if scale and not scale.holds(code):
                    self._note(
                        ("checks", index, "accept"),
                        f"{show_code(code)} is not on the scale {scale.describe()}",
                    )

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

    def _words(self, loc: Loc, text: str, known: set[str]) -> None:
        try:
            words = [name for _, name, _, _ in Formatter().parse(text) if name is not None]
        except ValueError:
            self._note(loc, "a brace is not closed; write {{ and }} for braces that are meant as text")
            return
        for word in words:
            if word not in known:
                self._note(loc, f"{{{word}}} is neither a field nor a parameter; {nearest(word, sorted(known))}")

    def _question(self, loc: Loc, question: QuestionPart) -> None:
        self._words((*loc, "ask"), question.ask, self.words)
        self._words((*loc, "guidelines"), question.guidelines, set(self.file.parameters))
        for condition, wording in question.ask_in.items():
            self._known((*loc, "ask_in"), [condition], list(self.file.conditions), "condition")
            self._words((*loc, "ask_in", condition), wording, self.words)
        if question.scale not in self.declared_scales:
            known = sorted(map(str, self.declared_scales))
            self._note((*loc, "scale"), f"there is no scale '{question.scale}'; {nearest(question.scale, known)}")
        self._anchors(loc, question.anchors, self.scales.get(question.scale))
        for index, paraphrase in enumerate(question.wordings):
            self._wording((*loc, "wordings", index), paraphrase, question)
        if twin := question.reversed:
            self._reversed((*loc, "reversed"), twin, question)

    def _anchors(self, loc: Loc, anchors: Mapping[float, str], scale: Scale | None) -> None:
        for code in anchors if scale else ():
            if scale and code not in scale.codes:
                self._note((*loc, "anchors"), f"{show_code(code)} is not on the scale {scale.describe()}")

    def _wording(self, loc: Loc, wording: WordingPart, question: QuestionPart) -> None:
        """A paraphrase names the same fields and is answered on the same codes."""
        self._words((*loc, "ask"), wording.ask, self.words)
        self._words((*loc, "guidelines"), wording.guidelines or "", set(self.file.parameters))
        for condition, ask in wording.ask_in.items():
            self._known((*loc, "ask_in"), [condition], list(self.file.conditions), "condition")
            self._words((*loc, "ask_in", condition), ask, self.words)
        own, other = self.scales.get(question.scale), self.scales.get(wording.scale or question.scale)
        if wording.scale and wording.scale not in self.declared_scales:
            known = sorted(map(str, self.declared_scales))
            self._note((*loc, "scale"), f"there is no scale '{wording.scale}'; {nearest(wording.scale, known)}")
        if own and other and _codes(own) != _codes(other):
            self._note(
                (*loc, "scale"),
                f"scale '{wording.scale}' ({other.describe()}) is another one than that of question '{question.id}' "
                f"({own.describe()}); a paraphrase keeps level, codes and opt-outs",
            )
        self._anchors(loc, wording.anchors, other)

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
            place: Loc = (*loc, "answers", question)
            self._known(place, [question], self.questions, "question")
            scale = self.scale_of.get(question)
            if scale is None:
                continue
            if isinstance(answer.answer, str):
                if answer.answer not in [o.status for o in scale.opt_outs]:
                    self._note((*place, "answer"), f"the scale of '{question}' has no opt-out '{answer.answer}'")
            elif not scale.holds(answer.answer):
                shown = show_code(answer.answer)
                self._note((*place, "answer"), f"{shown} is not on the scale {scale.describe()}")


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


def _scales(document: Document, file: InstrumentDocument) -> dict[str, Scale]:
    scales: dict[str, Scale] = {}
    for name, part in file.scales.items():
        try:
            scales[name] = _scale(part)
        except InputError as error:
            document.problem(("scales", name), error.problem)
    return scales


def _scale(part: ScalePart) -> Scale:
    bands = tuple(Band(b.name, b.at_least, b.above, b.below, b.at_most) for b in part.bands)
    opt_outs = tuple(OptOut(status, label) for status, label in part.opt_outs.items())
    if part.options is not None:
        options = tuple(Option(o.code, o.label, o.description) for o in part.options)
        return Scale.listed(options, part.level, opt_outs, bands)
    first, last = part.from_, part.to
    assert first is not None  # noqa: S101
    assert last is not None  # noqa: S101
    if part.continuous:
        return Scale((), part.level, opt_outs, bands, (first, last))
    step = 1 if first < last else -1
    points = Scale.listed(
        [Option(float(code)) for code in range(int(first), int(last) + step, step)], part.level, opt_outs, bands
    )
    if missing := [code for code in part.anchors if code not in points.codes]:
        raise InputError(f"anchor {show_code(missing[0])} is not on the scale {points.describe()}")
    return points.relabelled(part.anchors)


def _scale_data(scale: Scale) -> dict[str, Any]:
    """A scale as the plain data of a file."""
    data: dict[str, Any] = {"level": scale.level}
    if scale.range is not None:
        data |= {"from": scale.range[0], "to": scale.range[1], "continuous": True}
    else:
        options = ({"code": _whole(o.code), "label": o.label, "description": o.description} for o in scale.shown)
        data["options"] = [{key: value for key, value in option.items() if value != ""} for option in options]
    if scale.opt_outs:
        data["opt_outs"] = {o.status: o.label for o in scale.opt_outs}
    if scale.bands:
        data["bands"] = [{k: v for k, v in asdict(band).items() if v is not None} for band in scale.bands]
    return data


def _whole(code: float) -> float | int:
    return int(code) if code.is_integer() else code


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _accepted(name: str, loaded: Any) -> Instrument:
    if not isinstance(loaded, str | Path):
        raise TypeError("is not the path of an instrument file")
    try:
        instrument = Instrument.load(Path(loaded))
    except InputError as error:
        raise ValueError(f"is not a valid instrument ({error})") from None
    if instrument.id != name:
        raise ValueError(f"is an instrument with another id, '{instrument.id}'")
    return instrument


PLUGINS: Final[Plugins[Instrument]] = Plugins("instruments", "instrument", bundled, _accepted)
"""Instruments of other packages: the paths of their files."""
