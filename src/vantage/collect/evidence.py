"""How answers were typed, where the consent says that it is recorded: counts only, never what was typed.

They are evidence for a person to weigh. No flag, rule or measure looks at them: people paste from their notes, use
dictation and password managers, and are called away from the screen.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from vantage.collect.languages import sentence

CONSENT: Final = sentence(
    "While you answer, we count how often you paste text, how many keys you press, and how often you leave the page. "
    "We do not record which keys you press or what you paste."
)
"""Added to the consent of a study that records it, in the language of the study."""
COUNTS: Final = {
    "pastes": "pastes: {}",
    "pasted": "characters pasted: {}",
    "keys": "keys: {}",
    "away": "times away: {}",
}
MOST: Final = 1_000_000


def read(text: str) -> str | None:
    """The counts that a page sent, as stored; null where it sent none or something else.

    >>> read('{"pastes": 2, "keys": -3, "typed": "secret"}')
    '{"pastes": 2, "keys": 0}'
    >>> read("no JavaScript") is None
    True
    """
    try:
        given = json.loads(text) if len(text) <= 500 else None
    except ValueError:
        return None
    if not isinstance(given, dict):
        return None
    kept = {name: min(max(given[name], 0), MOST) for name in COUNTS if type(given.get(name)) is int}
    return json.dumps(kept) if kept else None


def summary(stored: Iterable[Mapping[str, int]]) -> str:
    """All counts of a rater in words; empty without any.

    >>> summary([{"pastes": 1, "pasted": 80, "keys": 3}, {"pastes": 0, "keys": 40}])
    'pastes: 1, characters pasted: 80, keys: 43'
    """
    pages = list(stored)
    totals = {name: sum(page.get(name, 0) for page in pages) for name in COUNTS}
    return ", ".join(words.format(f"{totals[name]:,}") for name, words in COUNTS.items() if totals[name])
