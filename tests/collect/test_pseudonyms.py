from __future__ import annotations

from vantage.collect.private import code_of, password_hash, password_matches, pseudonym


def test_names_depend_on_key_platform_and_person() -> None:
    one, two = "11" * 32, "22" * 32
    names = {
        pseudonym(key, source, id_) for key in (one, two) for source in ("prolific", "mturk") for id_ in ("a", "b")
    }
    assert len(names) == 8
    assert pseudonym(one, "prolific", "a") == pseudonym(one, "prolific", "a")
    assert all(name != "a" and len(name) == 14 for name in names)


def test_codes_differ() -> None:
    key = "33" * 32
    assert code_of(key, "p-a") != code_of(key, "p-b")


def test_passwords_are_salted_and_compared() -> None:
    first, second = password_hash("geheim!"), password_hash("geheim!")
    assert first != second
    assert password_matches("geheim!", first)
    assert not password_matches("geheim?", first)
    assert not password_matches("x", "plain:x")
