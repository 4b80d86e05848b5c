"""The order of written answers and traits: by wordings that everybody orders alike, by bands, by numbers in front."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import Final

KNOWN_ORDERS: Final = tuple(
    tuple(line.split(", "))
    for line in Path(__file__).with_name("orders.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
)
"""Wordings whose order is beyond doubt; a star stands for anything."""
UNPLACED: Final = re.compile(
    r"(i )?(prefer|rather|would rather|choose) not.*|(i )?do(n't| not) (know|want).*|no (answer|opinion|response)|"
    r"unknown|unsure|not? (applicable|available|specified|stated|sure)|other|missing|n/?a|none of (these|the above)|"
    r"refused|keine angabe|weiß nicht|sonstiges|autre|sans réponse|ne sait pas|otro|no sabe.*|不知道|不愿.*|其他",
    re.IGNORECASE,
)
"""Values that have no place in any order."""
_AMOUNT: Final = re.compile(r"\d{1,3}(?:[,.'\u2009\u00a0 ]\d{3})+(?!\d)|\d+(?:\.\d+)?")
_DATE: Final = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*")
_ROMANS: Final = {"I": 1, "II": 2, "III": 3, "IV": 4, "V": 5, "VI": 6, "VII": 7, "VIII": 8, "IX": 9, "X": 10}


def known_order(words: Sequence[str]) -> list[str] | None:
    """Three or more words from the lowest to the highest, where their order is known or written in them.

    >>> known_order(["often", "Never", "sometimes"])
    ['Never', 'sometimes', 'often']
    >>> known_order(["65+", "25-34", "18-24", "under 18"])
    ['under 18', '18-24', '25-34', '65+']
    >>> known_order(["blue", "red", "green"]) is None
    True
    """
    if len(words) < 3:
        return None
    return _by_wording(words) or _by_bands(words) or _by_sign(words)


def _by_wording(words: Sequence[str]) -> list[str] | None:
    plain = {word: " ".join(word.replace("_", " ").replace("’", "'").split()).casefold() for word in words}
    for usual in KNOWN_ORDERS:
        places = {}
        for word, text in plain.items():
            exact = usual.index(text) if text in usual else None
            place = exact if exact is not None else next((n for n, o in enumerate(usual) if fnmatchcase(text, o)), None)
            if place is None:
                break
            places[word] = place
        else:
            if len(set(places.values())) == len(words):
                return sorted(words, key=places.__getitem__)
    return None


def _by_bands(words: Sequence[str]) -> list[str] | None:
    """Bands such as 18–24, "65 and over" and "under 18", or labels with a number in front, which must not overlap."""
    bands: dict[str, tuple[float, float]] = {}
    for word in words:
        numbers = [float(re.sub(r"[,'\u2009\u00a0 ]|\.(?=\d{3})", "", amount)) for amount in _AMOUNT.findall(word)]
        if not 1 <= len(numbers) <= 2 or _DATE.fullmatch(word.strip()) or numbers[-1] < numbers[0]:
            return None
        bands[word] = (numbers[0], numbers[-1])
    order = sorted(words, key=bands.__getitem__)
    ends = [bands[word] for word in order]
    if len(set(ends)) < len(ends) or any(low < high for (_, high), (low, _) in pairwise(ends)):
        return None
    spans = sum(low < high for low, high in ends)
    numbered = all(re.match(r"\s*\d+\s*([-–—=:.)(+%]|[^\W\d])", word) for word in words)
    return order if numbered or (spans and len(order) - spans <= max(2, spans)) else None


def _by_sign(words: Sequence[str]) -> list[str] | None:
    """Roman numerals, percentages and rows of one sign such as ★★★."""
    plain = [word.strip().replace("☆", "") for word in words]
    if all(word.upper() in _ROMANS for word in plain):
        places = [float(_ROMANS[word.upper()]) for word in plain]
    elif all(re.fullmatch(r"\d+ ?(?:/|of|von|sur|de|out of) ?\d+", word) for word in plain):
        places = [float(re.match(r"\d+", word)[0]) for word in plain]  # type: ignore[index]
    elif all(re.fullmatch(r"\d+(?:[.,]\d+)?\s*%", word) for word in plain):
        places = [float(word.rstrip("% ").replace(",", ".")) for word in plain]
    elif len({word[:1] for word in plain if word}) == 1 and all(re.fullmatch(r"([^\w\s])\1*|", word) for word in plain):
        places = [float(len(word)) for word in plain]
    else:
        return None
    by_word = dict(zip(words, places, strict=True))
    return sorted(words, key=by_word.__getitem__) if len(set(places)) == len(places) else None
