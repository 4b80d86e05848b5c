"""One reader for anything, with the words of the command line and errors in Python."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import vantage
from vantage import InputError, demo_corpus
from vantage.corpora.reading import UnreadColumnsWarning

STARS = pd.DataFrame({"id": [1, 1, 2, 2], "who": ["ann", "bob"] * 2, "stars": [4, 5, 2, 2], "age": [31, 44] * 2})


def test_folders_archives_files_and_frames_are_read(tmp_path: Path) -> None:
    corpus = demo_corpus()
    folder = corpus.write(tmp_path / "demo")
    assert vantage.read(folder) == corpus
    archive = shutil.make_archive(str(tmp_path / "packed"), "zip", folder.parent, folder.name)
    assert vantage.read(archive) == corpus
    assert vantage.read(corpus) is corpus
    STARS.to_csv(tmp_path / "t.csv", index=False)
    by_name = vantage.read(STARS, item="id", rater="who", value="stars", question="quality", traits=["age"])
    inferred = vantage.read(tmp_path / "t.csv", question="quality")
    assert inferred.judgments.equals(by_name.judgments)
    assert inferred.raters.equals(by_name.raters)
    zipped = tmp_path / "t.zip"
    shutil.make_archive(str(zipped.with_suffix("")), "zip", tmp_path, "t.csv")
    assert vantage.read(zipped, question="quality").judgments.equals(by_name.judgments)


def test_what_is_not_read_is_said() -> None:
    frame = STARS.assign(when=["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"])
    with pytest.warns(UnreadColumnsWarning, match="Columns that were not read: when"):
        vantage.read(frame)


def test_columns_and_wide_are_one_word() -> None:
    wide = pl.DataFrame(
        {"text": ["One is here.", "Two are there.", "Three went."], "anna": [1, 2, 3], "ben": [2, 2, 3]}
    )
    assert vantage.read(wide) == vantage.read(wide, columns="rater")


@pytest.mark.parametrize(
    ("source", "options", "sentence"),
    [
        ("https://example.org/t.csv", {}, "URLs are not supported; download the file and give its path"),
        (pl.DataFrame({"item": ["a"] * 4, "rater": list("wxyz"), "value": [1, 2, 3, -99]}), {},
         r'pass missing=\["-99"\], or valid=\["-99"\]'),
        (pl.DataFrame({"item": ["a"], "rater": ["x"], "value": [None]}), {"empty": "no"},
         "'no' is not a meaning of an empty value"),
    ],
)  # fmt: skip
def test_errors_speak_python(source: object, options: dict[str, str], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        vantage.read(source, **options)


def test_two_readings_stop_with_both_commands(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("c1,c2,c3\n" + "\n".join(f"x{i},y{r},{(i * r) % 5 + 1}" for i in range(6) for r in range(4)))
    with pytest.raises(InputError, match=r"it is unclear which of them is the rater; run one of: .* OR .*"):
        vantage.read(path, "table")


def test_what_describes_raters_and_items_is_read_whatever_the_columns_are_called() -> None:
    rng = np.random.default_rng(4)
    rows = [
        (
            f"s{item}",
            f"Satz Nummer {item} der Sammlung",
            f"p{rater}",
            int(rng.integers(1, 8)),
            20 + 3 * rater,
            rater % 3,
        )
        for item in range(30)
        for rater in range(9)
    ]
    plain = ["item", "Inhalt", "rater", "value", "Alter", "Ort"]
    frame = pl.DataFrame(rows, plain, orient="row").with_columns(pl.format("Ort {}", "Ort").alias("Ort"))
    named, other = vantage.read(frame), vantage.read(frame.rename({"item": "Satz", "rater": "Wer", "value": "Urteil"}))
    for corpus in (named, other):
        assert corpus.raters.columns == ["rater", "kind", "Alter", "Ort"]
        assert corpus.items["text"][0].startswith("Satz Nummer")
    assert named.raters.equals(other.raters)
    assert named.items.equals(other.items)
