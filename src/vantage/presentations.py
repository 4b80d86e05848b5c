"""How a question is put, apart from what it asks: the order and names of options, the wording, the format.

A `Presentation` is written as `factor=level` pairs, as in the column `presentation` of the judgments. It is applied to
a question before the question is shown; answers are decoded, so that values are always in the codes of the question.

| factor | levels | what it changes |
| --- | --- | --- |
| `order` | up, down, random | the order of the options; `seen` tells a random one by the options' places |
| `labels` | numbers, words, letters | what the options are called |
| `direction` | plain, reversed, choice | the question, its reversed twin, or a choice between both sides (in data) |
| `wording` | 1, 2, 3 … | the question's own text and its paraphrases |
| `format` | line, json, scored | the form of a model's reply |
| `reason` | first, last, apart | where a model gives its reason: before the answer, behind it, or in a second turn |
| `middle` | shown, hidden | whether there is a middle option |
| `optout` | offered, hidden | whether the rater may decline |
| `shots` | none, forward, backward | worked examples and their order |
| `questions` | listed, reversed, random | the order of questions that are asked together |
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from typing import Final, cast

from vantage.errors import InputError, nearest
from vantage.instruments import Instrument, Question, answer_names, grouped, put, rendered, shared_names
from vantage.scales import Labels, Scale

FACTORS: Final[dict[str, tuple[str, ...]]] = {
    "order": ("up", "down", "random"),
    "labels": ("numbers", "words", "letters"),
    "direction": ("plain", "reversed", "choice"),
    "wording": (),
    "format": ("line", "json", "scored"),
    "reason": ("first", "last", "apart"),
    "middle": ("shown", "hidden"),
    "optout": ("offered", "hidden"),
    "shots": ("none", "forward", "backward"),
    "questions": ("listed", "reversed", "random"),
}
"""The factors with their levels; wordings are numbered from 1."""


@dataclass(frozen=True, slots=True)
class Presentation:
    """One way to put a question; factors that are not named stay as the instrument and the style have them.

    >>> presentation = Presentation.parse("order=down labels=letters")
    >>> str(presentation), presentation.order, presentation.wording
    ('labels=letters order=down', 'down', '')
    >>> str(presentation.having(wording="2"))
    'labels=letters order=down wording=2'
    """

    direction: str = ""
    format: str = ""
    labels: str = ""
    middle: str = ""
    optout: str = ""
    order: str = ""
    questions: str = ""
    reason: str = ""
    seen: str = ""
    """The order that `order=random` came to: the options' places on the rising scale, such as `3.1.2`."""
    shots: str = ""
    wording: str = ""

    def __post_init__(self) -> None:
        for factor, level in self.levels.items():
            known = FACTORS.get(factor, ())
            if factor == "wording":
                if not level.isdecimal() or int(level) < 1:
                    raise InputError(f"wording={level} is not a wording", remedy="count wordings from 1")
            elif factor == "seen":
                if not all(place.isdecimal() for place in level.split(".")):
                    raise InputError(f"seen={level} is no order of options", remedy="write places, such as 3.1.2")
            elif level not in known:
                raise InputError(f"{factor} has no level '{level}'", remedy=nearest(level, known))

    @classmethod
    def parse(cls, text: str) -> Presentation:
        """The presentation that a text such as `labels=letters order=down` stands for."""
        levels: dict[str, str] = {}
        for pair in text.split():
            factor, equals, level = pair.partition("=")
            if factor not in (*FACTORS, "seen"):
                raise InputError(f"there is no factor '{factor}'", remedy=nearest(factor, list(FACTORS)))
            if not equals or not level or factor in levels:
                raise InputError(f"'{pair}' does not give one level of {factor}", remedy="write factor=level once")
            levels[factor] = level
        return cls(**levels)

    def __str__(self) -> str:
        return " ".join(f"{factor}={level}" for factor, level in self.levels.items())

    @property
    def levels(self) -> dict[str, str]:
        """The factors that are named, in alphabetical order, with their levels."""
        return {part.name: level for part in fields(self) if (level := getattr(self, part.name))}

    def having(self, **levels: str) -> Presentation:
        """The same with other levels of some factors."""
        return replace(self, **levels)

    def drawn(self, question: Question, *key: object) -> Presentation:
        """With a random order of the options written out; the same key always gives the same order.

        >>> from vantage import Instrument
        >>> question = Instrument.load("sarcasm-rating").question("sarcasm-rating")
        >>> str(Presentation(order="random").drawn(question, "item-1", 0))
        'order=random seen=2.3.4.5.6.1'
        """
        if self.order != "random" or self.seen:
            return self
        places = list(range(1, len(self.offered(question.scale).options) + 1))
        seeded(question.id, *key).shuffle(places)
        return replace(self, seen=".".join(map(str, places)))

    def shown(self, question: Question) -> Question:
        """The question as the rater sees it: its wording, and its options in the order and with the names shown."""
        worded = question
        if self.direction == "reversed":
            if question.reversed is None:
                raise lacking("direction", question, "reversed twin", "add reversed: to it")
            worded = question.reversed
        if int(self.wording or 1) > 1 and question.wordings:
            if int(self.wording) > len(worded.wordings) + 1:
                of_what = "reversed wording" if self.direction == "reversed" else "wording"
                raise lacking("wording", question, f"{of_what} {self.wording}", "add it under wordings:")
            worded = worded.wordings[int(self.wording) - 2]
        return replace(worded, scale=self._arranged(question, worded.scale))

    def decoded(self, question: Question, value: float) -> float:
        """An answer on the scale as shown in the codes of the question.

        >>> from vantage import Instrument
        >>> question = Instrument.load("sarcasm-rating").question("sarcasm-rating")
        >>> Presentation(direction="reversed").decoded(question, 6)
        1.0
        """
        return question.scale.mirrored(value) if self.direction == "reversed" else value

    def guidance(self, instrument: Instrument) -> str:
        """The general guidelines in the wording shown, as they are written."""
        number = int(self.wording or 1)
        return instrument.wordings[number - 2] if 2 <= number <= len(instrument.wordings) + 1 else instrument.guidance

    def guidelines(self, instrument: Instrument) -> str:
        """The general guidelines as people read them: in the wording shown, with answers as they are called there."""
        # Options in a random order have other letters with every item, so they are called as without letters.
        still = self.having(order="", seen="", labels="") if self.order == "random" else self
        return rendered(self.guidance(instrument), shared_names(map(still._names, put(instrument.questions))))

    def _names(self, question: Question) -> dict[str, str]:
        turned = self.direction == "reversed" and question.reversed is not None
        return answer_names(self._ordered(question.scale), mirrored=turned)

    def arranged(self, questions: Sequence[Question], *key: object) -> list[Question]:
        """Questions that are asked together, in the order shown."""
        groups = grouped(questions)
        if self.questions == "random":
            seeded(*key).shuffle(groups)
        return [question for group in (groups[::-1] if self.questions == "reversed" else groups) for question in group]

    def offered(self, scale: Scale) -> Scale:
        """The scale with the options and opt-outs that are offered."""
        options, declined = scale.options, () if self.optout == "hidden" else scale.opt_outs
        if self.middle == "hidden" and len(options) % 2:
            options = options[: len(options) // 2] + options[len(options) // 2 + 1 :]
        order = tuple(code for code in scale.order if code in {option.code for option in options})
        return replace(scale, options=options, opt_outs=declined, order=order)

    def _arranged(self, question: Question, scale: Scale) -> Scale:
        offered = self.offered(scale)
        if self.labels == "words" and not all(option.label for option in offered.options):
            raise lacking("labels", question, "wording for every option", "use labels=numbers/letters")
        if self.order == "random":
            codes, places = offered.codes, [int(place) for place in self.seen.split(".") if place]
            if sorted(places) != list(range(1, len(codes) + 1)):
                raise InputError(
                    f"the order '{self.seen}' does not fit the {len(codes)} options of question '{question.id}'",
                    remedy="name every place once",
                )
            return replace(self._ordered(scale), order=tuple(codes[place - 1] for place in places))
        return self._ordered(scale)

    def _ordered(self, scale: Scale) -> Scale:
        """The scale with what is offered, under its names, upwards, downwards or as the instrument has it."""
        offered = self.offered(scale)
        order = {"": offered.order, "down": offered.codes[::-1]}.get(self.order, ())
        return replace(offered, order=order, called=cast(Labels, self.labels) if self.labels else scale.called)


PLAIN: Final = Presentation()
"""The question as the instrument has it."""


def levels(factor: str, instrument: Instrument, questions: Sequence[Question]) -> tuple[str, ...]:
    """The levels of a factor that all these questions can be asked in; refused where there are no two.

    >>> instrument = Instrument.load("warmth-competence")
    >>> levels("order", instrument, instrument.questions)
    ('up', 'down')
    >>> levels("optout", instrument, instrument.questions)
    Traceback (most recent call last):
    ...
    vantage.errors.InputError: question 'trust' has no opt-out, so optout cannot be varied; add opt_outs: to its scale.
    """
    if factor not in FACTORS:
        raise InputError(f"there is no factor '{factor}'", remedy=nearest(factor, list(FACTORS)))
    fixed = next((question for question in questions if question.whole or question.scale.text or question.shares), None)
    if fixed is not None and factor in ("order", "labels", "direction", "middle", "wording"):
        raise lacking(factor, fixed, "single choice to present otherwise", "choose other questions with --question")
    if factor == "wording":
        return _wordings(instrument, questions)
    for question in questions:
        scale = question.scale
        if factor in ("order", "labels") and not scale.options:
            raise lacking(factor, question, "options: its scale is continuous", "leave the factor out")
        if factor == "direction" and question.reversed is None:
            raise lacking(factor, question, "reversed twin", "add reversed: to it")
        if factor == "optout" and not scale.opt_outs:
            raise lacking(factor, question, "opt-out", "add opt_outs: to its scale")
        if factor == "middle" and not (scale.ordered and len(scale.options) > 2 and len(scale.options) % 2):
            raise lacking(factor, question, "middle option", "leave the factor out")
    if factor == "labels":
        worded = all(option.label for question in questions for option in question.scale.options)
        return FACTORS[factor] if worded else ("numbers", "letters")
    if factor in ("order", "direction", "questions"):
        return FACTORS[factor][:2]
    return FACTORS[factor]


def _wordings(instrument: Instrument, questions: Sequence[Question]) -> tuple[str, ...]:
    counts = {question.id: len(question.wordings) for question in questions}
    most = max([len(instrument.wordings), *counts.values()])
    if not most:
        raise lacking("wording", questions[0], "paraphrase", "add wordings: to it or to the instrument")
    for question in questions:
        # A question without a paraphrase of its own may be read after guidelines that have one.
        if counts[question.id] not in (0, most) or (not counts[question.id] and not instrument.wordings):
            raise InputError(
                f"question '{question.id}' has {counts[question.id]} paraphrases where others have {most}",
                remedy="give all questions the same number, or choose questions with --question",
            )
    return tuple(str(number) for number in range(1, most + 2))


def lacking(factor: str, question: Question, what: str, remedy: str) -> InputError:
    """Says that a question does not have what a factor would change."""
    return InputError(f"question '{question.id}' has no {what}, so {factor} cannot be varied", remedy=remedy)


def seeded(*key: object) -> random.Random:
    """Draws that only the key decides, on every machine alike."""
    digest = blake2b("\0".join(map(str, key)).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return random.Random(int.from_bytes(digest))  # noqa: S311 - a design, not a secret
