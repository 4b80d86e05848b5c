"""Yes and no in the question's own words: "it is not sarcastic" answers "is this sarcastic?" with no."""

from __future__ import annotations

import re

from vantage.raters.replies.reply import Reading
from vantage.scales import Scale

_POLAR = re.compile(r"(?:all in all, )?(?:is|are|was|were|does|do|did)\b[^?]{3,200}\?", re.IGNORECASE)
_STATED = re.compile(
    r"(?:(?:so|thus|therefore|overall|yes|no|well|absolutely),?\s)?(?:(?:i\s(?:(?:do\snot|don't)\s)?(?:think|thought|believe|feel|agree|would\ssay|find),?\s)?(?:that\s)?(?:it|this|that|the|they|he|she)\b"
    r"(?:\s[\w'-]{1,20}){0,5}?\s?(?:is|are|was|were|'s|seems|sounds|isn't|wasn't|aren't|isnt)\s)?"
    r"(?P<words>(?:[\w'-]{1,20}\s){0,5}[\w-]{4,30})",
    re.IGNORECASE,
)
_FOUND = re.compile(
    r"(?:(?:on\sbalance|overall|all\sin\sall),?\s)?i\s(?:do\snot\s|don't\s|did\snot\s|didn't\s)?(?:find|found)\s(?:it|(?:the|this|that)\s\w{1,20})\s(?P<words>(?:[\w'-]{1,20}\s){0,2}[\w-]{4,30})",
    re.IGNORECASE,
)
_ANNOUNCED = re.compile(r"^(?:rating|answer|reply):\s{0,2}", re.IGNORECASE)
_DENIED = re.compile(r"(?:n't|\bisnt|\b(?:do|did)\snot)\s", re.IGNORECASE)
_FINE = frozenset(
    re.findall(
        r"[\w-]+",
        "at all clearly definitely certainly really simply just indeed obviously a an of meant intended to be being "
        "not considered message text statement reply response comment sentence tweet post",
    )
)
_IS = re.compile(
    r"\b(?:is|are|was|were)(?P<denied>\snot|n't)?\s(?P<between>(?:(?:only|clearly|definitely|meant|very|indeed|just|an?|bit|little|quite|rather|somewhat|so|really)\s){0,3})"
    r"(?P<word>[\w-]{4,30})",
    re.IGNORECASE,
)
_HOLDS = re.compile(
    r"\bi(?P<denied>\sdo\snot|\sdon't|\sdid\snot|\sdidn't)?\s(?:find|found)\s(?:it|(?:the|this|that)\s\w{1,20})"
    r"\s(?P<between>)(?P<word>[\w-]{4,30})",
    re.IGNORECASE,
)
_REASON = re.compile(r",?\s(?:because|since)(?:\s|,)|\sto\s(?:me|us|them|others|people)\b", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“][^\"“”\n]{0,300}[\"”]|\ue000+")
_DOES = re.compile(r"\bdoes\b", re.IGNORECASE)
_DOES_NOT = re.compile(r"\bdoes(?:\snot|n't)\s(?!only\b)", re.IGNORECASE)
_NOT = re.compile(r"\b(?:not|no|never|hardly|without|nor|neither|whether|if)\b|n't", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.!?\n]{1,200}+[.!?\n]{0,3}+")


def read_predicate(text: str, ask: str, scale: Scale) -> Reading | None:
    """The answer to a yes-or-no question that repeats its predicate, denied or not.

    >>> scale = Scale.labels("no", "yes")
    >>> read_predicate("It is not sarcastic.", "Is this statement meant sarcastically?", scale).value
    0.0
    >>> read_predicate("It is not funny.", "Is this statement meant sarcastically?", scale) is None
    True
    """
    yes, no = scale.code("yes"), scale.code("no")
    asked = _predicate(ask)
    if yes is None or no is None or not asked:
        return None
    answers = _done(text, _asked(ask), asked)
    for sentence in _SENTENCE.finditer(_QUOTED.sub("it", text)):
        clause = _REASON.split(sentence.group(), maxsplit=1)[0].strip(" \n.!,*_\"'")
        clause = _ANNOUNCED.sub("", clause)
        stated = _FOUND.fullmatch(clause) or _STATED.fullmatch(clause)
        if stated is None:
            continue
        words = stated["words"].casefold().split()
        content = set(words) - _FINE
        if not content or not all(any(_same_word(one, word) for word in asked) for one in content):
            continue
        denied = "not" in words or bool(_DENIED.search(clause))
        answers.add(not denied)
    if len(answers) != 1 or len(_said(text, asked)) > 1:
        return None
    return Reading("predicate", len(text), yes if answers.pop() else no)


def _done(text: str, question: str, asked: set[str]) -> set[bool]:
    """Whether sentences affirm or deny a question with "does"; empty unless one has no words but those of the question.

    >>> ask = "Does the last response contain misinformation?"
    >>> _done("The last response does not contain misinformation.", ask, _predicate(ask))
    {False}
    """
    known = set(re.findall(r"[\w'-]+", question.casefold())) | _FINE | {"doesn't"}
    said: set[bool] = set()
    stated = False
    for sentence in _SENTENCE.finditer(text) if _DOES.match(question) else ():
        clause = _ANNOUNCED.sub("", sentence.group().strip(" \n.!,*_\"'"))
        words = re.findall(r"[\w'-]+", clause.casefold())
        if not all(any(_same_word(word, one) or word == f"{one}s" for word in words) for one in asked):
            continue
        verb = any(word in {f"{one}s", f"{one}es"} for word in words for one in asked)
        denied = bool(_DOES_NOT.search(clause))
        if denied or (verb and not _NOT.search(clause)):
            said.add(not denied)
            stated |= all(word in known or word.removesuffix("s") in known for word in words)
    return said if stated else set()


def denies_answer(text: str, ask: str, answer: float, scale: Scale) -> bool:
    """Whether a text says the opposite of a yes or a no that it follows: "No, it is clearly ironic".

    >>> scale = Scale.labels("no", "yes")
    >>> denies_answer(" It is not only ironic but rude.", "Is the reply ironic?", 0, scale)
    True
    >>> denies_answer(" It is not ironic.", "Is the reply ironic?", 0, scale)
    False
    """
    asked = _predicate(ask)
    if answer not in (scale.code("yes"), scale.code("no")) or not asked:
        return False
    return _said(text, asked) == {answer == scale.code("no")}


def _said(text: str, asked: set[str]) -> set[bool]:
    """Whether a text affirms the predicate of a question, denies it, or both."""
    return {
        not match["denied"] or "only" in match["between"].casefold()
        for pattern in (_IS, _HOLDS)
        for match in pattern.finditer(text)
        if any(_same_word(match["word"].casefold(), word) for word in asked)
    }


def _predicate(ask: str) -> set[str]:
    """The words of a yes-or-no question that an answer would repeat; none where it is no such question."""
    question = _asked(ask).casefold()
    if re.search(r"\b(?:or|not|n't)\b", question):
        return set()
    subject = set(re.findall(r"\b(?:the|this|that|its|any|an?)\s([a-z-]{4,})\b(?!\?)", question))
    return set(re.findall(r"[a-z-]{4,}", question)) - subject - _FINE - {"does"}


def _asked(ask: str) -> str:
    """The yes-or-no question in what is asked; empty where there is none."""
    question = _POLAR.search(ask)
    return question.group() if question else ""


def _same_word(one: str, other: str) -> bool:
    """Whether two words share all but their ending."""
    shorter, longer = sorted((one, other), key=len)
    return (len(shorter) >= 5 and longer.startswith(shorter) and len(longer) - len(shorter) <= 5) or one == other
