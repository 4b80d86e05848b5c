from __future__ import annotations

from vantage.raters.replies.copied import COPIED, copied, masked, restated, scale_echoes
from vantage.scales import Scale

SCALE = Scale.points(1, 9, anchors={1: "not at all fair", 9: "completely fair"})


def echoes(text: str) -> list[str]:
    return [text[start:end] for start, end in scale_echoes(text, SCALE)]


def test_masks_keep_length_and_lines() -> None:
    assert masked("ab\ncd", [(1, 4), (0, 2)], COPIED) == f"{COPIED * 2}\n{COPIED}d"


def test_five_words_in_a_row_are_copied() -> None:
    source = "We drove home through the rain that night."
    reply = "They write: drove home through the RAIN, how sad."
    assert [reply[start:end] for start, end in copied(reply, source)] == ["drove home through the RAIN"]
    assert copied("drove home through", source) == []


def test_a_rating_is_not_copied_from_a_common_word() -> None:
    assert copied("I say it is a 5", "It is a 5 to them.") == []
    assert copied("rating of 5", "a drop of 5") == []
    assert copied("COVID-19", "since COVID-19 came") == [(6, 8)]


def test_echoes_of_the_scale() -> None:
    assert echoes("on a scale from 1 to 9, a 4") == ["on a scale from 1 to 9"]
    assert echoes("Rating (1-9): 4") == ["1-9"]
    assert echoes("1 being bad, a 4") == ["1 being"]
    assert echoes("1 to 3") == []
    assert echoes("on a scale of 1 to 10, a 4") == ["on a scale of 1 to 10"]


def test_a_question_that_is_asked_again_is_recognised() -> None:
    ask = 'How fair did they find what came to pass in the end, from 1, "not at all fair", to 9, "completely fair"?'
    text = f"4\n{ask}\nnot at all fair"
    (span,) = restated(text, ask)
    assert text[span[0] : span[1]] == ask[:-2]
    assert restated("not at all fair", ask) == []
