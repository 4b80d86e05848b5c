"""What looks like an answer and is none: conditions, questions, examples, what others say; and answers taken back.

A reader must be sure that the rater meant it. Where the sentence around a number or an option only supposes it, or
what follows withdraws it, there is no answer.
"""

from __future__ import annotations

import re

_BEFORE = re.compile(r"[^.!?\n]{0,240}$")
_BEHIND = re.compile(r"[^.!?\n;]{0,120}[.!?\n;]?")
FORCED = (
    r"(?!\s(?:i|we)\s(?:had|have|must|am|were|would|was)\b"
    r"|\s(?:forced|pressed|asked|pushed|anything|so|ever|at\sall|any)\b)"
)
"""What makes an "if" no condition: "if I had to choose", "if anything"."""
_PERSON = r"(?:author|narrator|speaker|writer|poster)"
_RATES = (
    r"(?:\s\w{1,14}){0,2}\s(?:(?:would|might|could|may|will)\s)?"
    r"(?:rate[sd]?|gave|gives?|scores?d?|says?|said|answer(?:s|ed)?|chooses?|chose|picks?|picked|selects?|selected)\b[^.,;!?\n]{0,40}$"
)
_SUPPOSED = re.compile(
    rf"\bif\b{FORCED}(?:(?!\b(?:but|so|therefore|however|yet)\b)[^.!?\n])*$|\b(?:unless|suppose|assuming|had\s(?:he|she|they|it|the|i)|were\s(?:he|she|they|it|the))\b[^.!?\n]*$"
    r"|\b(?:for\s(?:example|instance)|example|e\.?g\.?)\b[^.!?\n]{0,80}$|\bsuch\sas\b[^.,!?\n]{0,80}$"
    r"|\b(?:previous|earlier|prior|initial|other|your|old|reference|expected|gold)\s(?:\w{1,12}\s)?(?:answer|rating|score|response|judge?ment)s?\b[^.!?\n]{0,40}$"
    rf"|\b(?:previous|earlier|prior|others?|some(?:one|body)?|another|critics|people|who){_RATES}"
    r"|\b(?:might|could|may)(?:\s(?:also|just|as|well|even|very|perhaps)){0,3}\s(?:be|say|rate|give|get|become|make|choose|pick|select)\b[^.!?\n]{0,24}$"
    r"|\b(?:can|could|may|might)\sbe\s(?:\w{1,12}\s)?(?:interpreted|read|seen|taken|understood|regarded|viewed)\sas\b"
    r"(?:(?!\b(?:but|so|overall|therefore|however)\b)[^.!?\n]){0,160}$"
    r"|\bcould\sbe\s(?:\w{1,12}\s)?improved\b[^.!?\n]{0,60}$"
    r"|\b(?:tempted|inclined|hesitant|reluctant|(?<!\bi'm\s)(?<!\bi\sam\s)going)\sto\s(?:say|give|rate)\b[^.!?\n]{0,24}$"
    r"|\bnot\ssure\s(?:that\s|whether\s)?(?:i|it|this)\b(?:(?!\b(?:but|so)\b)[^.!?\n]){0,40}$"
    r"|\b(?:at\sfirst|initially|originally|first(?=\s(?:thought|labell?ed|rated|gave|said|considered|chose|leaned)\b))\b"
    r"(?:(?!\b(?:but|so|yet|however|now)\b)[^.!?\n]){0,80}$"
    r"|\b(?:prefer|preferred|expecting|expected)\s(?:\w{1,6}\s){0,3}$"
    r"|\b(?:necessary|needed|required|enough|sufficient|short)\s(?:for|of|to\s\w{1,10})\s(?:an?\s|the\s)?(?:\w{1,12}\s)?(?:score|rating|grade)\b[^.!?\n]{0,12}$",
    re.IGNORECASE,
)
_REPORTED = re.compile(rf"\b(?:{_PERSON}|they|he|she){_RATES}", re.IGNORECASE)
_THEN = re.compile(
    r"[^.!?\n;,]{0,60}?(?<!because)(?<!sure)(?<!know)(?<!clear)(?<!\bas)\s(?:if|unless)\b(?!\s(?:i|we)\s(?:had|have|must)\b)"
    r"|\s(?:corresponds\sto|stands\sfor|denotes)\b"
    r"|\s(?:would|might|could)\s(?:mean|indicate|imply|suggest|represent|be\s(?:too|an?\s\w{0,10}|exaggerat\w*|wrong|unfair|overstat\w*))\b"
    r"|[^.!\n;]{0,60}\?",
    re.IGNORECASE,
)
_HEDGE = re.compile(r"\b(?:maybe|perhaps|possibly|conceivably)[\s,]{1,2}(?:an?\s)?[\"'*]{0,3}$", re.IGNORECASE)
_RETRACTED = re.compile(
    r"\.{3}\s?actually\b|(?:^|[.!?\n(,;:…-])\s*(?:(?:on\s(?:second\sthoughts?|(?:further\s)?reflection)|scratch\sthat|correction|oops|then\sagain|edit(?:ed)?(?=:)|hard\sto\s(?:call|say|tell)(?=[.!]?\s*$)|no,?\swait|(?:but\s)?wait|just\skidding"
    r"|never\s?mind|make\s(?:that|it)\s(?:an?\s)?[\"'*]{0,3}[+-]?\d|both\s(?:seem|are|look|sound)\s(?:justified|defensible|possible|plausible|valid|right|acceptable)|i\s(?:take\s(?:that|it|this)\sback|chang(?:e|ed)\smy\s(?:mind|answer|rating)|meant|stand\scorrected|withdraw))\b"
    r"|(?:actually|rather|or\srather|sorry|hmm|let\sme),?\s(?:make\s(?:that|it)|i\s(?:would|take|meant|think|'d)|it(?:'s|\sis)\s(?:an?\s)?[\"'*]{0,3}[+-]?\d"
    r"|(?:re)?consider|revise|correct|change|no\b))",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:mark(?:ed|ing)?|record(?:ed)?|cod(?:ed|ing)|treat(?:ed)?|left|counts?|labell?ed)\s(?:\w{1,10}\s){0,2}as\s[\"'(]{0,2}(?:na\b|n/a|not\s(?:mentioned|applicable))"
    r"|\b(?:answer|rating|score|question)\s(?:is|was|would\sbe|should\sbe)\s(?:therefore\s)?[\"'(]{0,2}(?:NA\b|N/A|not\sapplicable)"
    r"|\bdoes\snot\sallow\s(?:\w{1,10}\s){0,2}(?:rating|judge?ment|answer)",
    re.IGNORECASE,
)


