"""The shape of an instrument file: what may be written in its YAML, from which the JSON Schema is generated.

These models live at the edge only. `instrument.Instrument` is what the rest of Vantage sees.
"""

from __future__ import annotations

import ast
import inspect
import json
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from vantage.scales import OPT_OUT_ID, Level

Id = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=64)]
"""Lower-case letters, digits, hyphens and underscores: safe as a column value, a file name and a form field."""
QuestionId = Annotated[str, Field(pattern=r"^\S(.*\S)?$", max_length=200)]
"""A question keeps the name that it has in a table, so blanks and capitals are allowed."""
OptOutId = Annotated[str, Field(pattern=OPT_OUT_ID)]
Text = Annotated[str, Field(min_length=1)]


class DocumentPart(BaseModel):
    """A mapping of the file; keys that it does not know are reported."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    @classmethod
    def describe(cls) -> None:
        """Gives the fields of all parts the texts below them as descriptions, for schemas and reference pages.

        Pydantic can do so when classes are made, but then it reads their source whenever a corpus is opened.
        """
        parts = [cls]
        for part in parts:
            parts += part.__subclasses__()
            (tree,) = ast.parse(inspect.getsource(part)).body
            for entry, text in pairwise(getattr(tree, "body", [])):
                match entry, text:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                        for heir in (part, *part.__subclasses__()):
                            heir.model_fields[name].description = inspect.cleandoc(words)
        for part in [*parts, *parts]:  # a part may be built of another that comes later
            part.model_rebuild(force=True)


class OptionPart(DocumentPart):
    """One answer of a scale."""

    code: float
    """The number that is stored."""
    label: str = ""
    """What people and models read; may be left out where the number says it all."""
    description: str = ""
    """One sentence on when to choose it."""


class BandPart(DocumentPart):
    """A coarse band such as low, neutral or high; applies to answers and to their mean."""

    name: Id
    """What the band is called in tables."""
    at_least: float | None = None
    """The band starts here, this value included."""
    above: float | None = None
    """The band starts here, this value excluded."""
    below: float | None = None
    """The band ends here, this value excluded."""
    at_most: float | None = None
    """The band ends here, this value included."""


class ScalePart(DocumentPart):
    """The answers that a question allows: `options`, numbers `from` … `to`, or a free `text`."""

    level: Level | None = None
    """Level of measurement: nominal, ordinal, interval or ratio; only a text has none."""
    options: list[OptionPart] | None = None
    """Every answer with its code and label, in the order in which they are shown: upwards or downwards."""
    from_: Annotated[float | None, Field(alias="from")] = None
    """First number of the scale; the highest, if the scale is to be shown downwards."""
    to: float | None = None
    """Last number of the scale."""
    continuous: bool = False
    """With `from` and `to`: every number between them is an answer, not only the whole ones."""
    anchors: dict[float, Text] = {}
    """With `from` and `to`: the wording at some of the points."""
    text: Annotated[int | None, Field(ge=1, le=10_000)] = None
    """Answers in the rater's own words, of at most so many characters."""
    opt_outs: dict[OptOutId, Text] = {}
    """Ways to decline, with the label that is shown: `ambiguous`, `not_mentioned`, or ids of your own."""
    bands: list[BandPart] = []
    """Coarse bands that cover the scale without overlap."""

    @model_validator(mode="after")
    def _one_form(self) -> ScalePart:
        ends = (self.from_ is not None) + (self.to is not None)
        if self.text is not None:
            if self.options is not None or ends or self.level or self.anchors or self.bands or self.continuous:
                raise ValueError("'text' goes with 'opt_outs' only")
            return self
        if self.level is None:
            raise ValueError("give the level: nominal, ordinal, interval or ratio")
        if (self.options is None) == (ends == 0) or ends == 1:
            raise ValueError("give either 'options', or both 'from' and 'to', or 'text'")
        if self.options is not None and (self.anchors or self.continuous):
            raise ValueError("'anchors' and 'continuous' go with 'from' and 'to', not with 'options'")
        if ends == 2 and not self.continuous:
            assert self.from_ is not None  # noqa: S101
            assert self.to is not None  # noqa: S101
            if self.from_ % 1 or self.to % 1 or not 1 <= abs(self.to - self.from_) <= 1000:
                raise ValueError("'from' and 'to' must be whole numbers, not the same one twice, at most 1000 apart")
        return self


