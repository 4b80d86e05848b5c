"""Translations straight from a `.po` file: what git can merge is what runs, and nothing has to be compiled."""

from __future__ import annotations

import gettext
import json
import re
from typing import Final

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
