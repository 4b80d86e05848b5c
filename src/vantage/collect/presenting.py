"""How each participant is shown the questions: which presentation they get, and their answers in the codes meant.

Nothing is stored to know it: the seed of the study, the participant's number and the page decide. What was shown is
stored with every answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TypeAlias

from vantage.collect.block_document import PresentationPart
from vantage.collect.views import QuestionAnswer
from vantage.instruments import Question
from vantage.presentations import PLAIN, Presentation, seeded

Shown: TypeAlias = tuple[tuple[Question, ...], tuple[Presentation, ...]]
"""Questions as they are shown, in their order on the page, and how each is put."""


def assigned(part: PresentationPart | None, seed: int, participant: int, page: int = 0) -> Presentation:
    """The presentation of a participant, or of one of their pages.

    Combinations of levels are given out in shuffled blocks, so that each is used equally often.

    >>> part = PresentationPart(order=["up", "down"])
    >>> sorted(str(assigned(part, 0, number)) for number in (1, 2, 3, 4))
    ['order=down', 'order=down', 'order=up', 'order=up']
    """
    if part is None:
        return PLAIN
    levels = part.levels
    cells = [dict(zip(levels, chosen, strict=True)) for chosen in product(*levels.values())]
    block, place = divmod((page if part.drawn == "page" else participant) - 1, len(cells))
    seeded(seed, "presentation", block).shuffle(cells)
    return Presentation(**cells[place])


def shown(
    part: PresentationPart | None, seed: int, questions: Sequence[Question], participant: int, page: int
) -> Shown:
    """The questions as a participant sees them on a page."""
    if part is None:
        return tuple(questions), (PLAIN,) * len(questions)
    way = assigned(part, seed, participant, page)
    key = (seed, participant, page) if part.drawn == "page" else (seed, participant)
    asked = way.arranged(questions, *key)
    ways = tuple(way.drawn(question, *key) for question in asked)
    return tuple(one.shown(question) for question, one in zip(asked, ways, strict=True)), ways


def decoded(answers: Mapping[str, QuestionAnswer], seen: Shown) -> dict[str, QuestionAnswer]:
    """Answers as they were given in the codes of the questions, and vice versa."""
    turned = dict(answers)
    for question, way in zip(*seen, strict=True):
        answer = answers.get(question.id)
        if answer is not None and answer.value is not None:
            turned[question.id] = replace(answer, value=way.decoded(question, answer.value))
    return turned
