"""The catalogues are complete and current, and numbers, directions and choices follow the language."""

from __future__ import annotations

import gettext
import re
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.plurals import get_plural

from tests.collect.people import study
from tools.translations import LOCALE, sentences, written
from vantage.collect.languages import ENGLISH, catalogues, language, sentence
from vantage.errors import Problems

CODES = ["ar", "de", "es", "fr", "he", "it", "ja", "nl", "pl", "pt", "zh"]


def forms(text: str | tuple[str, ...] | list[str] | None) -> list[str]:
    return [text] if isinstance(text, str) else list(text or ())


def placeholders(text: str) -> set[str]:
    return set(re.findall(r"%\((\w+)\)s", text))


def test_every_language_has_a_catalogue() -> None:
    assert sorted(catalogues()) == sorted(["en", *CODES])
    assert sorted(path.stem for path in LOCALE.glob("*.po")) == CODES


@pytest.mark.parametrize("code", CODES)
def test_a_catalogue_says_everything_with_the_same_values(code: str) -> None:
    catalogue: Catalog = written(LOCALE / f"{code}.po")
    count = get_plural(code).num_plurals
    for message in sentences():
        if not message.id:
            continue
        known = catalogue.get(message.id)
        assert known is not None, f"{code}: run `make translations` and translate {message.id!r}"
        assert not known.fuzzy, message.id
        said, asked = forms(known.string), forms(message.id)
        assert all(said), f"{code}: translate {message.id!r}"
        assert len(said) == (count if len(asked) == 2 else 1), message.id
        # One and two may be said in words; the last form, for all other numbers, has every value.
        assert placeholders(said[-1]) == placeholders(asked[-1]), message.id
        assert all(placeholders(form) <= placeholders(asked[-1]) for form in said), message.id
        assert not [form for form in said if "%" in re.sub(r"%\(\w+\)s", "", form)], message.id


@pytest.mark.parametrize("code", CODES)
def test_a_catalogue_is_read_as_babel_compiles_it(code: str) -> None:
    compiled_file = BytesIO()
    write_mo(compiled_file, written(LOCALE / f"{code}.po"))
    compiled_file.seek(0)
    compiled, ours = gettext.GNUTranslations(compiled_file), language(code).catalogue
    for message in sentences():
        if message.id:
            asked = forms(message.id)
            if len(asked) == 1:
                assert ours.gettext(asked[0]) == compiled.gettext(asked[0]) != ""
            else:
                one, many = asked
                for n in range(120):
                    assert ours.ngettext(one, many, n) == compiled.ngettext(one, many, n)


def test_plural_forms() -> None:
    def said(code: str, n: int) -> str:
        texts = "You have one attempt left.", "You have %(num)s attempts left."
        return language(code).catalogue.ngettext(*texts, n) % {"num": n}

    assert [said("pl", n) for n in (1, 2, 5)] == [
        "Pozostała jedna próba.",
        "Pozostały 2 próby.",
        "Pozostało 5 prób.",
    ]
    assert said("ar", 2) == "بقيت لكم محاولتان."
    assert said("ja", 1) == "あと1回お答えいただけます。"


def test_numbers_have_the_signs_of_the_language() -> None:
    long = sentence("Please shorten this to %(most)s characters.", most=10_000)
    assert long == "Please shorten this to 10,000 characters."
    assert language("de").say(long) == "Bitte kürzen Sie dies auf 10.000 Zeichen."
    assert language("fr").number(0.5) == "0,5"
    assert language("fr").number(1234) == "1\u202f234"
    assert language("en").number("+0.25") == "+0.25"
    assert ENGLISH.say("never translated") == language("he").say("never translated") == "never translated"


def test_a_language_without_pages_is_reported_with_its_key(tmp_path: Path) -> None:
    with pytest.raises(Problems, match="there are no pages in 'tlh'; available: en, ar, de") as error:
        study(tmp_path, language="tlh", languages=["de", "de", "xx"])
    assert "languages" in str(error.value)
    assert "duplicate language 'de'" in str(error.value)


def test_the_languages_of_a_study(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
    assert study(tmp_path / "a").languages == ("en",)
    assert study(tmp_path / "b", languages=["pt-BR", "en"]).languages == ("pt", "en")
    assert study(tmp_path / "c", language="de", languages=["ar", "en"]).languages == ("ar", "en")


def test_pages_that_are_never_in_the_language_of_the_questions(tmp_path: Path) -> None:
    with pytest.raises(Problems, match="languages: instrument 'mine' is written in 'en'; offer that, or translate it"):
        study(tmp_path, languages=["de", "fr"])


def test_an_answer_that_names_a_language_stays_as_it_is() -> None:
    hebrew = language("he")
    assert (hebrew.name, hebrew.say("English"), hebrew.say("1,234.5")) == ("עברית", "English", "1,234.5")
    named = replace(hebrew, texts={"English": "אנגלית"})
    assert (named.name, named.say("English")) == ("עברית", "אנגלית")
