from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from vantage import Corpus
from vantage.corpora.readers import load
from vantage.errors import InputError


def row(user: str, pair: int, label: str, **changes: Any) -> dict[str, Any]:
    return {
        "user": user,
        "label": label,
        "id_original": f"10000000000000000{pair:02}",
        "text": f"What a reply {pair}",
        "parent_id_original": f"20000000000000000{pair:02}",
        "parent_text": f"A post {pair}",
        "source": "reddit" if pair % 2 else "twitter",
        "timestamp": f"2022-01-0{pair} {user}",
        "Age": "31",
        "Sex": "Female",
        "Ethnicity simplified": "White",
        "Nationality": "Ireland",
        "Country of birth": "DATA_EXPIRED",
        "Student status": "CONSENT_REVOKED",
        **changes,
    }


ROWS = [
    row("ann", 1, "iro"),
    row("bob", 1, "not", Age="DATA_EXPIRED", Sex="Male"),
    row("ann", 2, "not"),
    row("cat", 2, "iro", Age="55"),
]


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_reads_the_release(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"EPIC.{suffix}"
    frame = pl.DataFrame(ROWS)
    frame.write_parquet(file) if suffix == "parquet" else frame.write_csv(file)
    corpus = load("epic", tmp_path)
    assert corpus.items["item"].to_list() == ["1000000000000000001", "1000000000000000002"]
    assert corpus.items["post"].to_list() == ["A post 1", "A post 2"]
    assert corpus.items["reply"].to_list() == ["What a reply 1", "What a reply 2"]
    assert corpus.items["source"].to_list() == ["reddit", "twitter"]
    assert corpus.judgments["value"].to_list() == [1, 0, 0, 1]
    assert corpus.judgments["timestamp"].to_list()[0] == "2022-01-01 ann"
    assert corpus.raters["age"].to_list() == [31, None, 55]
    assert corpus.raters["gender"].to_list() == ["Female", "Male", "Female"]
    assert corpus.raters["country_of_birth"].null_count() == 3
    assert {"ethnicity", "nationality", "student_status"} <= set(corpus.traits)
    assert Corpus.read(corpus.write(tmp_path / "out")) == corpus


def test_one_id_for_two_pairs(tmp_path: Path) -> None:
    file = tmp_path / "EPIC.csv"
    pl.DataFrame([row("ann", 1, "iro"), row("bob", 1, "not", text="Another reply")]).write_csv(file)
    corpus = load("epic", file)
    assert corpus.items["item"].to_list() == ["1000000000000000001", "1000000000000000001~2"]
    assert corpus.judgments["item"].to_list() == corpus.items["item"].to_list()


def test_a_label_that_stands_twice_is_noted(tmp_path: Path) -> None:
    file = tmp_path / "EPIC.csv"
    pl.DataFrame([row("ann", 1, "iro"), row("ann", 1, "not")]).write_csv(file)
    corpus = load("epic", file)
    assert corpus.judgments["value"].to_list() == [1]
    assert any("1 judgments stood twice" in note for note in corpus.about.notes)


def test_bad_input(tmp_path: Path) -> None:
    file = tmp_path / "EPIC.csv"
    pl.DataFrame([row("ann", 1, "iro"), row("bob", 1, "ironic")]).write_csv(file)
    with pytest.raises(InputError, match="row 3, column 'label': 'ironic' is not one of not, iro"):
        load("epic", file)
    pl.DataFrame([row("ann", 1, "iro"), row("", 1, "iro")]).write_csv(file)
    with pytest.raises(InputError, match="row 3, column 'user': the cell is empty"):
        load("epic", file)
    pl.DataFrame({"user": ["a"], "label": ["iro"]}).write_csv(file)
    with pytest.raises(InputError, match="there are no columns 'id_original', 'text', 'parent_text'"):
        load("epic", file)
