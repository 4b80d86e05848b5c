"""Every item shape of the bundled instruments is drawn, with the target and the statement marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage.collect.web.item_view import Span, marked, panels
from vantage.instruments import Instrument, bundled


@pytest.mark.parametrize("name", bundled())
def test_every_worked_example_is_drawn_whole(name: str) -> None:
    instrument = Instrument.load(name)
    for example in instrument.examples:
        drawn = panels(instrument, example.item, example.condition)
        assert [panel.name for panel in drawn] == [field.name for field in instrument.shown(example.condition)]
        for panel in drawn:
            content = example.item[panel.name]
            if panel.kind == "conversation":
                assert [(t.speaker, "".join(s.text for s in t.spans)) for t in panel.turns] == [
                    (turn["speaker"], turn["text"].strip()) for turn in content
                ]
            else:
                assert "".join(span.text for span in panel.spans) == str(content).strip()


def test_the_statement_is_marked_in_the_conversation() -> None:
    sarcasm = Instrument.load("sarcasm")
    example = sarcasm.examples[3]
    conversation, statement = panels(sarcasm, example.item, "context")
    assert [turn.marked for turn in conversation.turns] == [False, True]
    assert statement.spans == (Span("Well, that went smoothly."),)


def test_a_statement_inside_a_turn_is_marked_there() -> None:
    sarcasm = Instrument.load("sarcasm")
    conversation, _ = panels(sarcasm, sarcasm.examples[4].item, "context")
    assert conversation.turns[1].spans[0] == Span("Well, that went smoothly.", marked=True)


def test_a_short_statement_is_marked_only_where_it_stands_alone() -> None:
    item = {"conversation": [{"speaker": "A", "text": "Yes or no?"}, {"speaker": "B", "text": "yes"}], "text": "Yes"}
    conversation, _ = panels(Instrument.load("sarcasm"), item, "context")
    assert [turn.marked for turn in conversation.turns] == [False, True]


def test_the_judged_message_of_a_conversation_by_itself_is_marked() -> None:
    item = {
        "conversation": [{"speaker": "User", "text": "Hi"}, {"speaker": "User", "text": "Go away"}],
        "text": "Go away",
    }
    (conversation,) = panels(Instrument.load("conversation-abuse"), item)
    assert [turn.marked for turn in conversation.turns] == [False, True]


def test_a_conversation_may_be_a_script() -> None:
    item = {"conversation": "A: Hello\nB: Fine.", "text": "Fine."}
    conversation, _ = panels(Instrument.load("sarcasm"), item, "context")
    assert conversation.kind == "text"
    assert Span("Fine.", marked=True) in conversation.spans


def test_missing_fields_and_plain_turns() -> None:
    assert panels(Instrument.load("sarcasm"), {"text": "Hm.", "conversation": None}) == panels(
        Instrument.load("sarcasm"), {"text": "Hm.", "conversation": []}
    )
    (conversation,) = panels(Instrument.load("conversation-abuse"), {"conversation": ["Hello"], "text": None})
    assert conversation.turns[0].speaker == ""


@pytest.mark.parametrize(
    ("text", "target", "found"),
    [
        ("قال الوزير كلمة", "الوزير", ["الوزير"]),
        ("東京都知事は約束を守った。", "知事", ["知事"]),
        ("The  new\nmayor left", "the new mayor", ["The  new\nmayor"]),
        ("An artist", "art", []),
        ("C++ is old", "C++", ["C++"]),
        ("a.b axb", "a.b", ["a.b"]),
    ],
)
def test_targets_of_any_script_are_found_as_whole_words(text: str, target: str, found: list[str]) -> None:
    assert [span.text for span in marked(text, [target]) if span.marked] == found


@given(st.text(max_size=80), st.lists(st.text(max_size=10), max_size=3))
def test_marking_loses_no_character(text: str, wanted: list[str]) -> None:
    assert "".join(span.text for span in marked(text, wanted)) == text