_UNACCOUNTED = re.compile(
    r"\bi\s(?:do\snot|don't|dont)\sknow\swhy\si\s(?:chose|picked|got|gave|rated|answered|said)\b", re.IGNORECASE
)


def unaccounted(text: str) -> bool:
    """Whether a text disowns the answer that it speaks of.

    >>> unaccounted("I don't know why I got a 9 here."), unaccounted("I don't know why he left.")
    (True, False)
    """
    return bool(_UNACCOUNTED.search(text))


def supposed(text: str, start: int, end: int, ask: str = "") -> bool:
    """Whether the sentence around a place only supposes what is written there, asks for it, or reports it of others.

    Where the question itself is about what the narrator thinks, the narrator's rating is the answer.

    >>> text = "If he had lied, it would be a 1. It is a 4."
    >>> supposed(text, text.index("1"), text.index("1") + 1), supposed(text, text.index("4"), text.index("4") + 1)
    (True, False)
    >>> supposed("If I had to choose, I would say 4.", 32, 33)
    False
    """
    before = _BEFORE.search(text, max(0, start - 240), start)
    behind = _BEHIND.match(text, end)
    said = before.group() if before else ""
    reported = _REPORTED.search(said) and not re.search(_PERSON, ask, re.IGNORECASE)
    return bool(reported or _SUPPOSED.search(said) or (behind and _THEN.match(behind.group())))


def hedged(text: str, at: int) -> bool:
    """Whether what stands at a place is only offered as a possibility.

    >>> hedged("The tone is mild, so maybe 2", 27), hedged("so I say 2", 9)
    (True, False)
    """
    return bool(_HEDGE.search(text, max(0, at - 40), at))


def behind_withdrawal(text: str) -> str:
    """What stands behind the words that take an answer back; empty where there are none.

    >>> behind_withdrawal("Trust: 2. On reflection, trust: 1.")
    ', trust: 1.'
    """
    taken_back = _RETRACTED.search(text)
    return text[taken_back.end() :] if taken_back else ""


def withdrawn(rest: str) -> bool:
    """Whether what follows an answer takes it back.

    >>> withdrawn(". Actually, make that 5."), withdrawn(". He actually returned the wallet.")
    (True, False)
    """
    return bool(_RETRACTED.search(rest) or _DENIED.search(rest))
