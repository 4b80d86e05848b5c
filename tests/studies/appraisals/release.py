"""A small invented release in the form of the published one: 24 posts, two annotators, one model, some evaluations."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

POSTS = 24
DOUBLE = 8
ABOUT = ("rent", "sleep", "school", "masks", "travel", "parents")


def write(folder: Path, replies: Mapping[tuple[int, int], str] | None = None, **changes: Any) -> Path:
    """Writes the release; `replies` replaces single answers of the model, by post and dimension."""
    rng = np.random.default_rng(3)
    folder.mkdir(parents=True, exist_ok=True)
    level = rng.integers(2, 8, (POSTS, 24))
    posts = [f"I worry about {ABOUT[n % 6]} and cannot rest, says number {n}." for n in range(POSTS)]
    sheets = [
        _sheet(rng, post, posts[post], annotator, level[post])
        for post in range(POSTS)
        for annotator in ((0, 1) if post < DOUBLE else (post % 2,))
    ]
    if changes.get("twice"):
        sheets.append({**sheets[0], "Assignment ID": "again"})
    if changes.get("no_rationales"):
        sheets = [{k: "" if k.endswith("_rationale") else v for k, v in row.items()} for row in sheets]
    _table(folder / "CovidET-Appraisals.csv", sheets)
    answers = []
    for post in range(POSTS):
        row: dict[str, Any] = {"Reddit ID": f"p{post}"}
        for dim in range(24):
            told = str(int(np.clip(level[post, dim] + rng.integers(-1, 2), 1, 9)))
            row[f"dim{dim + 1}"] = (replies or {}).get((post, dim + 1), told)
            row[f"dim{dim + 1}_rationale"] = f"The writer worries about {ABOUT[post % 6]}, hence rated {told}."
        answers.append(row)
    (folder / "responses_raw").mkdir(exist_ok=True)
    _table(folder / "responses_raw" / "chatgpt_seed-1.csv", answers)
    (folder / "prompts").mkdir(exist_ok=True)
    prompts = [
        f'To what extent was it so {n}? Rate on a scale from 1 to 9, with 1 being "Not at all thing{n}" and 9 being '
        f'"Completely thing{n}". If the text doesn\'t address this question, please mark it as "NA".'
        for n in range(24)
    ]
    (folder / "prompts" / "prompt_scale.txt").write_text("\n".join(prompts), "utf-8")
    _emotions(folder, changes.get("emotions", ("anger", "fear")))
    if changes.get("evaluated", True):
        _evaluation(folder, sheets, answers, posts)
    return folder


def _sheet(
    rng: np.random.Generator, post: int, text: str, annotator: int, level: Sequence[int] | Any
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "HIT ID": f"h{post}",
        "Assignment ID": f"a{post}-{annotator}",
        "Worker ID": f"w{annotator}",
        "Reddit ID": f"p{post}",
        "Reddit Post": text,
    }
    for dim in range(24):
        told = int(np.clip(level[dim] + rng.integers(-1, 2), 1, 9))
        blank = (post + dim) % 7 == 0
        row[f"dim{dim + 1}"] = "" if blank else told
        strength = "strongly" if told > 5 else "hardly"
        said = (
            f"does not mention {ABOUT[dim % 6]}" if blank else f"{strength} sees {ABOUT[post % 6]} as {ABOUT[dim % 6]}"
        )
        row[f"dim{dim + 1}_rationale"] = f"The narrator {said}."
    return row


def _emotions(folder: Path, seen: Sequence[str]) -> None:
    (folder / "covidet_posts").mkdir(exist_ok=True)
    posts = {
        str(n): {
            "Reddit ID": f"p{n}",
            "Annotations": {"one": [{"Emotion": seen[n % len(seen)] if seen else "NA"}], "two": [{"Emotion": "NA"}]},
        }
        for n in range(POSTS)
    }
    (folder / "covidet_posts" / "test_anonymized-WITH_POSTS.json").write_text(json.dumps(posts), "utf-8")


def _evaluation(folder: Path, sheets: list[dict[str, Any]], answers: list[dict[str, Any]], posts: list[str]) -> None:
    (folder / "human_eval").mkdir(exist_ok=True)
    rows = []
    for post in range(6):
        for source, told in (
            ("chatgpt", answers[post]),
            ("gold", next(s for s in sheets if s["Reddit ID"] == f"p{post}")),
        ):
            for worker in (0, 1):
                good = (post + worker) % 3 > 0
                rows.append(
                    {
                        "HIT ID": f"e{post}",
                        "Assignment ID": f"e{post}-{source}-{worker}",
                        "Worker ID": f"v{worker}",
                        "Reddit ID": f"p{post}",
                        "Reddit Post": posts[post],
                        "Dim": "dim2",
                        "Model": source,
                        "Scale": told["dim2"] or "0",
                        "Rationale": told["dim2_rationale"],
                        "factuality": "yes" if good else "minor",
                        "justifies": "yes" if good else "no",
                        "relevance": 4 + good,
                        "usefulness": "maybe" if post % 2 else "yes",
                    }
                )
    _table(folder / "human_eval" / "TURKERS-EVAL-TOP_3_models.csv", rows)


def _table(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
