"""How long the shipped encoder takes to train on this machine, and how good it is on the test part of W&C-Sent.

    python benchmarks/trained.py DATA_FOLDER [SEEDS]
    VANTAGE_DATA=FOLDER_OF_ALL_DATA python -m benchmarks trained

Prints minutes per training (all three questions at once) and per question, and the figures of docs/trained.md.
"""

from __future__ import annotations

import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl

from vantage import Corpus, accuracy, load
from vantage.raters.trained import fit

QUESTIONS = ("trust", "sociability", "competence")


def references(corpus: Corpus) -> dict[str, pl.DataFrame]:
    """The released scores, and the means before rounding."""
    released = corpus.items.unpivot([f"final_{q}" for q in QUESTIONS], index="item", variable_name="question")
    released = released.with_columns(pl.col("question").str.strip_prefix("final_"))
    means = corpus.judgments.group_by("item", "question").agg(pl.col("value").mean())
    return {"released": released, "means": means}


def main(folder: Path | None = None, seeds: int = 1) -> None:
    folder = folder or Path(os.environ.get("VANTAGE_DATA", "../shared/data")) / "wcsent"
    if not folder.is_dir() or find_spec("torch") is None:
        print(f"left out: it needs torch and the release of W&C-Sent in {folder}")
        return
    print(f"{os.cpu_count()} cores; load before it began: {os.getloadavg()[0]:.1f}")
    corpus = load("wcsent", folder)
    learned, test = corpus.filter(split=["train", "validation"]), corpus.filter(split="test")
    gold = references(test)
    rows = []
    for seed in range(seeds):
        started = time.perf_counter()
        rater = fit(learned, QUESTIONS, seed=seed, progress=lambda done, total: print(f"\r{done}/{total}", end=""))
        minutes = (time.perf_counter() - started) / 60
        print(f"\rseed {seed}: {minutes:.1f} minutes, {minutes / len(QUESTIONS):.1f} per question", rater.notes)
        judged = rater.judge(test)
        expected = judged.select("item", "question", "rater", value="expected")
        for question in QUESTIONS:
            row: dict[str, float | str] = {"question": question}
            for name, reference in gold.items():
                found = accuracy(expected.filter(question=question), reference=reference, metric="spearman", ci="none")
                row[f"spearman, {name}"] = found["estimate"][0]
            answers = judged.filter(question=question).select("item", "question", "rater", "value")
            labels = list(range(-3, 4))
            near = accuracy(answers, reference=gold["released"], metric="within", labels=labels, ci="none")
            rows.append({**row, "within": near["estimate"][0]})
    frame = pl.DataFrame(rows)
    for question in QUESTIONS:
        mine = frame.filter(question=question).drop("question").to_numpy()
        spread = mine.std(axis=0, ddof=1) if seeds > 1 else np.zeros(mine.shape[1])
        told = [f"{n} {m:.3f} ± {s:.3f}" for n, m, s in zip(frame.columns[1:], mine.mean(axis=0), spread, strict=True)]
        print(f"{question}: {'; '.join(told)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
