from __future__ import annotations

from typing import Any

from vantage import Instrument, Scale
from vantage.instruments import bundled
from vantage.raters.answers import answer_schema, choices, listed, words
from vantage.scales import Option, OptOut


def test_nominal_scales_are_answered_in_words_and_ordered_ones_in_numbers() -> None:
    sarcasm = Instrument.load("sarcasm").questions[0].scale
    assert [(c.word, c.value, c.status) for c in choices(sarcasm)] == [
        ("no", 0, "answered"),
        ("yes", 1, "answered"),
        ("ambiguous", None, "ambiguous"),
    ]
    appraisal = Instrument.load("appraisals").questions[0].scale
    assert [c.word for c in choices(appraisal)] == [*"123456789", "not mentioned"]


def test_the_answers_are_listed_with_their_meaning() -> None:
    scale = Scale.points(1, 3, anchors={1: "low", 3: "high"}, opt_outs=[OptOut("ambiguous", "it cannot be told")])
    assert listed(scale) == "1 = low\n2\n3 = high\nambiguous = it cannot be told"
    assert words(scale) == "1, 2, 3 or ambiguous"
    assert words(Scale.continuous(0, 100)) == "a number from 0 to 100"
    assert "any number from 0 to 100" in listed(Scale.continuous(0, 100))


def test_short_ordered_scales_with_labels_are_answered_by_label() -> None:
    scale = Scale((Option(-1, "against"), Option(0, "neutral"), Option(1, "favoring")))
    assert [c.word for c in choices(scale)] == ["against", "neutral", "favoring"]


def test_the_words_of_every_bundled_question_are_distinct() -> None:
    for name in bundled():
        for question in Instrument.load(name).questions:
            told = [c.word.casefold() for c in choices(question.scale)]
            assert len(set(told)) == len(told), (name, question.id)


def test_a_schema_admits_the_answers_and_nothing_else() -> None:
    instrument = Instrument.load("warmth-competence")
    one = answer_schema([instrument.question("trust")], reason=True, together=False)
    assert list(one["properties"]) == ["reason", "answer"]
    assert one["properties"]["answer"] == {"type": "integer", "enum": [-3, -2, -1, 0, 1, 2, 3]}
    both = answer_schema(instrument.questions, reason=False, together=True)
    assert both["required"] == ["trust", "sociability", "competence"]
    slider = answer_schema(
        Instrument.of_questions("s", "S", {"s": Scale.continuous(0, 1)}).questions,
        reason=False,
        together=False,
    )
    assert slider["properties"]["answer"] == {"type": "number", "minimum": 0, "maximum": 1}


def _untyped(schema: Any) -> list[Any]:
    """The parts of a schema that strict servers refuse: those without a type, and objects that are open."""
    if not isinstance(schema, dict):
        return []
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    wrong = [part for one in inner for part in _untyped(one)]
    if "anyOf" not in schema and not isinstance(schema.get("type"), str):
        wrong.append(schema)
    if schema.get("type") == "object" and (
        schema.get("additionalProperties") is not False or set(schema["required"]) != set(schema["properties"])
    ):
        wrong.append(schema)
    kinds: dict[str, Any] = {"string": str, "integer": int, "number": (int, float)}
    wrong += [schema for word in schema.get("enum", ()) if not isinstance(word, kinds[schema["type"]])]
    return wrong


def test_every_bundled_schema_has_types_as_strict_servers_want() -> None:
    checked = 0
    for name in bundled():
        instrument = Instrument.load(name)
        for reason in (True, False):
            schemas = [answer_schema(instrument.questions, reason=reason, together=True)]
            schemas += [answer_schema([question], reason=reason, together=False) for question in instrument.questions]
            assert [part for schema in schemas for part in _untyped(schema)] == []
            checked += len(schemas)
    assert checked > 100
