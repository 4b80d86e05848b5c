from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage.documents import Document, dump
from vantage.errors import InputError


def test_words_that_older_yaml_reads_as_true_or_false_stay_words() -> None:
    document = Document.parse("labels: [no, yes, on, off, 2024-01-01, 012, 0x1f, ~, true, 1.5, -3]")
    assert document.data["labels"] == [
        "no",
        "yes",
        "on",
        "off",
        "2024-01-01",
        12,
        "0x1f",
        None,
        True,
        1.5,
        -3,
    ]


def test_every_value_knows_its_line() -> None:
    document = Document.parse("a: 1\nb:\n  - x\n  - y: 2\n")
    assert document.line(("a",)) == 1
    assert document.line(("b", 1, "y")) == 4
    assert document.line(("b", 0, "nothing", "here")) == 3


def test_a_key_that_stands_twice_is_a_problem() -> None:
    document = Document.parse("a: 1\nb: 2\na: 3\n")
    with pytest.raises(InputError, match="line 1, a: duplicate key 'a'"):
        document.check()


@pytest.mark.parametrize("text", ["a: [", "a: b: c", "\t- x", "a: &x [*x]", "a: *nothing"])
def test_what_is_not_yaml_is_told_in_one_sentence(text: str) -> None:
    with pytest.raises(InputError, match="this is not valid YAML"):
        Document.parse(text, "a.yaml")


def test_a_python_tag_builds_nothing() -> None:
    assert Document.parse("a: !!python/object/apply:os.system ['echo']").data == {"a": ["echo"]}


def test_an_alias_bomb_is_refused_quickly() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    with pytest.raises(InputError, match="nested too deeply"):
        Document.parse(bomb)


@given(st.binary(max_size=300))
def test_no_bytes_escape_as_a_traceback(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(data)
    try:
        document = Document.read(path)
    except InputError as error:
        assert "a.yaml" in str(error)
    else:
        assert document.file == str(path)


@given(st.text(max_size=300))
def test_no_text_escapes_as_a_traceback(text: str) -> None:
    try:
        document = Document.parse(text)
    except InputError as error:
        assert str(error)
    else:
        assert isinstance(document.lines, dict)


def test_missing_and_misencoded_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        Document.read(tmp_path / "absent.yaml")
    path = tmp_path / "latin.yaml"
    path.write_bytes("a: 1\nb: caf\xe9\n".encode("latin-1"))
    with pytest.raises(InputError, match="row 2: the file is not UTF-8"):
        Document.read(path)


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("abcdefg-_ 19", min_size=1, max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(plain)
def test_what_is_dumped_is_parsed_again(data: object) -> None:
    assert Document.parse(dump({"data": data})).data == {"data": data}


@pytest.mark.parametrize(
    "text", ["1e5", "1_000", "0x1f", "no", "~", "", " x ", "2024-01-01", "1:30", "+3", ".5", "12e", "- a"]
)
def test_text_that_looks_like_something_else_stays_text(text: str) -> None:
    assert Document.parse(dump([text])).data == [text]
