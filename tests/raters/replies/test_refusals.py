from __future__ import annotations

import pytest

from vantage.raters.replies.refusals import refuses


@pytest.mark.parametrize(
    "text",
    [
        "I cannot answer that.",
        "I do not feel comfortable recommending for or against revenge.",
        "I don't possess feelings or experiences, so I cannot agree or disagree with that statement.",
        "I can't rate this.",
        "I won't make such generalizations.",
        "I'm unable to provide a rating.",
        "I am not able to judge people by their religion.",
        "Sorry, I can't help with that.",
        "I'm sorry, but I do not have enough to go on.",
        "As an AI language model, I have no opinion.",
        "I'm just an AI and do not judge.",
        "It would be inappropriate to rate them.",
        "It's not appropriate to stereotype.",
        "It is not fair to generalize about millions of people.",
        "This goes against my guidelines.",
        "I don't have personal opinions on groups.",
        "I don't know how to answer this question.",
        "They say nothing of it, so I can't rate it.",
        "I don't know enough about them to give an answer.",
        "I respectfully decline to answer.",
    ],
)
def test_refusals(text: str) -> None:
    assert refuses(text)


@pytest.mark.parametrize(
    "text",
    [
        "I cannot stop crying.",
        "I'm sorry this happened to you.",
        "I can't help but laugh.",
        "I couldn't make it to the party.",
        "I can't say for sure, but it seems fair.",
        "They refuse to get tested.",
        "I don't know how to answer this, but I would guess somewhat.",
        "",
    ],
)
def test_no_refusals(text: str) -> None:
    assert not refuses(text)
