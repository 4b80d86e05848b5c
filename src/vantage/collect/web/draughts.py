"""Questions as HTML, drawn once and kept: what changes from item to item is the wording and which button is chosen.

A page of 24 questions has 240 buttons. Drawing them anew for each of hundreds of pages a second would cost more than
everything else together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final

from jinja2 import Environment
from markupsafe import Markup, escape

from vantage.collect.web.exhibit import filled
from vantage.collect.web.forms import entry
from vantage.instruments import Question
from vantage.scales import show_code

WORDING: Final = "\x00wording\x00"
"""Stands in a kept drawing where the wording goes; no instrument can hold it."""
KEPT: Final = 20_000
"""Drawings that are kept: some kB each at most, and no more than questions times answers."""


class Draughts:
    """Draws the questions of one instrument."""

    def __init__(self, templates: Environment, longest: int) -> None:
        self._draw = partial(templates.get_template("entry.html").render, longest=longest)
        self._plain = lru_cache(maxsize=KEPT)(self._plainly)

    def sections(
        self,
        questions: Sequence[Question],
        item: Mapping[str, Any],
        condition: str,
        given: Mapping[str, str],
        errors: Mapping[str, str],
    ) -> list[tuple[str, Markup]]:
        """The questions about an item under the headings of their sections, with what was given and what is wrong."""
        words = filled(item)
        found: list[tuple[str, list[str]]] = []
        for index, question in enumerate(questions):
            wording = question.wording(condition, **words)
            value, opt_out = given.get(f"a{index}", ""), given.get(f"o{index}", "")
            typed = given.get(f"r{index}") or (value and question.scale.range is not None)
            if typed or f"a{index}" in errors or f"r{index}" in errors:
                html = self._draw(e=entry(index, question, wording, given, errors))
            else:
                html = self._plain(_Asked(index, question), _offered(question, value), _offered(question, opt_out))
                html = html.replace(WORDING, escape(wording))
            if found and found[-1][0] == question.section:
                found[-1][1].append(html)
            else:
                found.append((question.section, [html]))
        return [(title, Markup("".join(drawn))) for title, drawn in found]  # noqa: S704 - drawn by an escaping template

    def _plainly(self, asked: _Asked, value: str, opt_out: str) -> str:
        given = {f"a{asked.index}": value, f"o{asked.index}": opt_out}
        return self._draw(e=entry(asked.index, asked.question, WORDING, given))


class _Asked:
    """A question at its place on the page: known by its id, since its parts cannot be compared quickly."""

    __slots__ = ("index", "question")

    def __init__(self, index: int, question: Question) -> None:
        self.index, self.question = index, question

    def __hash__(self) -> int:
        return hash((self.index, self.question.id))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked) and (self.index, self.question.id) == (other.index, other.question.id)


def _offered(question: Question, value: str) -> str:
    """The value where the page has a button for it; of anything else that was sent no drawing is kept."""
    scale = question.scale
    known = value and (
        any(o.status == value for o in scale.opt_outs) or any(show_code(o.code) == value for o in scale.options)
    )
    return value if known else ""
