"""Templates: a published prompt as it is printed, read by its own settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import pytest

from tests.runs.test_varied import Reader, items
from tests.test_presentations import INSTRUMENT
from vantage import ChatRater
from vantage.errors import InputError
from vantage.raters.models.base import Request
from vantage.raters.templates import Template
from vantage.runs import RunPlan, rate
from vantage.runs.reparse import reparse

PRINTED = """---
answer: 'Verdict: (\\w+)'
codes: {waste: -2, fine: 1}
system: You are an expert on {{ question.title | lower }}.
---
Text: "{{ text }}"
{{ question.ask }}
{% for option in question.options %}{{ loop.index }}. {{ option.label }} ({{ option.code }})
{% endfor %}
Verdict:"""


@dataclass
class Echo(Reader):
    """Gives the same reply to everything."""

    reply: str = "Thinking of fine texts.\nVerdict: WASTE"
    asked: list[Request] = field(default_factory=list)

    def _reply(self, request: Request) -> str:
        return self.reply


def written(folder: Path, text: str) -> Template:
    file = folder / "printed.j2"
    file.write_text(text, encoding="utf-8")
    return Template.load(file)


def test_a_template_is_put_as_printed_and_read_by_its_own_settings(tmp_path: Path) -> None:
    template, model = written(tmp_path, PRINTED), Echo()
    rater = ChatRater(model, template=template)
    corpus = rate(items(2), rater, INSTRUMENT, questions=["worth"])
    system, user = model.asked[0].messages
    assert system.content == "You are an expert on worth."
    assert user.content.splitlines() == [
        'Text: "Text 0 of worth -2."',
        "The text is worth reading.",
        "1. strongly disagree (-2)",
        "2. disagree (-1)",
        "3. undecided (0)",
        "4. agree (1)",
        "5. strongly agree (2)",
        "",
        "Verdict:",
    ]
    assert corpus.judgments["value"].to_list() == [-2.0, -2.0]
    row = corpus.raters.filter(rater="reader+template:printed").row(0, named=True)
    assert row["template"] == sha256((tmp_path / "printed.j2").read_bytes()).hexdigest()
    recorded = RunPlan.of(items(2), rater, INSTRUMENT, questions=["worth"]).described()["parts"][0]
    assert recorded["template"] == template.digest
    # The settings of the template are not known to the parser, so its replies stay as they were read.
    again = reparse(corpus)
    assert (again.read, again.left) == (0, {"template": 2})


@pytest.mark.parametrize(
    ("reply", "status", "value"),
    [("Verdict: fine", "answered", 1.0), ("fine", "unparsed", None), ("Verdict: splendid", "unparsed", None)],
)
def test_only_what_the_settings_name_is_an_answer(tmp_path: Path, reply: str, status: str, value: float | None) -> None:
    rater = ChatRater(Echo(reply=reply), template=written(tmp_path, PRINTED))
    row = rate(items(1), rater, INSTRUMENT, questions=["worth"]).judgments.row(0, named=True)
    assert (row["status"], row["value"]) == (status, value)


def test_without_settings_replies_are_read_as_any_others(tmp_path: Path) -> None:
    rater = ChatRater(Echo(reply="Strongly agree."), template=written(tmp_path, "{{ text }} Worth it?"))
    assert rate(items(1), rater, INSTRUMENT, questions=["worth"]).judgments["value"].to_list() == [2.0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{{ text", "the template 'printed' is broken: unexpected end of template"),
        ("---\nanswer: '('\n---\nx", "settings of the template cannot be used"),
        ("---\nanswer: 'x'\n---\nx", "'answer' has 0 groups"),
        ("---\nansewr: x\n---\nx", "settings of the template cannot be used"),
        ("---\ncodes: [1]\n---\nx", "settings of the template cannot be used"),
    ],
)
def test_a_broken_template_is_refused_before_anything_is_asked(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        written(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "{{ headline }}",
        "{{ text.__class__.__mro__ }}",
        "{{ ''.__class__.__subclasses__() }}",
        "{% set _ = question.options.append(1) %}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ 1 / 0 }}",
    ],
)
def test_a_template_cannot_reach_or_change_anything_else(tmp_path: Path, text: str) -> None:
    model = Echo()
    with pytest.raises(InputError, match="cannot be filled in for item 'i0'"):
        rate(items(1), ChatRater(model, template=written(tmp_path, text)), INSTRUMENT, questions=["worth"])
    assert not model.asked


def test_a_template_has_a_form_of_its_own(tmp_path: Path) -> None:
    template = written(tmp_path, PRINTED)
    with pytest.raises(InputError, match="a template has a form of its own"):
        ChatRater(Echo(), "json", template=template)
    with pytest.raises(InputError, match="put to a model as it is printed"):
        rate(items(1), ChatRater(Echo(), template=template), INSTRUMENT, questions=["worth"], vary="order")
    with pytest.raises(InputError, match="cannot be read"):
        Template.load(tmp_path / "nowhere.j2")
