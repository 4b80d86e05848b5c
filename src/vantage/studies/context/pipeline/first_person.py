"""Which statements are made from the speaker's own point of view, so that somebody could say them in a conversation.

The rules look at words only and need no model. They know English; for other languages let a model decide, or leave
the filter out.
"""

from __future__ import annotations

import re
from typing import Final

NOT_FIRST_PERSON: Final = "the statement is not made in the first person"

_QUOTED: Final = re.compile(r'"[^"]*"|“[^”]*”')
_ADDRESSED: Final = re.compile(r"^(?:\s*(?:RT\b:?|[@#]\w+:?|<\w+>,?|https?://\S+))+\s*")
_PRONOUN: Final = re.compile(
    r"(?<![\w.])(?:I(?:['’](?:m|ve|ll|d))?|(?:i(?:['’](?:m|ve|ll|d)))|im|Im|ive|Ive|i"
    r"|[Mm]e|[Mm]y|MY|ME|[Mm]ine|[Mm]yself|[Ww]e(?:['’](?:re|ve|ll|d))?|WE|[Uu]s|[Oo]ur|OUR|[Oo]urs|[Oo]urselves)"
    r"(?![\w]|\.\w|['’][a-z])"
)
_NUMERAL: Final = re.compile(r"\b(?:[A-Z][a-z]+\s){1,2}I\b(?=[\s,.]*(?:$|[,.;:)]))")
"""A capital I that counts kings and wars."""
_SUBJECTLESS: Final = re.compile(
    r"^\W*(?:(?:oh|well|so|and|but|just|really|still|also|yes|yeah|no|hi|hello|hey|ok|okay)\W+){0,3}"
    r"(?:thanks?\b|thx\b|sorry\b|love\b|loving\b|hate\b|hating\b|can['’]?t\s+(?:wait|believe|stop|sleep)\b|wish\b|hope\b"
    r"|hoping\b|wishing\b|glad\b|guess\b|feel(?:ing)?\b|looking\s+forward\b|excited\b|wondering\b|miss(?:ing)?\b|need\b|want\b"
    r"|(?:so\s+)?(?:happy|proud|tired|sick|bored|grateful)\b|been\b|got\b|had\b|went\b|saw\b|woke\b|spent\b|trying\b"
    r"|going\s+to\b|gonna\b|don['’]?t\s+(?:know|think|care|want)\b|not\s+sure\b)",
    re.IGNORECASE,
)
"""Openings in which English leaves out "I" or "we": "Can't wait", "Thanks for", "Just got"."""


def first_person(statement: str) -> bool:
    """Whether a statement is made in the first person, told by its words.

    What it quotes does not count, nor do names and links before it.

    >>> first_person("I could listen to this all day."), first_person("Can't wait for Monday.")
    (True, True)
    >>> first_person("The US won World War I."), first_person('He said "I am fine".')
    (False, False)
    """
    own = _ADDRESSED.sub("", _QUOTED.sub(" ", statement))
    if _SUBJECTLESS.match(own):
        return True
    return bool(_PRONOUN.search(_NUMERAL.sub(" ", own)))
