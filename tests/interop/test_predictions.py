"""Predictions of every form as judgments: what is stored is read back and scores the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.perspective.conftest import made
from vantage import Corpus, InputError, Instrument, Scale
from vantage.interop.benchmark import read_predictions
from vantage.interop.predictions import predictions_in, with_predictions
from vantage.perspective import shared_task
from vantage.perspective.splits import people_pairs
from vantage.scales import OptOut


def ordinal(*, declined: bool = False) -> Corpus:
    corpus = made(6, 10, 10, labels=5)
    scale = Scale.labels(*"abcde", level="ordinal", opt_outs=[OptOut("ambiguous", "cannot tell")] if declined else [])
    asked = Instrument.of_questions("made", "Made", {"seen": scale})
    return Corpus(corpus.items, corpus.raters, corpus.judgments, asked)


def forms(corpus: Corpus, wide: int = 5) -> dict[str, pl.DataFrame]:
    rng = np.random.default_rng(1)
    pairs = people_pairs(corpus, "seen").select("item", "rater", "value")
    texts = pairs.select("item").unique(maintain_order=True)

    def drawn(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.with_columns(pl.Series("probabilities", rng.dirichlet(np.ones(wide), len(frame)).tolist()))

    labels = pairs.with_columns(value=pl.Series(rng.integers(5, size=len(pairs)).astype(float)))
    return {"labels": labels, "user distributions": drawn(pairs.drop("value")), "text distributions": drawn(texts)}


@pytest.mark.parametrize("form", ["labels", "user distributions", "text distributions"])
def test_what_is_stored_in_a_corpus_is_read_and_scored_as_before(form: str, tmp_path: Path) -> None:
    corpus = ordinal()
    given = forms(corpus)[form]
    with_predictions(corpus, given, "ours").write(tmp_path / "both")
    stored = read_predictions(tmp_path / "both", corpus, "seen")
    before, after = shared_task(given, corpus), shared_task(stored, corpus)
    assert before["form"][0] == after["form"][0] == form
    assert after["score"].to_list() == pytest.approx(before["score"].to_list())
    again = Corpus.read(tmp_path / "both")
    assert (
        people_pairs(again, "seen")
        .select("item", "rater", "value")
        .equals(people_pairs(corpus, "seen").select("item", "rater", "value"))
    )
    machines = again.raters.filter(pl.col("kind") == "trained")
    assert len(machines) == (1 if form == "text distributions" else 6)


def test_the_value_of_a_distribution_is_its_median_and_none_is_no_answer() -> None:
    corpus = ordinal()
    texts = people_pairs(corpus, "seen").select("item").unique(maintain_order=True)
    shares = [[0.4, 0.0, 0.2, 0.1, 0.3]] * 9 + [None]
    stored = with_predictions(corpus, texts.with_columns(pl.Series("probabilities", shares)), "ours")
    rows = stored.judgments.filter(rater="ours")
    assert rows["value"].to_list() == [2.0] * 9 + [None]
    assert rows["status"].cast(pl.String).to_list() == ["answered"] * 9 + ["failed"]
    assert shared_task(predictions_in(stored, "seen"), corpus)["unanswered"].to_list() == [1] * 5


def test_opt_outs_are_left_out_and_the_result_says_so() -> None:
    corpus = ordinal(declined=True)
    given = forms(corpus, wide=6)["text distributions"]
    shares = np.array(given["probabilities"].to_list())[:, :5]
    without = given.with_columns(pl.Series("probabilities", (shares / shares.sum(axis=1, keepdims=True)).tolist()))
    scored, expected = shared_task(given, corpus), shared_task(without, corpus)
    assert scored["score"].to_list() == pytest.approx(expected["score"].to_list())
    assert scored["read_as"][0] == "opt-outs left out"
    assert expected["read_as"][0] == ""


def test_shares_are_in_the_order_of_the_scale() -> None:
    corpus = made(6, 10, 10)
    falling = Scale.labels("a", "b").options[::-1]
    asked = Instrument.of_questions("made", "Made", {"seen": Scale(falling, "nominal")})
    turned = Corpus(corpus.items, corpus.raters, corpus.judgments, asked)
    texts = people_pairs(corpus, "seen").select("item").unique()
    frame = texts.with_columns(pl.Series("probabilities", [[0.2, 0.8]] * 10))
    other = texts.with_columns(pl.Series("probabilities", [[0.8, 0.2]] * 10))
    assert shared_task(frame, turned)["score"].to_list() == shared_task(other, corpus)["score"].to_list()


def test_answers_of_a_model_to_samples_are_a_distribution_of_the_text() -> None:
    corpus = made(6, 10, 10)
    items = people_pairs(corpus, "seen")["item"].unique(maintain_order=True)
    rows = [
        {"item": item, "question": "seen", "rater": "m", "value": value, "sample": n}
        for item in items
        for n, value in enumerate([1.0, 1.0, 0.0])
    ]
    rater = pl.DataFrame({"rater": ["m"], "kind": ["model"]})
    asked = corpus.add(pl.DataFrame(rows), rater)
    said = predictions_in(asked, "seen")
    assert said["probabilities"][0].to_list() == pytest.approx([1 / 3, 2 / 3])
    with pytest.raises(InputError, match="no model answered 'seen'"):
        predictions_in(corpus, "seen")
    two = asked.add(pl.DataFrame([{**rows[0], "rater": "n"}]), rater.with_columns(rater=pl.lit("n")))
    with pytest.raises(InputError, match="several models, such as m and n"):
        predictions_in(two, "seen")
    assert len(predictions_in(two, "seen", rater="m")) == 10


def test_a_name_or_kind_that_cannot_be_is_refused() -> None:
    corpus = made(6, 10, 10)
    given = forms(corpus, wide=2)["text distributions"]
    with pytest.raises(InputError, match="there is a rater 'p0' already"):
        with_predictions(corpus, given, "p0")
    with pytest.raises(InputError, match="'person' is not a kind of model"):
        with_predictions(corpus, given, "ours", kind="person")
