"""The answers that a question allows, and what may be computed from them.

A `Scale` has options (a code and a label each) or a continuous range, a level of measurement, opt-outs
such as "ambiguous", and coarse bands such as low / neutral / high. Of Vantage, only `errors` is imported here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal, TypeAlias, get_args

from vantage.errors import InputError

Level = Literal["nominal", "ordinal", "interval", "ratio"]
"""Level of measurement (Stevens 1946): which comparisons of two codes mean something."""

Status: TypeAlias = str
"""What became of a question: `answered`, the id of an opt-out, or the reason why there is no value."""

LEVELS: Final[tuple[Level, ...]] = get_args(Level)
OPT_OUTS: Final[tuple[Status, ...]] = ("ambiguous", "not_mentioned")
"""The opt-outs that every part of Vantage knows; an instrument may name others."""
UNANSWERED: Final[tuple[Status, ...]] = ("refused", "unparsed", "failed")
"""Why there is no value, where nobody chose an opt-out."""
STATUSES: Final[tuple[Status, ...]] = ("answered", *OPT_OUTS, *UNANSWERED)
NO_OPT_OUTS: Final[tuple[Status, ...]] = ("answered", *UNANSWERED, "missing")
"""The statuses that are no opt-outs; every other one is."""
OPT_OUT_ID: Final = r"^[a-z][a-z0-9_]{0,63}$"
"""How an opt-out is named: lower-case letters, digits and underscores."""

SLIDER: Final = 12
"""From so many points upwards, numbers are entered on a slider and not chosen from a list."""

Labels = Literal["numbers", "words", "letters"]
"""What options are called where they are shown: by their codes, by their wording, or by letters in the order shown."""


@dataclass(frozen=True, slots=True)
class Option:
    """One answer of a scale: the code that is stored and the label that is shown."""

    code: float
    label: str = ""
    description: str = ""

    @property
    def name(self) -> str:
        """The label, or the code where a scale point has no wording of its own."""
        return self.label or show_code(self.code)


@dataclass(frozen=True, slots=True)
class OptOut:
    """A way to decline: the status that is stored and the label that is shown."""

    status: Status
    label: str


@dataclass(frozen=True, slots=True)
class Band:
    """A named stretch of a scale; applies to single answers and to their mean alike.

    >>> Band("neutral", above=-0.5, below=0.5).holds(0.4)
    True
    """

    name: str
    at_least: float | None = None
    above: float | None = None
    below: float | None = None
    at_most: float | None = None

    def holds(self, value: float) -> bool:
        """Whether the value lies inside this band."""
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
            and (self.at_most is None or value <= self.at_most)
        )


@dataclass(frozen=True, slots=True)
class Scale:
    """The answers that a question allows.

    >>> scale = Scale.points(-3, 3, anchors={-3: "very cold", 3: "very warm"},
    ...                      bands=[Band("low", at_most=-0.5), Band("neutral", above=-0.5, below=0.5),
    ...                             Band("high", at_least=0.5)])
    >>> scale.codes
    (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0)
    >>> scale.band(1.4)
    'high'
    >>> scale.holds(4)
    False
    """

    options: tuple[Option, ...] = ()
    level: Level = "ordinal"
    opt_outs: tuple[OptOut, ...] = ()
    bands: tuple[Band, ...] = ()
    range: tuple[float, float] | None = None
    """Lowest and highest value of a continuous scale (a slider, a standardised score); without options."""
    order: tuple[float, ...] = ()
    """The codes in the order in which they are shown, where that is not the order of the options."""
    called: Labels | None = None
    """What the options are called where they are shown; whatever suits the scale without it."""
    anchors: tuple[Option, ...] = ()
    """The wording at some points of a continuous scale; otherwise the options have it."""
    text: int = 0
    """Most characters of a free text, which is kept as the rationale; the value says only whether one was given."""

    def __post_init__(self) -> None:
        if problems := list(self.problems()):
            raise InputError("; ".join(problems), remedy="correct the scale")

    @classmethod
    def points(
        cls,
        low: int,
        high: int,
        *,
        anchors: Mapping[int, str] | None = None,
        level: Level = "ordinal",
        opt_outs: Iterable[OptOut] = (),
        bands: Iterable[Band] = (),
    ) -> Scale:
        """A scale of consecutive whole numbers, with wording at some of them."""
        anchors = anchors or {}
        options = tuple(Option(float(code), anchors.get(code, "")) for code in range(low, high + 1))
        return cls(options, level, tuple(opt_outs), tuple(bands))

    @classmethod
    def listed(
        cls,
        options: Iterable[Option],
        level: Level = "ordinal",
        opt_outs: Iterable[OptOut] = (),
        bands: Iterable[Band] = (),
    ) -> Scale:
        """A scale whose options are listed upwards or downwards: that is how they are shown; codes always rise.

        >>> Scale.listed([Option(1, "yes"), Option(0, "no")]).codes
        (0, 1)
        """
        shown = tuple(options)
        codes = tuple(option.code for option in shown)
        falls = level != "nominal" and len(codes) > 1 and all(a > b for a, b in pairwise(codes))
        return cls(shown[::-1] if falls else shown, level, tuple(opt_outs), tuple(bands), order=codes if falls else ())

    @classmethod
    def labels(cls, *labels: str, level: Level = "nominal", opt_outs: Iterable[OptOut] = ()) -> Scale:
        """A scale of named answers, coded 0, 1, 2 … in the order given.

        >>> Scale.labels("no", "yes").code("Yes")
        1.0
        """
        options = tuple(Option(float(code), label) for code, label in enumerate(labels))
        return cls(options, level, tuple(opt_outs))

    @classmethod
    def continuous(cls, low: float, high: float, *, level: Level = "interval") -> Scale:
        """A scale on which every number between two ends is an answer."""
        return cls(level=level, range=(low, high))

    @classmethod
    def free_text(cls, longest: int, opt_outs: Iterable[OptOut] = ()) -> Scale:
        """Answers in the rater's own words: the text is the rationale, the value is 1 where there is one.

        >>> Scale.free_text(200).describe()
        'free text of at most 200 characters'
        """
        return cls((Option(0.0, "no text"), Option(1.0, "text")), "nominal", tuple(opt_outs), text=longest)

    @property
    def codes(self) -> tuple[float, ...]:
        """The codes of the options, in their order; empty for a continuous scale."""
        return tuple(option.code for option in self.options)

    @property
    def shown(self) -> tuple[Option, ...]:
        """The options in the order in which they are shown.

        >>> [option.code for option in Scale.listed([Option(2, "high"), Option(1, "low")]).shown]
        [2, 1]
        """
        by_code = {option.code: option for option in self.options}
        return tuple(by_code[code] for code in self.order) or self.options

    @property
    def meaning(self) -> Scale:
        """The scale whatever the order and the names under which its options are shown."""
        return replace(self, order=(), called=None)

    @property
    def ordered(self) -> bool:
        """Whether "more" and "less" mean something on this scale."""
        return self.level != "nominal"

    @property
    def named(self) -> bool:
        """Whether the answers are put to a rater as words, so that a number is none of them.

        >>> Scale.labels("no", "yes").named, Scale.points(1, 5).named, Scale.continuous(0, 100).named
        (True, False, False)
        """
        if self.called in ("words", "numbers"):
            return self.called == "words"
        return not self.ordered or (0 < len(self.options) <= 4 and all(option.label for option in self.options))

    @property
    def has_distances(self) -> bool:
        """Whether the distance of two answers means something: on ordered scales, and on two options.

        >>> Scale.labels("no", "yes").has_distances, Scale.labels("no", "yes", "both").has_distances
        (True, False)
        """
        return self.ordered or len(self.codes) == 2

    @property
    def slides(self) -> bool:
        """Whether an answer is a number entered on a slider: on a range, or on many points without wording.

        >>> Scale.points(0, 100).slides, Scale.points(1, 11).slides, Scale.continuous(0, 1).slides
        (True, False, True)
        """
        if self.range is not None or not self.ordered or len(self.options) < SLIDER:
            return self.range is not None
        low, high = self.ends
        whole = all(code.is_integer() for code in self.codes) and high - low == len(self.options) - 1
        return whole and len(self.worded) < len(self.options) and self.order in ((), self.codes[::-1])

    @property
    def worded(self) -> tuple[Option, ...]:
        """The points that have wording, in their order."""
        return tuple(option for option in (*self.options, *self.anchors) if option.label)

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest value."""
        return self.range if self.range is not None else (min(self.codes), max(self.codes))

    def holds(self, value: float) -> bool:
        """Whether the value is one of the scale's answers."""
        if self.range is not None:
            return self.range[0] <= value <= self.range[1]
        return value in self.codes

    def mirrored(self, value: float) -> float:
        """The value as far from the other end of the scale.

        >>> Scale.points(1, 5).mirrored(2)
        4.0
        """
        low, high = self.ends
        return low + high - value

    def label(self, code: float) -> str:
        """The wording of a code, or the number itself where the point has none."""
        return next((point.name for point in (*self.options, *self.anchors) if point.code == code), show_code(code))

    def code(self, label: str) -> float | None:
        """The code of a label, whatever its case; null for a label that the scale does not have."""
        wanted = label.strip().casefold()
        return next((o.code for o in self.options if o.label and o.label.casefold() == wanted), None)

    def band(self, value: float) -> str | None:
        """The name of the coarse band that holds the value."""
        return next((band.name for band in self.bands if band.holds(value)), None)

    def relabelled(self, anchors: Mapping[float, str]) -> Scale:
        """The same scale with other wording at some of its points."""
        if self.range is not None:
            worded = {point.code: point.label for point in self.anchors} | dict(anchors)
            return replace(self, anchors=tuple(Option(code, worded[code]) for code in sorted(worded)))
        return replace(self, options=tuple(replace(o, label=anchors.get(o.code, o.label)) for o in self.options))

    def reworded(self, words: Mapping[str, str]) -> Scale:
        """The same scale with other words for some of its labels and descriptions."""

        def said(point: Option) -> Option:
            label, description = (words.get(text, text) for text in (point.label, point.description))
            return replace(point, label=label, description=description)

        return replace(
            self,
            options=tuple(map(said, self.options)),
            anchors=tuple(map(said, self.anchors)),
            opt_outs=tuple(replace(out, label=words.get(out.label, out.label)) for out in self.opt_outs),
        )

    @property
    def texts(self) -> tuple[str, ...]:
        """Every label and description."""
        points = (*self.options, *self.anchors)
        return (*(text for one in points for text in (one.label, one.description)), *(o.label for o in self.opt_outs))

    def describe(self) -> str:
        """The scale in one line, for a table.

        >>> Scale.labels("no", "yes", opt_outs=[OptOut("ambiguous", "cannot tell")]).describe()
        'no, yes (nominal; or ambiguous)'
        >>> Scale.points(1, 9).describe()
        '1…9 (ordinal)'
        """
        if self.text:
            declined = f" (or {', '.join(o.status for o in self.opt_outs)})" if self.opt_outs else ""
            return f"free text of at most {self.text} characters{declined}"
        low, high = self.ends
        if self.range is not None:
            shown = f"any number from {show_code(low)} to {show_code(high)}"
        elif len(self.options) > 4 or not all(o.label for o in self.options):
            shown = f"{show_code(low)}…{show_code(high)}"
        else:
            shown = ", ".join(o.name for o in self.options)
        declined = f"; or {', '.join(o.status for o in self.opt_outs)}" if self.opt_outs else ""
        return f"{shown} ({self.level}{declined})"

    def problems(self) -> Iterable[str]:
        """Everything that is wrong with the scale, one clause each."""
        if self.level not in LEVELS:
            yield f"level '{self.level}' is not one of {', '.join(LEVELS)}"
        if bool(self.options) == (self.range is not None):
            yield "a scale has either options or a continuous range"
            return
        yield from self._option_problems()
        yield from self._band_problems()
        statuses = [o.status for o in self.opt_outs]
        for status in statuses:
            if status in NO_OPT_OUTS or not re.match(OPT_OUT_ID, status):
                yield f"'{status}' cannot name an opt-out; use lower-case letters, digits and underscores"
        if len(set(statuses)) < len(statuses):
            yield "an opt-out is listed twice"

    def _option_problems(self) -> Iterable[str]:
        if self.range is not None:
            low, high = self.range
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                yield f"the range {low}…{high} does not go from a lower to a higher number"
            if self.level == "nominal":
                yield "a continuous scale cannot be nominal"
            for point in self.anchors:
                if not low <= point.code <= high:
                    yield f"anchor {show_code(point.code)} is not between {show_code(low)} and {show_code(high)}"
            return
        codes = self.codes
        if not all(math.isfinite(code) for code in codes):
            yield "a code is not a finite number"
        if len(set(codes)) < len(codes):
            twice = next(code for i, code in enumerate(codes) if code in codes[:i])
            yield f"code {show_code(twice)} is used for two options"
        if len(codes) < 2:
            yield "a scale needs at least two options"
        if self.ordered and list(codes) != sorted(codes):
            yield f"the codes of an {self.level} scale must rise, or fall, from option to option"
        if self.order and sorted(self.order) != sorted(codes):
            yield "the order in which options are shown does not name every option once"
        labels = [o.label.casefold() for o in self.options if o.label]
        if len(set(labels)) < len(labels):
            twice_named = next(label for i, label in enumerate(labels) if label in labels[:i])
            yield f"label '{twice_named}' is used for two options"
        if self.level == "nominal" and len(labels) < len(codes):
            yield "every option of a nominal scale needs a label"

    def _band_problems(self) -> Iterable[str]:
        names = [band.name for band in self.bands]
        if len(set(names)) < len(names):
            yield "two bands have the same name"
        if not self.bands:
            return
        if not self.ordered:
            yield "a nominal scale has no bands"
            return
        # Bands matter at their edges: a value on, just below and just above each must fall into one band.
        edges = {e for b in self.bands for e in (b.at_least, b.above, b.below, b.at_most) if e is not None}
        low, high = self.ends
        probes = {low, high, *self.codes}
        for edge in edges:
            probes |= {edge, math.nextafter(edge, -math.inf), math.nextafter(edge, math.inf)}
        for probe in sorted(p for p in probes if low <= p <= high):
            holders = [band.name for band in self.bands if band.holds(probe)]
            if len(holders) != 1:
                held = f"bands {' and '.join(holders)} both hold" if holders else "no band holds"
                yield f"{held} the value {show_code(probe)}"
                return


def show_code(code: float) -> str:
    """A code as people write it.

    >>> show_code(3.0), show_code(-0.5)
    ('3', '-0.5')
    """
    return f"{code:g}"
