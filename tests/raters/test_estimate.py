from __future__ import annotations

from pathlib import Path

import pytest

from vantage import ChatRater, InputError, Instrument, Personas, demo_corpus
from vantage.raters.estimate import estimate, read_prices

INSTRUMENT = Instrument.load("warmth-competence")


def test_calls_are_counted_exactly() -> None:
    corpus = demo_corpus()
    for style, samples, calls in (
        ("zero-shot", 1, 90),
        ("zero-shot", 5, 450),
        ("together", 1, 30),
        ("two-step", 1, 180),
    ):
        found = estimate(ChatRater("openai:x", style, samples=samples), corpus, INSTRUMENT)
        assert found.calls == calls, style
        assert found.prompt_tokens > 100 * found.calls
    one = estimate(ChatRater("openai:x"), corpus, INSTRUMENT, questions=["trust"])
    assert one.calls == 30
    ada = Personas.load("pool")[0]
    selective = estimate(
        ChatRater("openai:x", "selective-persona", persona=ada), corpus, INSTRUMENT, questions=["trust"]
    )
    assert selective.calls == 60


def test_cost_is_known_where_the_price_is(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("openai:x: {input: 2.0, output: 10.0}\n", encoding="utf-8")
    prices = read_prices(path)
    found = estimate(ChatRater("openai:x"), demo_corpus(), INSTRUMENT, prices=prices)
    assert found.cost == pytest.approx((found.prompt_tokens * 2 + found.completion_tokens * 10) / 1e6)
    assert estimate(ChatRater("openai:y"), demo_corpus(), INSTRUMENT, prices=prices).cost is None
    assert estimate(ChatRater("embedded"), demo_corpus(), INSTRUMENT).cost == 0


@pytest.mark.parametrize(
    "text", ["openai:x: cheap\n", "openai:x: {input: free, output: 1}\n", "- a\n", "openai:x: {input: 1}\n"]
)
def test_a_bad_price_file_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"prices\.yaml"):
        read_prices(path)
