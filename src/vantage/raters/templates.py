"""A prompt from a published release, put to a model exactly as it is printed there.

A template is a file of the user's: Jinja2 text, which may begin with settings between two lines of `---`
(docs/presentations.md has one). The fields of the item are filled in by their names; `question` has `id`, `title`,
`ask` and `options` (`code` and `label`). Templates run in a sandbox that cannot change anything, and a name that an
item does not have is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from vantage.errors import InputError
from vantage.instruments import Question
from vantage.raters.models.base import Message, Request
from vantage.raters.prompts import Prompter, Shot
from vantage.raters.replies import ParsedReply, parse_reply
from vantage.scales import show_code

if TYPE_CHECKING:
    from jinja2 import Template as Compiled

_SETTINGS: Final = re.compile(r"\A---[ \t]*\n(.*?\n)---[ \t]*\n", re.DOTALL)


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    answer: str | None = None
    codes: dict[str | float, float] = {}
    system: str = ""


@dataclass(frozen=True, slots=True)
class Template:
    """A template with the settings of its own parser; equal templates have equal fingerprints."""

    name: str
    text: str
    answer: re.Pattern[str] | None = None
    codes: Mapping[str, float] = field(default_factory=dict)
    system: str = ""
    digest: str = ""
    """SHA-256 of the file."""

    @classmethod
    def load(cls, path: str | Path) -> Template:
        """Reads a template; what is wrong with it is said before anything is asked."""
        file = Path(path)
        try:
            raw = file.read_bytes()
            text = raw.decode("utf-8")
        except OSError as error:
            raise InputError(f"the template cannot be read ({error.strerror})", file=file) from None
        except UnicodeDecodeError:
            raise InputError("the template is not UTF-8 text", file=file, remedy="save it as UTF-8") from None
        begin = _SETTINGS.match(text)
        try:
            settings = _Settings.model_validate(yaml.safe_load(begin[1]) or {} if begin else {})
            answer = re.compile(settings.answer, re.IGNORECASE) if settings.answer is not None else None
        except (yaml.YAMLError, ValidationError, re.error) as error:
            problem = str(error).splitlines()[0]
            raise InputError(f"the settings of the template cannot be used ({problem})", file=file) from None
        if answer is not None and answer.groups != 1:
            raise InputError(
                f"'answer' has {answer.groups} groups",
                file=file,
                remedy="put the answer, and nothing else, in brackets",
            )
        codes = {_key(str(word)): code for word, code in settings.codes.items()}
        body = text[begin.end() :] if begin else text
        template = cls(file.stem, body, answer, codes, settings.system, sha256(raw).hexdigest())
        for part in (template.text, template.system):
            template.compiled(part)
        return template

    def compiled(self, text: str) -> Compiled:
        """A text of the template, ready to be filled in."""
        from jinja2 import StrictUndefined, TemplateSyntaxError
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        # A prompt is no page: nothing is escaped, and the last line break of the file is no part of it.
        environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
        try:
            return environment.from_string(text)
        except TemplateSyntaxError as error:
            raise InputError(f"the template '{self.name}' is broken: {error.message} (line {error.lineno})") from None

    def filled(self, text: str, values: Mapping[str, Any], item: str) -> str:
        """A text of the template about one item."""
        from jinja2 import TemplateError

        try:
            return self.compiled(text).render(values)
        except (TemplateError, TypeError, ValueError, ArithmeticError) as error:
            raise InputError(
                f"the template '{self.name}' cannot be filled in for item '{item}' ({error})",
                remedy="name columns of the items, or question.id, question.title, question.ask and question.options",
            ) from None

    def read(self, reply: str, question: Question, source: str, *, cut: bool = False) -> ParsedReply:
        r"""What a reply says, by the template's own settings where it has any.

        >>> from vantage import Instrument
        >>> question = Instrument.load("sarcasm-rating").question("sarcasm-rating")
        >>> template = Template("x", "", re.compile(r"rating:\s*(\w+)", re.I), {"high": 6.0})
        >>> template.read("Rating: high", question, "").value, template.read("high", question, "").status
        (6.0, 'unparsed')
        """
        answer = reply
        if self.answer is not None:
            matches = self.answer.findall(reply)
            if not matches:
                return ParsedReply(None, "unparsed", None, "template")
            answer = matches[-1]
        if self.codes:
            code = self.codes.get(_key(answer))
            if code is None or not question.scale.holds(code):
                return ParsedReply(None, "unparsed", None, "template")
            return ParsedReply(code, "answered", None, "template")
        read = parse_reply(answer, question, source, cut=cut and self.answer is None)
        return ParsedReply(read.value, read.status, read.rationale, "template")


@dataclass(frozen=True, slots=True)
class TemplatePrompter(Prompter):
    """Writes the prompts of a template."""

    template: Template = field(kw_only=True)

    def request(self, questions: Sequence[Question], item: Mapping[str, Any], shots: Sequence[Shot] = ()) -> Request:
        """The template about one item and one question."""
        (question,) = questions
        named = {name: value for name, value in item.items() if isinstance(value, str)}
        asked = {
            "id": question.id,
            "title": question.title,
            "ask": question.wording(self.condition, **named),
            "options": [{"code": show_code(o.code), "label": o.label} for o in question.scale.shown],
        }
        values, id_ = {**item, "question": asked}, str(item.get("item", ""))
        messages = [Message("user", self.template.filled(self.template.text, values, id_))]
        if self.template.system:
            messages.insert(0, Message("system", self.template.filled(self.template.system, values, id_)))
        return Request(tuple(messages), self.sampling)


def _key(word: str) -> str:
    return word.strip().strip("\"'.").casefold()
