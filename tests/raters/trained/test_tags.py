from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vantage.raters.trained.network import Splitter

WORDS = ["the", "love", "it", "trump", "sucks", "men", "mental", "health", "a", "heal", "th"]
SPLIT = Splitter({word: place for place, word in enumerate(WORDS)})


def test_words_that_are_run_together_are_told_apart() -> None:
    assert SPLIT("#trumpsucks") == "# trump sucks"
    assert SPLIT("#LoveIt!") == "# Love It!"
    assert SPLIT("so #mentalhealth") == "so # mental health", "fewer and longer words, not men-tal or heal-th"


def test_what_is_no_tag_or_no_known_word_stays() -> None:
    assert SPLIT("trumpsucks @user #tcot #Ünïcode #2016") == "trumpsucks @user # tcot # Ünïcode # 2016"


def test_byte_level_and_sentence_piece_vocabularies_mark_their_words() -> None:
    for mark in ("Ġ", "▁"):
        split = Splitter({f"{mark}vote": 0, f"{mark}out": 1, "them": 2})
        assert split("#voteout #votethem") == "# vote out # votethem", "a piece inside of words is no word"


@given(st.text())
def test_nothing_is_lost_or_added_but_blanks(text: str) -> None:
    assert "".join(SPLIT(text).split()) == "".join(text.replace("_", " ").split()) or "_" in text