class FieldPart(DocumentPart):
    """Something that an item shows."""

    name: Id
    """The column of the items table that holds it."""
    title: Text
    """How it is headed on the page and in the prompt."""
    kind: Literal["text", "target", "conversation"] = "text"
    """A passage of text, the name of the target, or turns of a conversation."""


class ConditionPart(DocumentPart):
    """A circumstance under which the questions are asked."""

    shows: list[Id]
    """The fields that the rater sees, in order."""
    description: str = ""
    """What is different here, for the methods section."""


class WordingPart(DocumentPart):
    """A paraphrase: the same question in other words."""

    ask: Text
    """The question in these words."""
    ask_in: dict[Id, Text] = {}
    """Another wording for some conditions."""
    scale: Id | None = None
    """A scale with the same codes and opt-outs and other labels; that of the question without it."""
    anchors: dict[float, Text] = {}
    """Wording at some points of the scale; that of the question elsewhere."""
    guidelines: str | None = None
    """How to answer it; the question's own guidelines without it."""


class ReversedPart(WordingPart):
    """A twin of the question that asks for the opposite, so its answers are scored in the opposite direction."""

    title: str = ""
    """A short name, where that of the question would mislead."""
    scoring: Literal["mirrored"] | None = None
    """`mirrored`: the highest answer to the twin counts as the lowest answer to the question."""
    wordings: list[WordingPart] = []
    """Paraphrases of the twin, as many as the question has."""


class QuestionPart(DocumentPart):
    """One question about an item."""

    id: QuestionId
    """What is written in the judgments table."""
    title: Text
    """A short name for tables and figures."""
    ask: Text
    """The question as the rater reads it; `{target}` and the like are filled in from the item."""
    ask_in: dict[Id, Text] = {}
    """Another wording for some conditions."""
    scale: Id
    """The name of one of the `scales`."""
    anchors: dict[float, Text] = {}
    """Wording of this question's own at some points of the scale."""
    guidelines: str = ""
    """How to answer this question; may refer to answers, readers and circumstances like the general guidelines."""
    rationale: Literal["no", "optional", "required"] = "no"
    """Whether the rater is asked for a reason; with a scale of `text`, `optional` means that it may be left empty."""
    several: Text | None = None
    """Several options of a nominal scale may apply; this is the label of the answer that none does."""
    ranking: bool = False
    """The rater puts the options of a nominal scale, at most ten, in an order; each option's place is an answer."""
    marks: Id | None = None
    """A field of the item whose words the rater marks: those that decided the answer before. The scale is a `text`,
    whose number then is the most words."""
    unlike: QuestionId | None = None
    """The question before it, on the same scale, whose answer this one cannot have: best and worst of a tuple."""
    shares: bool = False
    """The rater gives every option a share, and the shares add up to 100, instead of choosing one option."""
    confidence: QuestionId | None = None
    """A question before it: this one asks how sure the rater is of that answer, on an ordered scale."""
    others: QuestionId | None = None
    """A question before it, on the same scale: this one asks how other people answer it."""
    section: str = ""
    """Questions of one section stand together on the page."""
    wordings: list[WordingPart] = []
    """Paraphrases, for the factor `wording`: the question itself is wording 1, these are 2, 3 …"""
    reversed: ReversedPart | None = None
    """The opposite of the question, for the factor `direction`."""


