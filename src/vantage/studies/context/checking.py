"""People check written contexts, kept and rejected ones, without knowing which: a study of `vantage collect`."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import About, Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.measures.resampling import Resampling, difference_with_interval, named
from vantage.studies.context.analysis import ContextAnalysis
from vantage.studies.context.pipeline.attempts import label_in_words
from vantage.studies.context.pipeline.controls import attached_steps
from vantage.studies.context.pipeline.dialogue import CONVERSATION, cell, read_turns
from vantage.studies.context.pipeline.writing import QUALITY
from vantage.studies.context.tasks import TASK, TASKS, labels_of, question_of

FOLDER: Final = "check"
KEPT: Final = "context_kept"
"""The item column that says whether a context passed the verifier; people do not see it."""


def contexts_to_check(corpus: Corpus, each: int, seed: int = 0) -> Corpus:
    """Contexts that the verifier let pass and contexts that it rejected, under ids that do not tell which.

    Of every statement at most one context is drawn of each kind, and contexts are those written for the label.

    Args:
        corpus: The corpus of the study, with its steps of writing.
        each: How many of each kind at most.
        seed: Of the draw.
    """
    steps = attached_steps(corpus).get("label")
    keys = ["item", "attempt"]
    drawn: list[pl.DataFrame] = []
    if steps is not None:
        written = steps.filter(step="insertion", status="written").select(*keys, "text")
        passed = steps.filter(step="verification").select(*keys, (pl.col("status") == "passed").alias(KEPT))
        whole = written.join(passed, on=keys, maintain_order="left")
        rng = np.random.default_rng(seed)
        shuffled = whole[rng.permutation(len(whole))].unique(["item", KEPT], keep="first", maintain_order=True)
        drawn = [part.head(each) for _, part in shuffled.group_by(KEPT)]
    if len(drawn) < 2:
        raise InputError("there are no kept and rejected contexts to be checked", remedy="write contexts first")
    known = {row["item"]: row for row in corpus.items.select("item", "text", TASK).iter_rows(named=True)}
    labels = dict(labels_of(corpus.items).select("item", "value").iter_rows())
    rows: list[dict[str, Any]] = []
    for row in pl.concat(drawn).iter_rows(named=True):
        item = known[row["item"]]
        digest = blake2b(f"{seed}/{row['item']}/{row['attempt']}".encode(), digest_size=6).hexdigest()
        label = label_in_words(question_of(TASKS[item[TASK]]), labels[row["item"]])
        shown = {"item": f"c-{digest}", "statement": item["text"], "label": label}
        rows.append({**shown, "conversation": cell(read_turns(row["text"])), "of": row["item"], KEPT: row[KEPT]})
    items = pl.DataFrame(rows, schema_overrides={"conversation": CONVERSATION}).sort("item")
    about = About(name="context-check", title="Contexts to be checked")
    return Corpus.of_items(items, Instrument.load(QUALITY), about)


def leave(corpus: Corpus, each: int, folder: Path | None, seed: int = 0) -> str:
    """Writes the contexts as a corpus; gives the sentence that says how to have people check them."""
    if folder is None:
        raise InputError("the contexts to be checked need a folder", remedy="pass --out FOLDER")
    items = contexts_to_check(corpus, each, seed)
    items.write(folder / FOLDER)
    kept = int(items.items[KEPT].sum())
    return (
        f"{kept} kept and {len(items.items) - kept} rejected contexts are ready to be checked: serve them with vantage "
        f"collect {folder / FOLDER} --study flow:context-check, export, and run this study again with --checked."
    )


def checked(analysis: ContextAnalysis) -> pl.DataFrame | None:
    """What people answered about kept and about rejected contexts, and the difference with its interval over them."""
    if not analysis.options.checked:
        return None
    theirs = Corpus.read(analysis.options.checked).included()
    if KEPT not in theirs.items.columns or not theirs.judgments["value"].count():
        raise InputError(
            "the corpus has no checks of contexts",
            file=analysis.options.checked,
            remedy="name the corpus that was exported after flow:context-check",
        )
    answers = theirs.judgments.drop_nulls("value").join(theirs.items.select("item", KEPT), on="item")
    how = Resampling(resamples=analysis.options.resamples, seed=analysis.seed)
    rows = []
    for (question,), part in answers.group_by("question", maintain_order=True):
        kept = part[KEPT].cast(pl.Float64).to_numpy()
        sides = {"kept": part.filter(pl.col(KEPT)), "rejected": part.filter(~pl.col(KEPT))}
        means = {name: side["value"].mean() for name, side in sides.items()}
        apart = named("difference", difference_with_interval(part["item"], part["value"].to_numpy(), kept, how))
        rows.append({"question": question, **means, **apart, "contexts": part["item"].n_unique(), "answers": len(part)})
    return pl.DataFrame(rows, infer_schema_length=None)
