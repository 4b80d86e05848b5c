"""Detection without a model: what words and length tell, never learned from the item itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from vantage import Instrument
from vantage.context import SURFACE, Detected, Judging, by_surface, compare, votes
from vantage.corpora.readers import load
from vantage.errors import InputError

QUESTION = Instrument.load("sarcasm").questions[0]


def example(n: int = 40) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Statements whose word "maybe" divides people, and their votes."""
    texts = [
        f"{'maybe' if k % 2 else 'surely'} the {word} of {k % 5}" for k, word in enumerate(["cat", "dog"] * (n // 2))
    ]
    items = pl.DataFrame({"item": [f"i{k}" for k in range(n)], "text": [f"{t} number{k}" for k, t in enumerate(texts)]})
    shares = [[0.5, 0.5, 0.0] if k % 2 else [1.0, 0.0, 0.0] for k in range(n)]
    return items, items.select("item").with_columns(
        pl.Series("shares", shares), pl.Series("doubt", [0.5 if k % 2 else 0.0 for k in range(n)])
    )


def test_words_that_divide_people_are_learned_from_other_items() -> None:
    items, told = example()
    score = by_surface(items, told, "words-doubt")["score"].to_numpy()
    assert score[1::2].min() > score[::2].max()


def test_nothing_is_learned_from_the_same_text_under_another_id() -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdefgh"), 3)) + f" w{n}" for n in range(20)]
    doubt = rng.integers(0, 2, 20) / 2
    items = pl.DataFrame({"item": [f"i{n}" for n in range(40)], "text": texts * 2})
    told = items.select("item").with_columns(
        pl.Series("doubt", np.tile(doubt, 2)), pl.Series("shares", [[1 - d, d, 0.0] for d in np.tile(doubt, 2)])
    )
    once = by_surface(items, told, "words-doubt")["score"].to_numpy()
    assert once[:20].tolist() == pytest.approx(once[20:].tolist())
    assert abs(float(np.corrcoef(once[:20], doubt)[0, 1])) < 0.9


def test_the_average_answer_orders_nothing_and_has_a_distribution() -> None:
    items, told = example()
    found = by_surface(items, told, "constant")
    assert found["score"].n_unique() == 1
    assert np.array(found["shares"].to_list()).mean(axis=0) == pytest.approx([0.75, 0.25, 0.0])


def test_an_item_without_text_is_counted_and_bad_input_is_named() -> None:
    items, told = example()
    found = by_surface(
        items.with_columns(text=pl.when(pl.col("item") == "i3").then(pl.lit(" ")).otherwise("text")),
        told,
        "length",
    )
    assert Detected("length", found).unscored == {"the item has no text": 1}
    with pytest.raises(InputError, match="did you mean 'words-doubt'"):
        by_surface(items, told, "words")
    with pytest.raises(InputError, match="3 items with votes are too few for 5 folds"):
        by_surface(items, told.head(3), "constant")


@pytest.mark.data
@pytest.mark.slow
def test_words_hardly_tell_which_tweets_divide_readers(data_dir: Path) -> None:
    corpus = load("isarcasm", data_dir / "social-cognition" / "isarcasmeval")
    told = votes(corpus, corpus.question("sarcasm"))
    assert dict(told["doubt"].round(1).value_counts().iter_rows()) == {0.0: 726, 0.2: 384, 0.4: 290}
    found = [Detected(name, by_surface(corpus.items, told, name)) for name in SURFACE]
    table = compare(found, told, QUESTION.scale, Judging(resamples=50))
    auc = dict(table.select("method", "auc").iter_rows())
    assert auc["constant"] == 0.5
    assert auc["words-doubt"] == pytest.approx(0.553, abs=0.005)
    assert auc["length"] == pytest.approx(0.526, abs=0.005)
    assert dict(table.select("method", "jsd").iter_rows())["constant"] == pytest.approx(0.093, abs=0.001)
