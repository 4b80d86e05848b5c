"""How long the shipped blend of encoder and probe takes to train on this machine, and how good it is on W&C-Sent.

    python benchmarks/trained.py DATA_FOLDER [SEEDS]
    VANTAGE_DATA=FOLDER_OF_ALL_DATA python -m benchmarks trained

Prints minutes per training (all three questions at once) and per question, and the figures of docs/trained.md for the
encoder alone and for the blend.
"""

from __future__ import annotations

import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl

from vantage import Corpus
from vantage.corpora.readers import load
from vantage.measures import accuracy
from vantage.raters.trained import TrainedRater, fit

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
    started = time.perf_counter()
    probe = fit(learned, QUESTIONS, kind="probe", progress=_show)
    read = (time.perf_counter() - started) / 60
    print(f"\rprobe: {read:.1f} minutes", probe.notes)
    rows = []
    for seed in range(seeds):
        started = time.perf_counter()
        encoder = fit(learned, QUESTIONS, kind="encoder", seed=seed, progress=_show)
        minutes = (time.perf_counter() - started) / 60
        each = (minutes + read) / len(QUESTIONS)
        print(f"\rseed {seed}: {minutes:.1f} minutes; with the probe {each:.1f} per question", encoder.notes)
        for rater in (encoder, TrainedRater.stacked([encoder, probe], name="blend")):
            rows += _figures(rater, test, gold)
    frame = pl.DataFrame(rows)
    for (rater_, question), part in frame.group_by("rater", "question", maintain_order=True):
        mine = part.drop("rater", "question").to_numpy()
        spread = mine.std(axis=0, ddof=1) if seeds > 1 else np.zeros(mine.shape[1])
        scores = zip(frame.columns[2:], mine.mean(axis=0), spread, strict=True)
        columns = [f"{n} {m:.3f} ± {s:.3f}" for n, m, s in scores]
        print(f"{rater_}, {question}: {'; '.join(columns)}")


def _show(done: int, total: int) -> None:
    print(f"\r{done}/{total}", end="")


def _figures(rater: TrainedRater, test: Corpus, gold: dict[str, pl.DataFrame]) -> list[dict[str, float | str]]:
    judged = rater.judge(test)
    expected = judged.select("item", "question", "rater", value="expected")
    rows = []
    for question in QUESTIONS:
        row: dict[str, float | str] = {"rater": rater.id, "question": question}
        for name, reference in gold.items():
            part = expected.filter(question=question)
            correlation = accuracy(part, reference=reference, metric="spearman", ci="none")
            row[f"spearman, {name}"] = correlation["estimate"][0]
        answers = judged.filter(question=question).select("item", "question", "rater", "value")
        labels = list(range(-3, 4))
        near = accuracy(answers, reference=gold["released"], metric="within", labels=labels, ci="none")
        rows.append({**row, "within": near["estimate"][0]})
    return rows


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
