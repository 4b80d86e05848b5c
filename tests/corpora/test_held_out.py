"""Tables that were not made for the reader: what is read is right, or reading stops with a question."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.corpora.held_out import SHAPES, Cell, Draw, Drawn, unnamed
from tests.often import times
from vantage import Corpus
from vantage.corpora.preview import attempts
from vantage.corpora.readers.table import read
from vantage.scales import show_code


def said(corpus: Corpus, drawn: Drawn) -> Counter[Cell]:
    """What a corpus says, in the words of the generator."""
    several = len({question for question, *_ in drawn.truth}) > 1
    names = {q.id: {o.code: o.name for o in q.scale.options} for q in corpus.questions}
    kinds = dict(corpus.raters.select("rater", "kind").iter_rows())
    members = (
        {i: (str(a), str(b)) for i, a, b in corpus.items.select("item", "item_1", "item_2").iter_rows()}
        if drawn.shape == "pairs" and "item_1" in corpus.items.columns
        else {}
    )
    # Without an id equal texts are one item, and are known by their text.
    texts = dict(corpus.items.select("item", "text").iter_rows()) if "text" in corpus.items.columns else {}
    cells: Counter[Cell] = Counter()
    for question, item, rater, value in corpus.judgments.select("question", "item", "rater", "value").iter_rows():
        if value is None:
            continue
        answer = names[question].get(value, show_code(value))
        who = rater if kinds[rater] == "person" else ""
        if item in members:
            answer, item = members[item][int(value) - 1], " | ".join(sorted(members[item]))  # noqa: PLW2901
        cells[question if several else "", texts.get(item, item), who, answer if drawn.shape != "shares" else ""] += 1
    return cells


def outcome(drawn: Drawn, folder: Path) -> str:
    """Whether a table was read rightly, or wrongly, asked about with the right reading, or refused."""
    drawn.frame.write_csv(path := folder / "t.csv")
    seen, tried = attempts(path)
    right = [attempt.corpus is not None and said(attempt.corpus, drawn) == drawn.truth for attempt in tried]
    if seen["problem"] or seen["doubt"]:
        return "asked" if any(right) else "only wrong" if tried else "refused"
    return "right" if right[0] else f"wrong: {seen['command']}"


def outcomes(shape: str, seeds: range, folder: Path) -> Counter[str]:
    """How often tables were read right or ended in a question; fails where one is read wrong."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        drawn = Draw(shape, seed).drawn()
        result = outcome(drawn, folder)
        assert not result.startswith("wrong"), f"{shape} {seed} {result}"
        counts[result] += 1
        if drawn.options:
            assert said(read(folder / "t.csv", **drawn.options), drawn) == drawn.truth, f"{shape} {seed}"
    return counts


@pytest.mark.parametrize("shape", SHAPES)
def test_some_tables_of_every_shape(shape: str, tmp_path: Path) -> None:
    assert outcomes(shape, range(1000, 1003), tmp_path).total() == 3, "none was read wrong"


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_many_tables_of_every_shape(shape: str, tmp_path: Path) -> None:
    count = times(200, 25)
    seen = outcomes(shape, range(count), tmp_path)
    if shape not in ("counts", "shares", "anonymous", "lists"):
        # Their names say nothing, so that most of them need a question.
        assert seen["right"] > 0.02 * count, seen
        assert seen["right"] + seen["asked"] > 0.5 * count, seen


def few_without_names(shape: str, seeds: range, folder: Path) -> Counter[str]:
    """What became of tables of a few rows whose columns are called c1 … cn."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        drawn = unnamed(Draw(shape, seed, small=True).drawn())
        counts[outcome(drawn, folder).partition(":")[0]] += 1
    return counts


@pytest.mark.parametrize("shape", SHAPES)
def test_small_tables_without_names_are_not_read_wrong(shape: str, tmp_path: Path) -> None:
    seen = few_without_names(shape, range(5000, 5004), tmp_path)
    assert not seen["wrong"], seen


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_what_small_tables_without_names_offer_has_the_right_reading(shape: str, tmp_path: Path) -> None:
    count = times(200, 40)
    seen = few_without_names(shape, range(count), tmp_path)
    assert not seen["wrong"], seen
    # Of a handful of rows anything may be met by chance, such as an answer that is the same about every item.
    assert seen["only wrong"] <= 0.01 * count, seen
