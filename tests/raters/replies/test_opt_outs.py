from __future__ import annotations

import pytest

from vantage.raters.replies.opt_outs import phrase, read_opt_out
from vantage.scales import OptOut, Scale

SILENT = Scale.points(1, 9, opt_outs=[OptOut("not_mentioned", "not said: the text is silent")])
UNCLEAR = Scale.labels("no", "yes", opt_outs=[OptOut("ambiguous", "ambiguous: it cannot be told")])


@pytest.mark.parametrize("text", ["NA", "n/a", "N.A.", "not said", "Not Applicable", "not_mentioned", "not addressed"])
def test_names_of_silence(text: str) -> None:
    reading = read_opt_out(text, 0, SILENT)
    assert reading is not None
    assert reading.opt_out == "not_mentioned"


@pytest.mark.parametrize("text", ["NASA", "nah", "not", "N", "nA"])
def test_words_that_only_look_like_it(text: str) -> None:
    assert read_opt_out(text, 0, SILENT) is None


def test_an_opt_out_that_is_not_offered() -> None:
    for text, scale in [("NA", UNCLEAR), ("ambiguous", SILENT), ("NA", Scale.points(1, 5))]:
        reading = read_opt_out(text, 0, scale)
        assert reading is not None
        assert (reading.form, reading.usable) == ("no-opt-out", False)


@pytest.mark.parametrize(
    ("sentence", "scale", "status"),
    [
        ("The post doesn't mention other people", SILENT, "not_mentioned"),
        ("I don't think norms were addressed in this text", SILENT, "not_mentioned"),
        ("There is not enough information", SILENT, "not_mentioned"),
        ("If the text doesn't mention it, mark NA", SILENT, None),
        ("They don't mention me", SILENT, None),
        ("This cannot be determined from the text", UNCLEAR, "ambiguous"),
        ("The post doesn't mention it", Scale.points(1, 5), None),
    ],
)
def test_phrases(sentence: str, scale: Scale, status: str | None) -> None:
    reading = phrase(sentence, scale)
    assert (reading.opt_out if reading else None) == status
