"""EPIC, Measuring Hate Speech and DICES are not at hand: files of the same schema go through the same command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.corpora.readers import test_dices as dices
from tests.corpora.readers import test_epic as epic
from tests.corpora.readers import test_measuring_hate_speech as mhs
from tests.report.truth import check_all, findings
from vantage.studies import run

USERS, TEXTS = 24, 100


def pairs() -> Iterator[tuple[int, int, int]]:
    """User, text and a label that depends on both."""
    for user in range(USERS):
        for text in range(TEXTS):
            if (user // 2 + text) % 2:
                yield user, text, int((text * 7 + user % 2 * 3) % 5 < 2)


def written(folder: Path, name: str) -> None:
    if name == "epic":
        rows: list[dict[str, Any]] = [
            epic.row(f"u{u}", t, ("not", "iro")[label], Sex=("Female", "Male")[u % 2], timestamp=f"{t} {u}")
            for u, t, label in pairs()
        ]
        pl.DataFrame(rows).write_csv(folder / "EPIC.csv")
    elif name == "mhs":
        rows = [
            # Unclear counts as hateful, as in the paper.
            mhs.row(t, u, hatespeech=(1.0 + u % 2) * label, annotator_gender=("female", "male")[u % 2])
            for u, t, label in pairs()
        ]
        pl.DataFrame(rows).write_csv(folder / "measuring-hate-speech.csv")
    else:
        dices.write(folder, "350", [dices.row_350(u, t, Q_overall=("No", "Yes")[label]) for u, t, label in pairs()])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "folder"), [("epic", "EPIC"), ("mhs", "MHS"), ("dices", "DICES")])
def test_a_copy_of_ones_own_runs_by_the_same_command(tmp_path: Path, name: str, folder: str) -> None:
    (tmp_path / folder).mkdir()
    written(tmp_path / folder, name)
    told = run("perseval", data=tmp_path, corpus=name, methods="majority,tfidf-users", encoder="none", resamples=5)
    scores = next(table for table in told.result.tables if table.name == f"scores-{name}").frame
    assert {"majority", "tfidf-users"} <= set(scores["rater"])
    known = next(table for table in told.result.tables if table.name == "for-whom").frame
    assert known["corpus"].to_list()[0] == name
    assert any("gender" in finding.text for finding in findings(told.result))
    check_all(told.result)
    caption = next(table.caption for table in told.result.tables if table.name == f"scores-{name}")
    assert ("closeness" if name == "dices" else "F1 of") in caption
    printed = next(table for table in told.result.tables if table.name == "published").frame
    assert printed["what"].to_list() == [f"{name}: {what}" for what in ("annotators", "texts", "instances")]
    assert printed["recomputed_value"].to_list() == [USERS, TEXTS, USERS * TEXTS / 2]
