"""Replies in other languages than English, of which only the plainest count.

What limits, doubts or takes back an answer is known in English. Elsewhere an answer in prose counts only where nothing
else could be meant: the reply names no other number of the scale and no other option, and no word of denial is near.
"""

from __future__ import annotations

import re
from typing import Final

from vantage.raters.replies.labels import wordings, words
from vantage.scales import Scale

ANSWER: Final = (
    r"(?:risposta|respuesta|réponse|antwort|resposta|antwoord|svar|odpowiedź|ответ|答案|回答|答え|정답|답변|답|الإجابة|الجواب|उत्तर"
    r"|bewertung|punteggio|valutazione|voto|puntuación|puntaje|calificación|nota|pontuação|avaliação|ocena|оценка|评分|得分|分数|打分|スコア|評価|点数|점수|평가|الدرجة|التقييم)"
)
"""The words for answer and rating in other languages."""
_ENGLISH: Final = re.compile(
    r"\b(?:the|is|of|and|to|that|it|this|with|for|was|are|i|be|but|not|by|which|has|have|because|would|they|he|she)\b",
    re.IGNORECASE,
)
_OTHERS: Final = re.compile(
    r"\b(?:der|das|und|ist|nicht|ein|eine|ich|zu|mit|den|dem|für|wird|sich|auf|le|les|des|et|est|une|que|qui|dans|pour|ce|cette"
    r"|pas|il|elle|du|au|el|los|las|y|es|un|una|por|para|del|su|se|lo|como|más|che|è|di|della|sono|gli|nel|questo|anche"
    r"|os|é|um|uma|não|com|mais|ao|isso|het|een|niet|van|voor|dat|och|är|att|det|som|inte|jest|nie|się)\b",
    re.IGNORECASE,
)
"""Frequent words of nine languages that English does not have."""
_DENIAL: Final = re.compile(
    r"(?:\b(?:nicht|keine?[nrms]?|weder|statt|pas|sans|ni|plutôt|sin|ninguna?|nunca|jamás|non|né|senza|mai|não|nem|sem|niet|geen|noch|inte|ej|ikke"
    r"|nie|ani|bez|не|ни|без|no|ليس|ليست|لا|غير)\b[^.!?;\n]{0,24}|[不非没沒未无無][^.!?;,\n]{0,4})$",
    re.IGNORECASE,
)
_DENIAL_BEHIND: Final = re.compile(r"[^.!?;,\n]{0,12}(?:ない|ません|않|아니|\bdeğil\b|नहीं)", re.IGNORECASE)
_NUMBER: Final = re.compile(r"(?<![\w./,])[+-]?\d{1,3}(?:[.,]\d+)?(?![\w%])")
_OUT_OF: Final = re.compile(
    r"\s?(?:/|\b(?:su|von|sur|de|em|van|av|na|z|из)\b|(?:满分|分中|점\s?만점에?))\s?$", re.IGNORECASE
)


def in_another_language(text: str) -> bool:
    """Whether a text is not written in English.

    >>> in_another_language("La risposta è positiva, per il tono."), in_another_language("The tone is warm.")
    (True, False)
    >>> in_another_language("答案是 4"), in_another_language("4")
    (True, False)
    """
    letters = [letter for letter in text if letter.isalpha()]
    if 4 * sum(letter > "\u024f" for letter in letters) > len(letters):
        return True
    others = len(_OTHERS.findall(text))
    return others > 1 and others > len(_ENGLISH.findall(text))


def says_only(text: str, value: float, scale: Scale, *, named: bool = False) -> bool:
    """Whether a text names no other answer than one and denies none; and with `named`, names that one.

    >>> scale = Scale.points(1, 7)
    >>> says_only("Ich gebe eine 5 von 7.", 5, scale), says_only("Eher 5 als 4.", 5, scale)
    (True, False)
    >>> says_only("Das ist keine 5.", 5, scale)
    False
    """
    known, places = wordings(scale), []
    for number in _NUMBER.finditer(text):
        amount = float(number.group().replace(",", "."))
        if amount == value:
            places.append(number.span())
        elif scale.holds(amount) and not _OUT_OF.search(text, max(0, number.start() - 12), number.start()):
            return False
    for option in known.pattern.finditer(text) if known.pattern else ():
        if known.codes.get(words(option.group())) != value:
            return False
        places.append(option.span())
    denied = any(
        _DENIAL.search(text[max(0, start - 60) : start]) or _DENIAL_BEHIND.match(text, end) for start, end in places
    )
    return not denied and (bool(places) or not named)
