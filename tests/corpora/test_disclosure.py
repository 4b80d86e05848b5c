"""Traits that single out a person are noticed before they are given away."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

import vantage
from vantage import Corpus, InputError, Instrument, Scale, export
from vantage.corpora.disclosure import DisclosureWarning, guard, risk


def corpus_of(raters: pl.DataFrame) -> Corpus:
    judgments = pl.DataFrame({"item": "a", "question": "q", "rater": raters["rater"], "value": 1.0})
    instrument = Instrument.of_questions("q", "Q", {"q": Scale.points(0, 1)})
    return Corpus(pl.DataFrame({"item": ["a"]}), raters, judgments, instrument)


def many(**traits: Sequence[object]) -> Corpus:
    size = len(next(iter(traits.values())))
    return corpus_of(pl.DataFrame({"rater": [f"r{n}" for n in range(size)], **traits}))


def test_only_small_groups_are_a_risk() -> None:
    assert risk(many(gender=["w"] * 6 + ["m"] * 5)) is None
    found = risk(many(gender=["w"] * 6 + ["m"] * 4))
    assert found is not None
    assert (found.people, found.of, found.remedy) == (4, 10, "leave out gender.")
    assert risk(many(gender=["w"] * 6 + ["m"] * 4), k=4) is None
    assert risk(many(gender=["w"] * 9)) is None


def test_numbers_are_to_be_given_in_tens_where_that_helps() -> None:
    found = risk(many(age=[20 + n % 10 for n in range(30)] + [40 + n % 10 for n in range(30)]))
    assert found is not None
    assert str(found) == ("60 of 60 raters could be identified: fewer than 5 people share their age; give age in tens.")


def test_models_and_bookkeeping_do_not_count() -> None:
    raters = pl.DataFrame(
        {
            "rater": ["a", "b", "m"],
            "kind": ["person", "person", "model"],
            "age": [None, None, 3],
            "study": ["s", "t", None],
        }
    )
    assert risk(corpus_of(raters)) is None


@pytest.mark.filterwarnings("always")
def test_export_warns_refuses_or_writes_it_down(tmp_path: Path) -> None:
    corpus = many(gender=["w", "m", "m"])
    with pytest.warns(DisclosureWarning, match="3 of 3 raters could be identified"):
        export(corpus, "csv", tmp_path / "a.csv")
    with pytest.raises(InputError, match="or pass --allow-unique"):
        export(corpus, "huggingface", tmp_path / "b", strict=True)
    assert not (tmp_path / "b").exists()
    export(corpus, "huggingface", tmp_path / "c", allow_unique=True)
    assert "3 of 3 raters share their traits with fewer than 5 people; allowed on export." in (
        Corpus.read(tmp_path / "c" / "data").about.notes
    )
    export(corpus, "lewidi", tmp_path / "d")  # no traits are written there


def test_guard_leaves_a_safe_corpus_alone() -> None:
    corpus = many(gender=["w"] * 5)
    assert guard(corpus) is corpus


def test_tables_leave_in_one_way() -> None:
    """Only one module writes CSV, and defuses formulas; the others ask it."""
    source = Path(vantage.__file__).parent
    writing = {
        path.relative_to(source).as_posix() for path in source.rglob("*.py") if ".write_csv" in path.read_text("utf-8")
    }
    assert writing == {"corpora/writers/cells.py"}
