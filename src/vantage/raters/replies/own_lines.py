"""Answers that have a line of the reply for themselves."""

from __future__ import annotations

import re

from vantage.raters.replies.copied import Span
from vantage.raters.replies.labels import wordings, words
from vantage.raters.replies.numbers import NUMERIC
from vantage.raters.replies.reply import Reading, is_named
from vantage.raters.replies.slots import read_all, read_lead
from vantage.scales import Scale

_START = re.compile(r"^[ \t]{0,8}(?:[-*•][ \t]{1,3}(?!\d))?", re.MULTILINE)
_KEYED = re.compile(r"(?:[^:\n\ue000\ue001]{1,60}+|[^:\n]{1,60}?\ue001{1,80}+):\s?[*_]{0,3}")
_ASIDE = re.compile(
    r"\b(?:confidence|certainty|probability|likelihood|scale|range|step|example|instance|question|item|id|note|could\sbe"
    r"|(?:can|could|may|might|should)\s(?:write|say|put|reply|answer)"
    r"|(?:they|he|she|author|narrator|speaker|writer)\s(?:says?|said|writes?|wrote))\b",
    re.IGNORECASE,
)
"""Names of what is no answer to the question."""
_OPTIONS = re.compile(
    r"^.{0,40}\b(?:options|choices|possible\sanswers):\s?\n(?:[ \t]{0,8}[-*•(\d].{0,200}(?:\n|$)){1,20}"
    r"|^\W{0,4}(?:choose|select|pick)\b.{0,60}:\s?\n(?:.*\w.*(?:\n|$)){2,20}",
    re.I | re.M,
)
"""A list of options under its heading."""
_NUMBERED = re.compile(r"^[ \t*]{0,6}(\d{1,2})[.)]\s.{0,400}$", re.M)
_ANSWER = re.compile(r"[\W_]{0,4}(?:(?:my|the|final)\s){0,2}(?:answer|choice|option|label|response)\b", re.IGNORECASE)
_UNKNOWN = re.compile(r"\b(?:can't|cannot|can not)\s(?:say|tell)\b|\bdon't\sknow\b", re.IGNORECASE)
_COUNT = re.compile(r"^[ \t]*\d{1,3}[ \t]*(?:\n[ \t]*\d{1,3}[ \t]*)++$", re.M)
"""Lines of nothing but a number."""
_COLON = re.compile(r"\s?:")
_PAUSE = re.compile(r"\s?[,.-]")
_LINES = 2000
_LONGEST_LINE = 4000


def own_lines(text: str, scale: Scale) -> tuple[list[Reading], bool]:
    r"""Answers alone on a line, after a name, or before a colon; and whether the lines list options.

    Two options by their names, each on a line, are a list of options and not two answers.

    >>> readings, listed = own_lines("They are upset.\n\n4", Scale.points(1, 5))
    >>> [reading.value for reading in readings], listed
    ([4.0], False)
    """
    readings: list[Reading] = []
    for line in text.split("\n")[:_LINES]:
        if line.strip() and len(line) <= _LONGEST_LINE:
            reading = _own_line(line, scale)
            if reading is not None and reading.usable:
                readings.append(reading)
    if len({reading.value for reading in readings if reading.form == "label"}) > 1:
        return [reading for reading in readings if reading.form != "label"], True
    return readings, False


def listed_lines(text: str) -> list[Span]:
    r"""Lists that are no answer: options under their heading, and three lines or more that are numbered on.

    >>> listed_lines("1. Not at all\n2. A bit\n3. Very"), listed_lines("1. Not at all\n2. A bit")
    ([(0, 13), (14, 22), (23, 30)], [])
    """
    lines = list(_NUMBERED.finditer(text))
    numbers = [int(line[1]) for line in lines]
    numbered = len(lines) > 2 and _goes_up(numbers)
    counted = [run.span() for run in _COUNT.finditer(text) if _goes_up([int(one) for one in run.group().split()])]
    listed = [match.span() for match in _OPTIONS.finditer(text)] + counted
    return listed + ([line.span() for line in lines] if numbered else [])


def _goes_up(numbers: list[int]) -> bool:
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def names_another(text: str, first: Reading, scale: Scale) -> bool:
    """Whether a later line begins with another option than the first."""
    for start in list(_START.finditer(text))[1:_LINES]:
        reading = read_lead(text[start.end() : start.end() + 200], scale)
        if reading is not None and reading.form in {"label", "several"} and not reading.same(first):
            return True
    return False


def _own_line(line: str, scale: Scale) -> Reading | None:
    start = _START.match(line)
    bare = line[start.end() :] if start else line
    reading = read_all(bare, scale)
    if reading is not None:
        # Among other lines, "yes = it is" repeats what an option means, and so may the meaning alone.
        repeats = "=" in bare or (" " in words(bare) and words(bare) in wordings(scale).slot_only)
        return None if repeats and (reading.form in {"label", "opt-out"} or is_named(scale)) else reading
    lead = read_lead(bare, scale)
    if lead is not None and _UNKNOWN.search(bare, lead.end):
        return None
    if lead is not None and (_COLON.match(bare, lead.end) or (lead.opt_out and _PAUSE.match(bare, lead.end))):
        return lead
    keyed = _KEYED.match(bare)
    if keyed is None or _ASIDE.search(keyed.group()):
        return None
    reading = read_all(bare[keyed.end() :], scale)
    if reading is not None and (reading.form == "letter" or (is_named(scale) and reading.form in NUMERIC)):
        return reading if _ANSWER.match(keyed.group()) else None
    return reading
