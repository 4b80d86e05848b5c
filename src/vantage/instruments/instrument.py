"""The instrument: what is asked, of what, on which scales, and how it is explained."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any, Final, Literal

from vantage.documents import Document
from vantage.errors import InputError, nearest
from vantage.instruments.checks import Checks
from vantage.instruments.guidance import answer_names, escaped, has_roles, rendered, shared_names
from vantage.instruments.questions import MultipleChoice, Question, fill, part_id, put
from vantage.plugins import Plugins
from vantage.scales import Band, Option, OptOut, Scale, show_code

if TYPE_CHECKING:
    from vantage.instruments.document import ExamplePart, InstrumentDocument, QuestionPart, ScalePart, WordingPart


@dataclass(frozen=True, slots=True)
class Field:
    """Something that an item shows: a column of the items table and how it is headed."""

    name: str
    title: str
    kind: Literal["text", "target", "conversation"] = "text"


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
    guidance: str = field(compare=False, repr=False)
    """The general guidelines as they are written: what they refer to by role is filled in for whoever reads them."""
    warning: str = field(compare=False, repr=False)
    questions: tuple[Question, ...] = field(compare=False, repr=False)
    forms: Mapping[str, tuple[str, ...]] = field(compare=False, repr=False)
    aggregates: tuple[Aggregate, ...] = field(compare=False, repr=False)
    examples: tuple[Example, ...] = field(compare=False, repr=False)
    checks: tuple[Check, ...] = field(compare=False, repr=False)
    consent: str = field(compare=False, repr=False)
    wordings: tuple[str, ...] = field(compare=False, repr=False)
    """The general guidelines in other words, as they are written."""

    @property
    def guidelines(self) -> str:
        """The general guidelines as people read them."""
        return rendered(self.guidance, shared_names(answer_names(question.scale) for question in put(self.questions)))

    def __hash__(self) -> int:
        return hash((self.id, self.version, len(self.questions)))

    @classmethod
    def load(cls, name_or_path: str | Path) -> Instrument:
        """A bundled instrument by name (`NAME` or `NAME:FORM`), or an instrument file by its path."""
        name = str(name_or_path)
        if name.endswith((".yaml", ".yml")) or "/" in name or "\\" in name or isinstance(name_or_path, Path):
            return cls._resolve(Document.read(name_or_path))
        stem, _, form = name.partition(":")
        instrument = _bundled(stem) if stem in bundled() else PLUGINS.find(stem)
        return instrument.form(form) if form else instrument

    @classmethod
    def from_document(cls, data: Mapping[str, Any], file: str = "instrument") -> Instrument:
        """An instrument from plain data, checked like a file."""
        return cls._resolve(Document(file, copy.deepcopy(dict(data))))

    @classmethod
    def of_questions(
        cls,
        id: str,  # noqa: A002
        title: str,
        questions: Mapping[str, Scale],
        wordings: Mapping[str, str] | None = None,
    ) -> Instrument:
        """A bare instrument for data that came without one: question ids, their scales and, if known, their wording.

        >>> Instrument.of_questions("mine", "My table", {"rating": Scale.points(1, 5)}).questions[0].scale.codes
        (1.0, 2.0, 3.0, 4.0, 5.0)
        """
        return cls.from_document(
            {
                "id": id,
                "version": 1,
                "title": title,
                "description": "Questions and scales as they came with the data.",
                "fields": [{"name": "text", "title": "Text"}],
                "guidelines": "Read the text and answer the question about it.",
                "scales": {f"scale-{n}": _scale_data(scale) for n, scale in enumerate(questions.values(), 1)},
                "questions": [
                    {"id": name, "title": name, "ask": escaped((wordings or {}).get(name, name)), "scale": f"scale-{n}"}
                    for n, name in enumerate(questions, 1)
                ],
            },
            file=title,
        )

    @property
    def inferred(self) -> bool:
        """Whether it was made from answers and nobody has worded its questions: each still reads like its name."""
        return all(question.ask == escaped(question.id) for question in self.questions)

    def question(self, id: str) -> Question:  # noqa: A002
        """The question with this id."""
        for question in self.questions:
            if question.id == id:
                return question
        known = [question.id for question in self.questions]
        raise InputError(f"instrument '{self.id}' has no question '{id}'", remedy=nearest(id, known))

    def named(self, id: str) -> list[Question]:  # noqa: A002
        """The question with this id, or those about the options of the question with this id."""
        parts = [question for question in self.questions if question.whole and question.whole.id == id]
        return parts or [self.question(id)]

    def form(self, name: str) -> Instrument:
        """The instrument with the questions of one of its forms only."""
        if name not in self.forms:
            known = list(self.forms)
            remedy = nearest(name, known) if known else "use the whole instrument"
            raise InputError(f"instrument '{self.id}' has no form '{name}'", remedy=remedy)
        chosen = self.forms[name]
        judged = {one.id for one in self.questions if (one.whole.id if one.whole else one.id) in chosen}
        data = copy.deepcopy(dict(self.document))
        form = data.pop("forms")[name]
        by_id = {question["id"]: question for question in data["questions"]}
        data |= {"id": f"{self.id}-{name}", "title": form["title"], "questions": [by_id[id_] for id_ in chosen]}
        scores = form.get("aggregates")
        if scores is None:
            available, scores = set(judged), []
            for aggregate in self.document.get("aggregates", []):
                if available.issuperset(aggregate["mean_of"]):
                    scores.append(aggregate)
                    available.add(aggregate["id"])
        data["aggregates"] = scores
        data["checks"] = [c for c in data.get("checks", []) if c["question"] in judged]
        for example in data.get("examples", []):
            example["answers"] = {q: a for q, a in example["answers"].items() if q in chosen}
        data["examples"] = [e for e in data.get("examples", []) if e["answers"]]
        return Instrument.from_document(data, file=f"{self.id}:{name}")

    def with_parameters(self, **values: str) -> Instrument:
        """The instrument with other words for its parameters, such as another society that judges."""
        for name in values:
            if name not in self.parameters:
                remedy = nearest(name, list(self.parameters))
                raise InputError(f"instrument '{self.id}' has no parameter '{name}'", remedy=remedy)
        data = copy.deepcopy(dict(self.document))
        data["parameters"] = {**data.get("parameters", {}), **values}
        return Instrument.from_document(data, file=self.id)

    def coarse(self) -> Instrument:
        """The instrument with the bands of its scales as the answers: low, neutral and high instead of −3…+3.

        Questions get the suffix `-coarse`, since their answers are on another scale; those without bands are
        left out. Bands are coded by their order, with 0 in the middle where there is one. Guidelines that refer to an
        answer by its code refer to its band.

        >>> [o.label for o in Instrument.load("warmth-competence").coarse().questions[0].scale.options]
        ['low', 'neutral', 'high']
        """
        banded = [q for q in self.questions if q.scale.bands]
        if not banded:
            raise InputError(f"no scale of instrument '{self.id}' has bands", remedy="use the fine answers")
        data = copy.deepcopy(dict(self.document))
        kept = {q["id"]: q for q in data["questions"]}
        data |= {"id": f"{self.id}-coarse", "forms": {}, "aggregates": [], "checks": [], "questions": []}
        for number, question in enumerate(banded, 1):
            count = len(question.scale.bands)
            codes = range(-(count // 2), count // 2 + 1) if count % 2 else range(count)
            options = [{"code": c, "label": b.name} for c, b in zip(codes, question.scale.bands, strict=True)]
            scale: dict[str, Any] = {"level": "ordinal", "options": options}
            if question.scale.opt_outs:
                scale["opt_outs"] = data["scales"][kept[question.id]["scale"]]["opt_outs"]
            data["scales"][f"bands-{number}"] = scale
            asked = {**kept[question.id], "id": f"{question.id}-coarse", "scale": f"bands-{number}"}
            for wording in (asked, *_worded(asked)):
                wording.pop("anchors", None)
                for name in ("guidelines", "ask"):
                    if wording.get(name):
                        wording[name] = _banded(wording[name], [question.scale])
                wording["ask_in"] = {
                    condition: _banded(ask, [question.scale]) for condition, ask in wording.get("ask_in", {}).items()
                }
            for wording in _worded(asked):
                wording.pop("scale", None)
            data["questions"].append(asked)
        scales = [question.scale for question in banded]
        data["guidelines"] = _banded(data["guidelines"], scales)
        data["wordings"] = [_banded(text, scales) for text in data.get("wordings", [])]
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
        Checks(document, file, scales).run()
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
            guidance=fill(file.guidelines, words, again=True),
            warning=fill(file.warning, words),
            questions=tuple(one for q in file.questions for one in _questions(q, scales, words)),
            forms={name: tuple(form.questions) for name, form in file.forms.items()},
            aggregates=tuple(
                Aggregate(a.id, a.title, tuple(a.mean_of), frozenset(a.reversed)) for a in file.aggregates
            ),
            examples=tuple(
                Example(e.item, dict(_answers(e, file.questions, scales)), e.condition) for e in file.examples
            ),
            checks=tuple(Check(c.id, c.instruction, c.question, tuple(c.accept)) for c in file.checks),
            consent=fill(file.consent, words),
            wordings=tuple(fill(text, words, again=True) for text in file.wordings),
        )


def _questions(part: QuestionPart, scales: Mapping[str, Scale], words: Mapping[str, str]) -> Iterable[Question]:
    """What is judged: the question, or a question for each option where several may apply."""
    question = _question(part, scales, words)
    if part.several is None and not part.ranking:
        return [question]
    shared = ("id", "title", "ask", "scale", "ask_in", "guidance", "section")
    own = {name: getattr(question, name) for name in shared}
    return MultipleChoice(**own, none=part.several or "", ranked=part.ranking).parts()


def _answers(
    example: ExamplePart, questions: Sequence[QuestionPart], scales: Mapping[str, Scale]
) -> Iterator[tuple[str, Answer]]:
    """The answers of a worked example; those of options that may apply together one by one."""
    parts = {question.id: question for question in questions}
    for question, given in example.answers.items():
        if parts[question].several is None and not parts[question].ranking:
            assert not isinstance(given.answer, list)  # noqa: S101 - checked before
            yield question, Answer(given.answer, given.reason)
            continue
        for option in scales[parts[question].scale].options:
            answer = given.answer
            if isinstance(answer, list):
                ranked = parts[question].ranking
                answer = answer.index(option.code) + 1.0 if ranked else float(option.code in answer)
            yield part_id(question, option.label), Answer(answer, given.reason)


def _question(part: QuestionPart, scales: Mapping[str, Scale], words: Mapping[str, str]) -> Question:
    def worded(wording: WordingPart | QuestionPart, plain: Question | None = None) -> Question:
        """The question in some words; what these leave out is as in the plain question."""
        scale = plain.scale if plain and wording.scale is None else scales[wording.scale or part.scale]
        scale = scale.relabelled(wording.anchors)
        roles = [text for text in scale.texts if has_roles(text)]
        own, others = ({text: rendered(text, {}, person=other) for text in roles} for other in (False, True))
        return Question(
            part.id,
            part.title,
            fill(wording.ask, words, again=True),
            scale.reworded(own),
            {condition: fill(ask, words, again=True) for condition, ask in wording.ask_in.items()},
            plain.guidance
            if plain and wording.guidelines is None
            else fill(wording.guidelines or "", words, again=True),
            "required" if scale.text and part.rationale == "no" else part.rationale,
            part.section,
            unlike=part.unlike or "",
            shares=part.shares,
            confidence=part.confidence or "",
            others=part.others or "",
            of_person={**(plain.of_person if plain else {}), **{own[text]: others[text] for text in roles}},
            marks=part.marks or "",
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


def _banded(text: str, scales: Sequence[Scale]) -> str:
    """A text for bands as answers: what it says of a code or a label, it says of its band."""
    bands = {
        name: scale.band(option.code)
        for scale in reversed(scales)
        for option in scale.options
        for name in (show_code(option.code), option.label.casefold())
        if name
    }
    parts: list[str] = []
    for literal, name, role, _ in Formatter().parse(text):
        parts.append(escaped(literal))
        if name is not None:
            of = bands.get(role.casefold()) or role if name == "answer" and role else role
            parts.append("{" + name + (f":{of}" if of else "") + "}")
    return "".join(parts)


def _coarse_answers(answers: Mapping[str, Any], questions: Sequence[Question]) -> dict[str, Any]:
    """The answers of a worked example as bands."""
    coarse: dict[str, Any] = {}
    for question in questions:
        if question.id in answers:
            answer, scale = answers[question.id], question.scale
            if has_roles(answer.get("reason", "")):
                answer = {**answer, "reason": _banded(answer["reason"], [scale])}
            if not isinstance(answer["answer"], str):
                names = [band.name for band in scale.bands]
                middle = len(names) // 2 if len(names) % 2 else 0
                answer = {**answer, "answer": names.index(scale.band(answer["answer"]) or "") - middle}
            coarse[f"{question.id}-coarse"] = answer
    return coarse


def bundled() -> list[str]:
    """The names of the bundled instruments."""
    folder = resources.files("vantage.instruments") / "bundled"
    return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))


@cache
def _bundled(name: str) -> Instrument:
    """A bundled instrument, read once."""
    return Instrument._resolve(Document.bundled("vantage.instruments", "bundled", f"{name}.yaml"))


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
    if part.text is not None:
        return Scale.free_text(part.text, opt_outs)
    assert part.level is not None  # noqa: S101
    if part.options is not None:
        options = tuple(Option(o.code, o.label, o.description) for o in part.options)
        return Scale.listed(options, part.level, opt_outs, bands)
    first, last = part.from_, part.to
    assert first is not None  # noqa: S101
    assert last is not None  # noqa: S101
    if part.continuous:
        return Scale((), part.level, opt_outs, bands, (first, last)).relabelled(part.anchors)
    step = 1 if first < last else -1
    points = Scale.listed(
        [Option(float(code)) for code in range(int(first), int(last) + step, step)], part.level, opt_outs, bands
    )
    if missing := [code for code in part.anchors if code not in points.codes]:
        raise InputError(f"anchor {show_code(missing[0])} is not on the scale {points.describe()}")
    return points.relabelled(part.anchors)


def _scale_data(scale: Scale) -> dict[str, Any]:
    """A scale as the plain data of a file."""
    data: dict[str, Any] = {"text": scale.text} if scale.text else {"level": scale.level}
    if scale.range is not None:
        data |= {"from": scale.range[0], "to": scale.range[1], "continuous": True}
        data |= {"anchors": {_whole(point.code): point.label for point in scale.anchors}} if scale.anchors else {}
    elif not scale.text:
        options = ({"code": _whole(o.code), "label": o.label, "description": o.description} for o in scale.shown)
        data["options"] = [{key: value for key, value in option.items() if value != ""} for option in options]
    if scale.opt_outs:
        data["opt_outs"] = {o.status: o.label for o in scale.opt_outs}
    if scale.bands:
        data["bands"] = [{k: v for k, v in asdict(band).items() if v is not None} for band in scale.bands]
    return data


def _whole(code: float) -> float | int:
    return int(code) if code.is_integer() else code


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
