"""The languages of participant pages: sentences that can be translated, and the catalogues that translate them.

English is the language of the code. Every other language is one catalogue, `locale/CODE.po`, which is read as it is:
what git can merge is what runs, and nothing has to be compiled. `make translations` collects new sentences.
docs/collect.md explains how to add a language.
"""

from __future__ import annotations

import gettext
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import Final, Literal

Direction = Literal["ltr", "rtl"]
_RIGHT_TO_LEFT: Final = re.compile(
    r"(ar|arc|ckb|dv|fa|he|iw|ks|nqo|ps|sd|syr|ug|ur|yi)(-|$)|.*-(arab|hebr|thaa|nkoo)(-|$)"
)
_LINE: Final = re.compile(r'(?:(msgid|msgid_plural|msgstr(?:\[\d+\])?) )?(".*")')
_PLURAL: Final = re.compile(r"^Plural-Forms:.*?plural=([^;]+)", re.MULTILINE)


class PoTranslations(gettext.NullTranslations):
    r"""The translations of a file in the form that `make translations` writes: entries with blank lines between them.

    >>> german = PoTranslations('msgid "one"\nmsgid_plural "%(n)s of"\nmsgstr[0] "eins"\nmsgstr[1] "%(n)s von"\n')
    >>> german.ngettext("one", "%(n)s of", 3), german.gettext("two")
    ('%(n)s von', 'two')
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self._forms: dict[str, list[str]] = {}
        for entry in text.split("\n\n"):
            key, parts = "", dict[str, str]()
            for line in entry.splitlines():
                if match := _LINE.fullmatch(line):
                    key = match[1] or key
                    parts[key] = parts.get(key, "") + json.loads(match[2])
            forms = [said for part, said in parts.items() if part.startswith("msgstr")]
            if all(forms) and "msgid" in parts:
                self._forms[parts["msgid"]] = forms
        expression = _PLURAL.search(self._forms.get("", [""])[0])
        self._form_of = gettext.c2py(expression[1] if expression else "n != 1")

    def gettext(self, message: str) -> str:
        """The translation of a sentence, or the sentence itself."""
        return self._forms.get(message, [message])[0]

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        """The translation of a sentence with a number, in the form that the number needs."""
        forms = self._forms.get(msgid1)
        return forms[self._form_of(n)] if forms else super().ngettext(msgid1, msgid2, n)


ABOUT: Final = ("", "English", "1,234.5")
"""Entries that describe a catalogue, and are no translations: an answer "English" stays "English" in every language."""


class Sentence(str):
    """An English sentence for participants that remembers its template and values, to be said in other languages.

    >>> sentence("Please shorten this to %(most)s characters.", most=10_000)
    'Please shorten this to 10,000 characters.'
    """

    template: str
    values: Mapping[str, float | str]

    def __new__(cls, template: str, /, **values: float | str) -> Sentence:
        """The sentence in English."""
        made = super().__new__(cls, _filled(ENGLISH, template, values))
        made.template, made.values = template, values
        return made


sentence: Final = Sentence
"""A sentence that participants read; `make translations` puts it into the catalogues."""


@dataclass(frozen=True)
class Language:
    """A language of the pages.

    >>> german = language("de-AT")
    >>> german.code, german.name, german.number(1234.5)
    ('de', 'Deutsch', '1.234,5')
    >>> german.say(sentence("Please answer this question."))
    'Bitte beantworten Sie diese Frage.'
    >>> Language("de", german.catalogue, {"Your job?": "Ihr Beruf?"}).say("Your job?")
    'Ihr Beruf?'
    """

    code: str
    catalogue: PoTranslations
    texts: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    """Texts of a study file with their translations."""

    @property
    def name(self) -> str:
        """What the language is called in itself; a catalogue translates "English" so."""
        # Translators: the name of your language in itself.
        return self.catalogue.gettext("English")

    def say(self, text: str) -> str:
        """A sentence in this language; text that has no translation stays as it is."""
        if isinstance(text, Sentence):
            return _filled(self, self.catalogue.gettext(text.template), text.values)
        if own := self.texts.get(text):
            return own
        return text if text in ABOUT else self.catalogue.gettext(text)

    def number(self, value: float | str) -> str:
        """A number, or text with a decimal point, with the signs of this language."""
        # Translators: this number with the signs of your language, one character each.
        example = self.catalogue.gettext("1,234.5")
        text = value if isinstance(value, str) else f"{value:,.15g}"
        return text.translate({ord(","): example[1], ord("."): example[-2]})


def _filled(language: Language, template: str, values: Mapping[str, float | str]) -> str:
    shown = {name: value if isinstance(value, str) else language.number(value) for name, value in values.items()}
    return template % shown if shown else template


ENGLISH: Final = Language("en", PoTranslations(""))


@lru_cache(maxsize=1)
def catalogues() -> Mapping[str, Language]:
    """The languages by code, English first."""
    folder = resources.files("vantage.collect") / "locale"
    texts = {file.name[:-3]: file.read_text("utf-8") for file in folder.iterdir() if file.name.endswith(".po")}
    return {"en": ENGLISH, **{code: Language(code, PoTranslations(texts[code])) for code in sorted(texts)}}


def language(code: str) -> Language:
    """The language with a code, or the one it is a variety of; English where there is no catalogue.

    >>> language("pt-BR").code, language("tlh").code
    ('pt', 'en')
    """
    known = catalogues()
    return known.get(code) or known.get(code.partition("-")[0].lower()) or ENGLISH


def preferred(header: str, offered: Iterable[str]) -> str:
    """The offered language that a browser asks for most (`Accept-Language`), otherwise the first.

    >>> preferred("fr;q=0.5, he-IL, en;q=0.8", ["en", "he"])
    'he'
    """
    codes = list(offered)
    wishes: list[tuple[float, str]] = []
    for part in header[:500].split(","):
        tag, _, quality = part.strip().partition(";q=")
        weight = float(quality) if re.fullmatch(r"[01](\.\d{1,3})?", quality) else 1.0
        wishes += [(-weight, code) for code in codes if tag.partition("-")[0].lower() == code.partition("-")[0].lower()]
    return min(wishes, key=lambda wish: wish[0])[1] if wishes else codes[0]


def direction(code: str) -> Direction:
    """The direction in which a language is written.

    >>> direction("ar-EG"), direction("az-Arab"), direction("art")
    ('rtl', 'rtl', 'ltr')
    """
    return "rtl" if _RIGHT_TO_LEFT.match(code.lower()) else "ltr"


def reading_direction(text: str, code: str) -> Direction:
    """The direction of a text by its first letter; that of its language where it has none.

    >>> reading_direction("1 = كثيرًا", "en"), reading_direction("1, 2, 3", "he")
    ('rtl', 'rtl')
    """
    for kind in map(unicodedata.bidirectional, text):
        if kind in ("L", "R", "AL"):
            return "ltr" if kind == "L" else "rtl"
    return direction(code)