class AggregatePart(DocumentPart):
    """A score computed from several questions, or from aggregates that stand before it."""

    id: Id
    """The name of the score."""
    title: Text
    """How it is headed in tables and figures."""
    mean_of: Annotated[list[QuestionId], Field(min_length=1)]
    """Questions or earlier aggregates whose mean it is."""
    reversed: list[QuestionId] = []
    """Members that count in the other direction (mirrored within their scale)."""


class FormPart(DocumentPart):
    """A selection of the questions that is used as an instrument of its own."""

    title: Text
    """What the form is called."""
    description: str = ""
    """When to use it."""
    questions: Annotated[list[QuestionId], Field(min_length=1)]
    """Its questions, in the order in which they are asked."""
    aggregates: list[AggregatePart] | None = None
    """Scores of this form; without them, those of the instrument that its questions allow."""


class AnswerPart(DocumentPart):
    """The answer of a worked example."""

    answer: float | list[float] | Text
    """A code of the question's scale, the codes that apply (of a ranking all, in order), an opt-out, or a text."""
    reason: Text
    """Why this is the answer."""


class ExamplePart(DocumentPart):
    """A worked example: an item with its answers and the reasons for them."""

    item: dict[Id, Any]
    """The item's fields; a conversation is a list of `{speaker, text}`."""
    condition: str = ""
    """The condition that the example belongs to, if there are several."""
    answers: dict[QuestionId, AnswerPart]
    """The answers by question."""


class CheckPart(DocumentPart):
    """An attention check: an instruction that has a known answer."""

    id: Id
    """The name of the check in the export."""
    instruction: Text
    """The answer that the instruction asks for."""
    question: QuestionId
    """The question whose scale is used."""
    accept: Annotated[list[float], Field(min_length=1)]
    """The codes that pass."""


class InstrumentDocument(DocumentPart):
    """A Vantage instrument: questions, scales, guidelines, worked examples and checks."""

    id: Id
    """The name under which the instrument is known."""
    version: Annotated[int, Field(ge=1)]
    """Raised whenever a wording or a scale changes; reported beside every result."""
    title: Text
    """What it is called on pages and in reports."""
    description: Text
    """What it measures, for a reader who has not seen it."""
    language: Annotated[str, Field(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")] = "en"
    """Language of the wording (BCP 47)."""
    sources: list[Text] = []
    """Where the construct and its scales come from."""
    parameters: dict[Id, str] = {}
    """Words that a study may replace in the wording, with their defaults, such as who judges."""
    fields: Annotated[list[FieldPart], Field(min_length=1)]
    """What an item shows."""
    conditions: dict[Id, ConditionPart] = {}
    """Circumstances under which the questions are asked; without any, all fields are shown."""
    guidelines: Text
    """General guidelines, read before the first item. They may refer to answers (`{answer:neutral}`), to whose reading
    counts (`{whose}`, `{readers}`) and to circumstances (`{when:CONDITION}`, `{when:reason}`)."""
    wordings: list[Text] = []
    """Paraphrases of the general guidelines, for the factor `wording`: wording 2, 3 …"""
    warning: str = ""
    """A content warning, shown before anything else."""
    scales: dict[Id, ScalePart]
    """The scales by name; several questions may share one."""
    questions: Annotated[list[QuestionPart], Field(min_length=1)]
    """What is asked, in this order."""
    forms: dict[Id, FormPart] = {}
    """Selections of the questions, used as `ID:FORM`."""
    aggregates: list[AggregatePart] = []
    """How questions add up to scores."""
    examples: list[ExamplePart] = []
    """Worked examples, shown to people in the guidelines and to models in few-shot prompts."""
    checks: list[CheckPart] = []
    """Attention checks that may be mixed in when people judge."""
    consent: str = ""
    """What a person agrees to before taking part."""


def json_schema() -> str:
    """The JSON Schema of instrument files, as it ships with the package."""
    DocumentPart.describe()
    schema = InstrumentDocument.model_json_schema(by_alias=True)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Vantage instrument"}
    return json.dumps({**schema, **head}, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    import sys

    sys.stdout.write(json_schema())
