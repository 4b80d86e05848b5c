"""Eight survey files whose pasted commands used to give a wrong number: now each gives the truth, or stops."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import polars as pl
import pyreadstat
import pytest

import vantage
from vantage.corpora.preview import attempts

PEOPLE, ITEMS = 60, 4
DRAW: Final = random.Random(27)  # noqa: S311 - reproducible
LEVELS: Final = [DRAW.random() for _ in range(ITEMS)]
ANSWERS: Final = [
    {f"q{k}": min(5, max(1, round(1 + 4 * (0.5 * LEVELS[k] + 0.5 * DRAW.random())))) for k in range(ITEMS)}
    for _ in range(PEOPLE)
]
WORDS: Final = ("Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree", "Strongly agree")
Rows = list[dict[str, Any]]


def alpha(corpus: vantage.Corpus) -> float:
    return float(vantage.measures.alpha(corpus, ci="none")["estimate"][0])


def truth() -> float:
    rows = [
        {"item": item, "rater": str(n), "value": value} for n, own in enumerate(ANSWERS) for item, value in own.items()
    ]
    return alpha(vantage.read(pl.DataFrame(rows)))


def spss(folder: Path) -> Path:
    rows = [
        {"ID": n + 1, "agegrp": DRAW.randint(1, 5), **own, "weight": DRAW.uniform(0.4, 2), "dur": DRAW.randint(60, 900)}
        for n, own in enumerate(ANSWERS)
    ]
    labels: dict[str, dict[int | float, str]] = {item: dict(enumerate(WORDS, 1)) for item in ANSWERS[0]}
    labels["agegrp"] = dict(enumerate(("18-24", "25-34", "35-44", "45-54", "55+"), 1))
    pyreadstat.write_sav(pl.DataFrame(rows).to_pandas(), path := folder / "t.sav", variable_value_labels=labels)
    return path


def qualtrics(folder: Path) -> Path:
    columns = ["StartDate", "Duration (in seconds)", "ResponseId", "Q1", "Q2", *(f"Q3_{k}" for k in range(ITEMS))]
    asked = [
        "Start",
        "Duration",
        "Response ID",
        "What is your gender?",
        "How old are you?",
        *(f"Text {k}" for k in range(4)),
    ]
    ids = [json.dumps({"ImportId": f"QID{name[1:]}" if name[0] == "Q" else name}) for name in columns]
    with (path := folder / "t.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerows([columns, asked, ids])
        for n, own in enumerate(ANSWERS):
            known = ["2025-01-01 10:00:00", DRAW.randint(60, 900), f"R_{n:015x}", DRAW.choice(["Male", "Female"])]
            rows.writerow([*known, DRAW.randint(18, 70), *(WORDS[value - 1] for value in own.values())])
    return path


def written(folder: Path, rows: Rows) -> Path:
    pl.DataFrame(rows).write_csv(path := folder / "t.csv")
    return path


FILES: Final[dict[str, Callable[[Path], Path]]] = {
    "SPSS": spss,
    "Qualtrics": qualtrics,
    "id, sex, items": lambda folder: written(
        folder, [{"id": n + 1, "sex": DRAW.randint(1, 2), **own} for n, own in enumerate(ANSWERS)]
    ),
    "id, gender, age, items": lambda folder: written(
        folder,
        [{"id": n + 1, "gender": DRAW.randint(1, 2), "age": DRAW.randint(18, 70), **o} for n, o in enumerate(ANSWERS)],
    ),
    "respondent, sex, age group, items": lambda folder: written(
        folder,
        [
            {"respondent": n + 1, "sex": DRAW.randint(1, 2), "group": DRAW.randint(1, 5), **own}
            for n, own in enumerate(ANSWERS)
        ],
    ),
    "TOTAL": lambda folder: written(
        folder,
        [
            *({"item": q, **{f"p{n}": own[q] for n, own in enumerate(ANSWERS)}} for q in ANSWERS[0]),
            {"item": "TOTAL", **{f"p{n}": sum(own.values()) for n, own in enumerate(ANSWERS)}},
        ],
    ),
    "traits in a long table": lambda folder: written(
        folder,
        [
            {"item": q, "rater": f"p{n}", "city": "ABC"[n % 3], "social": n % 5 + 1, "school": n % 2, "value": value}
            for n, own in enumerate(ANSWERS)
            for q, value in own.items()
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_the_pasted_command_gives_the_truth_or_the_preview_stops(tmp_path: Path, name: str) -> None:
    seen, tried = attempts(FILES[name](tmp_path))
    if not (seen["problem"] or seen["doubt"]):
        assert tried[0].corpus is not None
        assert alpha(tried[0].corpus) == pytest.approx(truth()), seen["command"]
    elif tried:
        assert any(one.corpus and alpha(one.corpus) == pytest.approx(truth()) for one in tried), "none offers the truth"


def test_counts_of_labels_are_never_read_as_people(tmp_path: Path) -> None:
    rows = [{"id": f"t{n}", **{f"n_{k}": DRAW.randint(0, 6) for k in range(1, 6)}} for n in range(20)]
    seen, tried = attempts(written(tmp_path, rows))
    assert seen["doubt"]
    assert any(one.options.get("counts") for one in tried)
