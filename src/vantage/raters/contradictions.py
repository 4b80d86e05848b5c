"""What a prompt says against itself: a linter of guidelines and questions as they are put to a model.

Guidelines that refer to answers, readers and circumstances by role (`vantage.instruments.guidance`) cannot contradict
the rest of the prompt. Those that are written out can, and whoever wrote them should know before anything is asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from vantage.instruments import Question, put
from vantage.raters.answers import choices
from vantage.raters.prompts import Prompter

_NUMBER: Final = r"[+−-]?\d+(?:\.\d+)?"
_QUOTED: Final = r"[\"“]([^\"“”]{1,60})[\"”]"
_TOLD: Final = re.compile(
    rf"\b(?:choose|pick|answer(?:\swith)?|give|use|rate|say)\s(?:{_QUOTED}|({_NUMBER}))"
    rf"|(?:^|[-•*]\s|[.;]\s)({_NUMBER})\smeans\b|\b(?:rate|rating)\b[^.;]{{0,20}}\sfrom\s({_NUMBER})",
    re.IGNORECASE | re.MULTILINE,
)
"""Where guidelines tell which answer to give."""
_OWN: Final = re.compile(
    r"\byour\sown\s(?:\w+\s)?(?:reading|view|opinion|judgm|feeling|point|impression)|\bknow\syours\b"
    r"|\b(?:how|what)\syou\s(?:read|see|feel|think|find)\b|\bmost\s(?:readers|people\swho\sread)\b|\bas\syourself\b"
    r"|\b(?:do|would)\syou\s(?:find|think|feel|say|consider)\b|\bI\s(?:do\snot\s)?(?:find|think|feel|consider)\b",
    re.IGNORECASE,
)
"""Where guidelines ask for the reader's own judgment, or for that of most readers."""
_PLACE: Final = re.compile(r"[\"“]?\{\w+\}[\"”]?")
"""Where a question holds what the item says."""
_REASON: Final = re.compile(
    r"\b(?:in|with|for)\syour\sreasons?\b|\bsay\swhy\b|\bgive\s(?:a|your)\sreasons?\b", re.IGNORECASE
)
_LENGTH: Final = re.compile(
    r"\b(?:say\swhy|reasons?)\b[^.;]{0,30}\s(?:a|one|two|three)\s(?:or\s\w+\s)?sentences?\b", re.IGNORECASE
)
"""How long a reason is to be, which the form of the answer says."""


def contradictions(prompter: Prompter, questions: Sequence[Question]) -> list[str]:
    """What guidelines and questions say against the rest of a prompt, each in a sentence; nothing for a sound prompt.

    Args:
        prompter: The writer of the prompt, with its style, voice, condition and presentation.
        questions: The questions as they are shown.

    >>> from vantage import Instrument
    >>> from vantage.raters.style import Style
    >>> written = {**Instrument.load("irony").document, "guidelines": "Choose 1 if it is ironic, in your own reading."}
    >>> irony = Instrument.from_document(written)
    >>> for sentence in contradictions(Prompter(irony, Style(), voice="Age: 30."), irony.questions):
    ...     print(sentence)
    The guidelines tell to answer 1, and the answers are no, yes; write {answer:…}.
    The guidelines ask for “your own reading” of somebody who answers for another person; write {whose} or {readers}.
    """
    if type(prompter) is not Prompter:  # a template, or a study's own, words everything itself
        return []
    questions = prompter.read(questions)
    text = "\n".join(prompter.guided(questions))
    plain = re.sub(r"\s+", " ", text)
    asked = put(questions)
    own_words = "\n".join(_PLACE.sub("it", one.ask) for one in asked)
    offered = [choice for one in asked for choice in choices(one.scale, letters=prompter.letters(one))]
    words = {word.casefold() for choice in offered for word in (choice.word, choice.meaning.partition(" (")[0])}
    words |= {option.label.casefold() for one in asked if not one.scale.called for option in one.scale.options}
    notes = []
    shown = ", ".join(dict.fromkeys(choice.word for choice in offered))
    for said, where, remedy in (
        (text, "guidelines tell", "write {answer:…}"),
        (own_words, "question tells", "leave it to the guidelines"),
    ):
        for match in _TOLD.finditer(said):
            told_to = next(group for group in match.groups() if group)
            if told_to.replace("−", "-").lstrip("+").casefold() not in words and not _slides(told_to, asked):
                notes.append(f"The {where} to answer {told_to}, and the answers are {shown}; {remedy}.")
    for out in {out for one in prompter.instrument.questions for out in one.scale.opt_outs}:
        name = out.label.partition(":")[0]
        if out.status not in {choice.status for choice in offered} and re.search(
            rf"[\"“](?:{re.escape(name)}|{re.escape(out.status)})[\"”]", plain, re.IGNORECASE
        ):
            notes.append(f"The guidelines speak of “{name}”, which is not offered; write {{answer:{out.status}}}.")
    labels = "\n".join(text for one in asked for text in one.scale.texts)
    given = "\n".join(one.reason for example in prompter.instrument.examples for one in example.answers.values())
    for where, said in (
        ("guidelines ask for", plain),
        ("question asks for", own_words),
        ("answers speak of", labels),
        ("reasons of examples speak of", given),
    ):
        if prompter.voice and (own := _OWN.search(said)):
            notes.append(
                f"The {where} “{own[0]}” of somebody who answers for another person; write {{whose}} or {{readers}}."
            )
    asks = prompter.reasons(questions)
    if why := (_LENGTH if asks else _REASON).search(plain):
        none = "no reason is asked for; write {when:reason} before it"
        notes.append(f"The guidelines say “{why[0]}”, and {'its form says how long; leave it out' if asks else none}.")
    shown_fields = prompter.instrument.shown(prompter.condition)
    for field in prompter.instrument.fields:
        if field not in shown_fields and re.search(rf"\b{re.escape(field.title)} is shown\b", plain, re.IGNORECASE):
            here = f"under the condition {prompter.condition}"
            if not re.search(rf"\bsometimes [^.]{{0,20}}{re.escape(field.title)} is shown", plain, re.IGNORECASE):
                notes.append(f"The guidelines speak of the {field.title}, which is not shown {here}; write {{when:…}}.")
    return notes


def _slides(answer: str, questions: Sequence[Question]) -> bool:
    """Whether an answer is one of the numbers of a scale that is not listed point by point."""
    number = answer.replace("−", "-")
    return re.fullmatch(_NUMBER, number) is not None and any(
        one.scale.slides and one.scale.holds(float(number)) for one in questions
    )
