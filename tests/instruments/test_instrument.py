from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage import Instrument, Scale
from vantage.errors import InputError, Problems
from vantage.instruments.document import json_schema

GOOD: dict[str, Any] = {
    "id": "kindness",
    "version": 2,
    "title": "Kindness",
    "description": "How kind a remark is.",
    "parameters": {"who": "most people"},
    "fields": [{"name": "text", "title": "Remark"}, {"name": "target", "title": "To whom", "kind": "target"}],
    "conditions": {"static": {"shows": ["text"]}, "context": {"shows": ["target", "text"]}},
    "guidelines": "Answer as {who} would.",
    "scales": {
        "five": {"level": "ordinal", "from": 1, "to": 5, "anchors": {1: "cruel", 5: "kind"}},
        "choice": {
            "level": "nominal",
            "options": [{"code": 0, "label": "no"}, {"code": 1, "label": "yes"}],
            "opt_outs": {"ambiguous": "cannot tell"},
        },
    },
    "questions": [
        {"id": "kind", "title": "Kind", "ask": "How kind is this to {target}?", "scale": "five"},
        {
            "id": "meant",
            "title": "Meant",
            "ask": "Is it meant?",
            "ask_in": {"context": "Is it meant here?"},
            "scale": "choice",
        },
        {"id": "warm", "title": "Warm", "ask": "How warm is it?", "scale": "five", "anchors": {1: "icy"}},
    ],
    "forms": {"short": {"title": "Kindness, short", "questions": ["kind"]}},
    "aggregates": [{"id": "both", "title": "Both", "mean_of": ["kind", "warm"], "reversed": ["warm"]}],
    "examples": [
        {
            "item": {"text": "Well done.", "target": "Ann"},
            "answers": {
                "kind": {"answer": 4, "reason": "It praises."},
                "meant": {"answer": "ambiguous", "reason": "The tone is not known."},
            },
        }
    ],
    "checks": [{"id": "five", "instruction": "Choose 5.", "question": "kind", "accept": [5]}],
}


def changed(**changes: Any) -> dict[str, Any]:
    return {**GOOD, **changes}


def test_an_instrument_resolves_scales_anchors_and_parameters() -> None:
    instrument = Instrument.from_document(GOOD)
    assert instrument.guidelines == "Answer as most people would."
    assert instrument.question("warm").scale.label(1) == "icy"
    assert instrument.question("kind").scale.label(1) == "cruel"
    assert instrument.question("meant").scale.opt_outs[0].label == "cannot tell"
    assert instrument.question("kind").wording(target="Ann") == "How kind is this to Ann?"
    assert instrument.question("meant").wording("context") == "Is it meant here?"
    assert instrument.question("meant").wording("static") == "Is it meant?"
    assert [field.name for field in instrument.shown("context")] == ["target", "text"]
    assert [field.name for field in instrument.shown()] == ["text", "target"]


def test_text_that_looks_like_a_placeholder_is_not_filled_twice() -> None:
    wording = Instrument.from_document(GOOD).question("kind").wording(target="{who} {0} {target}")
    assert wording == "How kind is this to {who} {0} {target}?"


def test_doubled_braces_stand_for_themselves_however_often_text_is_filled() -> None:
    asked = {**GOOD["questions"][0], "ask": "Is {{x}} said by {who} to {target}?"}
    instrument = Instrument.from_document(changed(questions=[asked], forms={}, aggregates=[], examples=[], checks=[]))
    assert instrument.questions[0].wording(target="{Ann}") == "Is {x} said by most people to {Ann}?"


def test_a_form_has_its_own_order_and_scores() -> None:
    scores = [{"id": "both", "title": "Both", "mean_of": ["warm"]}]
    forms = {"two": {"title": "Two", "questions": ["warm", "kind"], "aggregates": scores}}
    two = Instrument.from_document(changed(forms=forms)).form("two")
    assert [q.id for q in two.questions] == ["warm", "kind"]
    assert two.aggregates[0].members == ("warm",)


def test_the_plain_data_make_the_same_instrument_again() -> None:
    instrument = Instrument.from_document(GOOD)
    assert Instrument.from_document(instrument.document) == instrument
    assert Instrument.from_document(changed(version=3)) != instrument


def test_a_form_keeps_only_what_belongs_to_its_questions() -> None:
    short = Instrument.from_document(GOOD).form("short")
    assert short.id == "kindness-short"
    assert [q.id for q in short.questions] == ["kind"]
    assert short.aggregates == ()
    assert list(short.examples[0].answers) == ["kind"]
    with pytest.raises(InputError, match="did you mean 'short'"):
        Instrument.from_document(GOOD).form("shrt")


def test_parameters_change_the_wording() -> None:
    other = Instrument.from_document(GOOD).with_parameters(who="a child")
    assert other.guidelines == "Answer as a child would."
    with pytest.raises(InputError, match="no parameter 'whom'"):
        other.with_parameters(whom="x")


BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"titel": "x"}, "titel: there is no such key"),
    ({"version": 0}, "version: should be greater than or equal to 1"),
    ({"id": "A B"}, "id: use lower-case letters"),
    ({"questions": []}, "questions: list should have at least 1 item"),
    (
        {"questions": [*GOOD["questions"], GOOD["questions"][0]]},
        r"questions\[4\]: the question 'kind' is already defined",
    ),
    ({"questions": [{**GOOD["questions"][0], "scale": "fife"}]}, "no scale 'fife'; did you mean 'five'"),
    (
        {"questions": [{**GOOD["questions"][0], "ask": "To {targte}?"}]},
        "{targte} is neither a field nor a parameter",
    ),
    ({"questions": [{**GOOD["questions"][0], "ask": "To {target?"}]}, "a brace is not closed"),
    ({"questions": [{**GOOD["questions"][0], "anchors": {9: "x"}}]}, "9 is not on the scale 1…5"),
    (
        {"questions": [{**GOOD["questions"][0], "ask_in": {"nowhere": "?"}}]},
        "there is no condition 'nowhere'",
    ),
    ({"scales": {**GOOD["scales"], "x": {"level": "ordinal"}}}, r"scales\.x: give either 'options'"),
    (
        {"scales": {**GOOD["scales"], "x": {"level": "ordinal", "from": 1.5, "to": 3}}},
        "must be whole numbers",
    ),
    (
        {"scales": {**GOOD["scales"], "x": {"level": "ordinal", "from": 1, "to": 3, "anchors": {4: "y"}}}},
        "anchor 4",
    ),
    (
        {"conditions": {"static": {"shows": ["txt"]}, "context": {"shows": ["text"]}}},
        "there is no field 'txt'",
    ),
    ({"forms": {"short": {"title": "S", "questions": ["knd"]}}}, "there is no question 'knd'"),
    ({"aggregates": [{"id": "kind", "title": "K", "mean_of": ["warm"]}]}, "already names a question"),
    ({"aggregates": [{"id": "a", "title": "K", "mean_of": ["b"]}]}, "there is no question 'b'"),
    ({"checks": [{**GOOD["checks"][0], "accept": [7]}]}, "7 is not on the scale"),
    (
        {"examples": [{"item": {"txt": "x"}, "answers": {"kind": {"answer": 9, "reason": "r"}}}]},
        r"examples\[1\]\.answers\.kind\.answer: 9 is not on the scale",
    ),
    (
        {"examples": [{"item": {"text": "x"}, "answers": {"kind": {"answer": 1, "reason": "r"}}}]},
        "'target' is missing",
    ),
    (
        {"examples": [{"item": {"text": ["x"]}, "answers": {"kind": {"answer": 1, "reason": "r"}}}]},
        r"examples\[1\]\.item\.text: this should be text",
    ),
    (
        {"examples": [{"item": {"text": "x"}, "answers": {"kind": {"answer": "ambiguous", "reason": "r"}}}]},
        "has no opt-out 'ambiguous'",
    ),
]


@pytest.mark.parametrize(("change", "problem"), BROKEN)
def test_each_fault_is_told_with_its_place(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(Problems, match=problem):
        Instrument.from_document(changed(**change))


def test_all_problems_are_reported_at_once_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "id: mine\nversion: 1\ntitel: Mine\ndescription: d\nfields: [{name: text, title: Text}]\nguidelines: g\n"
        "scales:\n  five: {level: ordinal, from: 1, to: 5}\n  odd: {level: nominal, from: 2, to: 1}\nquestions:\n"
        "  - {id: a, title: A, ask: 'A {x}?', scale: five}\n  - {id: b, ask: B, scale: five}\n"
        "  - {id: a, title: C, ask: C, scale: fiv}\n",
        encoding="utf-8",
    )
    with pytest.raises(Problems) as caught:
        Instrument.load(path)
    told = "\n".join(caught.value.problems)
    for line, part in (
        (3, "titel"),
        (9, "scales.odd"),
        (11, "{x}"),
        (12, "questions[2].title"),
        (13, "already defined"),
    ):
        assert any(f"line {line}," in problem and part in problem for problem in caught.value.problems), told
    assert "no scale 'fiv'" in told
    assert "title: this is missing" in told


@pytest.mark.parametrize("text", ["", "- 1\n- 2\n", "just words", "3"])
def test_a_file_that_is_not_a_mapping_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(Problems, match="not a mapping"):
        Instrument.load(path)


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'sarcasm'"):
        Instrument.load("sarcsm")


def test_a_bare_instrument_keeps_the_names_of_a_table() -> None:
    instrument = Instrument.of_questions("t", "T", {"How {nice}?": Scale.points(1, 5), "B": Scale.continuous(0, 1)})
    assert [q.id for q in instrument.questions] == ["How {nice}?", "B"]
    assert instrument.question("How {nice}?").wording() == "How {nice}?"
    assert instrument.question("B").scale == Scale.continuous(0, 1)


def test_the_shipped_json_schema_is_the_generated_one() -> None:
    shipped = (resources.files("vantage.instruments") / "schema.json").read_text("utf-8")
    assert shipped == json_schema(), "run: python -m vantage.instruments.document > src/vantage/instruments/schema.json"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=6), children, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(GOOD)), json_values)
def test_no_malformed_part_escapes_as_another_error(key: str, value: Any) -> None:
    try:
        instrument = Instrument.from_document(changed(**{key: value}))
    except InputError as error:
        assert str(error)
    else:
        assert instrument.questions
