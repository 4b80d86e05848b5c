"""Questions as cached HTML: only the wording and the chosen button change from item to item.

A page of 24 questions has 240 buttons. Rendering them for each of hundreds of pages a second would cost more than
everything else together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from jinja2 import Environment
from markupsafe import Markup, escape

from vantage.collect.web.item_view import texts
from vantage.instruments import Question, grouped, part_id
from vantage.scales import Option, show_code

Parts: TypeAlias = tuple[tuple[int, Option], ...]
"""The options of a question of which several may apply, each with the number of its input."""
WORDING: Final = "\x00wording\x00"
"""Placeholder for the wording in cached HTML; cannot occur in an instrument."""


class QuestionCache:
    """Renders the questions of one instrument, which is written in `language`, for pages in one language."""

    def __init__(self, templates: Environment, longest: int, language: str = "en") -> None:
        self._render = partial(templates.get_template("question.html").render, longest=longest, language=language)
        self._html: dict[tuple[int, int, str, str, str, str], str] = {}

    def sections(
        self,
        questions: Sequence[Question],
        item: Mapping[str, Any],
        condition: str,
        given: Mapping[str, str],
        errors: Mapping[str, str],
        ways: Sequence[str] = (),
        group: int = 0,
    ) -> list[tuple[str, Markup]]:
        """The questions about an item under their section headings, with given answers and errors.

        `ways` says how each question is put; a random order is not cached, since there are too many. `group` is the set
        of questions, since two instruments may have a question of the same name.
        """
        words = texts(item)
        grouped: list[tuple[str, list[str]]] = []
        for index, question, parts in drawn(questions):
            wording = question.wording(condition, **words)
            value, opt_out = given.get(f"a{index}", ""), given.get(f"o{index}", "")
            way = ways[index] if ways else ""
            typed = given.get(f"r{index}") or (value and question.scale.slides) or "seen=" in way
            typed = typed or any(f"a{number}" in given for number, _ in parts) or f"n{index}" in given
            if typed or f"a{index}" in errors or f"r{index}" in errors:
                html = self._render(
                    index=index, question=question, parts=parts, wording=wording, given=given, errors=errors
                )
            else:
                offered = _offered(question, value), _offered(question, opt_out)
                html = self._cached(group, index, question, parts, way, *offered)
                html = html.replace(WORDING, escape(wording))
            if grouped and grouped[-1][0] == question.section:
                grouped[-1][1].append(html)
            else:
                grouped.append((question.section, [html]))
        return [(title, Markup("".join(parts))) for title, parts in grouped]  # noqa: S704 - the template escapes

    def _cached(
        self, group: int, index: int, question: Question, parts: Parts, way: str, value: str, opt_out: str
    ) -> str:
        """A question with its placeholder; offered values only, so the cache stays small."""
        key = (group, index, question.id, way, value, opt_out)
        if key not in self._html:
            given = {f"a{index}": value, f"o{index}": opt_out}
            self._html[key] = self._render(
                index=index, question=question, parts=parts, wording=WORDING, given=given, errors={}
            )
        return self._html[key]


def drawn(questions: Sequence[Question]) -> Iterator[tuple[int, Question, Parts]]:
    """The questions that a page draws, with the number of their first input and of each option that may apply."""
    index = 0
    for group in grouped(questions):
        whole = group[0].whole
        if whole is not None and len(group) > 1:
            options = {part_id(whole.id, option.label): option for option in whole.scale.options}
            yield index, whole, tuple((index + n, options[question.id]) for n, question in enumerate(group))
        else:
            yield from ((index + n, question, ()) for n, question in enumerate(group))
        index += len(group)


def _offered(question: Question, value: str) -> str:
    """The value where the page offers it; other values are not cached."""
    scale = question.scale
    known = value and (
        any(o.status == value for o in scale.opt_outs) or any(show_code(o.code) == value for o in scale.options)
    )
    return value if known else ""
