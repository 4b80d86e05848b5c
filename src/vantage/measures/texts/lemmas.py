"""Lemmas of words by part of speech, with the tools of the extra `text`.

English: `lemminflect`; German and Dutch: `HanTa` (Wartena 2019). Where neither is installed there are no lemmas, and
`available` says so, so that a report can.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, Literal, TypeAlias

PartOfSpeech: TypeAlias = Literal["ADJ", "NOUN", "VERB", "ADV"]

_HANTA: Final = {"de": "morphmodel_ger.pgz", "nl": "morphmodel_dutch.pgz"}
_TAGS: Final[dict[str, tuple[str, ...]]] = {"ADJ": ("ADJ",), "NOUN": ("NN", "NE"), "VERB": ("V",), "ADV": ("ADV",)}


def available(language: str = "en") -> bool:
    """Whether there is a lemmatizer for a language."""
    return find_spec("lemminflect" if language == "en" else "HanTa") is not None and language in ("en", *_HANTA)


def lemmas(word: str, parts: Sequence[PartOfSpeech] = ("ADJ", "NOUN", "VERB"), language: str = "en") -> list[str]:
    """The lemmas of a word as each part of speech, most likely first, without the word itself.

    >>> lemmas("criminals") == (["criminal"] if available() else [])
    True
    """
    if not available(language) or not word:
        return []
    forms = _english(word) if language == "en" else _tagged(word, language)
    ordered = [lemma for part in parts for lemma in forms.get(part, ())]
    return [lemma for lemma in dict.fromkeys(ordered) if lemma != word]


@cache
def _english(word: str) -> dict[str, tuple[str, ...]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_part = import_module("lemminflect").getAllLemmas(word)
    return {part: tuple(forms) for part, forms in by_part.items()}


@cache
def _tagged(word: str, language: str) -> dict[str, tuple[str, ...]]:
    tagger = _tagger(language)
    forms: dict[str, tuple[str, ...]] = {}
    # German nouns have a capital, and a keyword in lower case may be one.
    for form in (word, word.capitalize()):
        lemma, tag = tagger.analyze(form)
        for part, tags in _TAGS.items():
            if tag.startswith(tags):
                forms[part] = (*forms.get(part, ()), lemma.casefold())
    return forms


@cache
def _tagger(language: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module("HanTa.HanoverTagger").HanoverTagger(_HANTA[language])
