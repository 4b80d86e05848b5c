"""The report on a plain corpus: what is in it, how answers are spread, whether raters agree, and whom to look at."""

from __future__ import annotations

from typing import Any

import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.describe import describe
from vantage.report.agreement import agreement, conspicuous
from vantage.report.answers import answers
from vantage.report.folder import Report
from vantage.report.parts import Column, Finding, Result, Section, Table
from vantage.report.record import Record, now, versions


def overview(corpus: Corpus, *, seed: int = 0) -> Result:
    """Sections on any corpus, with or without judgments.

    >>> from vantage import demo_corpus
    >>> [section.title for section in overview(demo_corpus()).sections]
    ['What is in the corpus', 'How the answers are spread', 'Do raters agree?', 'Raters to look at']
    """
    told = describe(corpus)
    sections = [_contents(told)]
    findings: list[Finding] = []
    if not told["judgments"]:
        return Result(sections, warnings=["The corpus has no judgments, so there is nothing to measure yet."])
    sections.append(answers(corpus, told["questions"]))
    answered = corpus.judgments.filter(pl.col("value").is_not_null())
    if answered["rater"].n_unique() > 1:
        parts = [agreement(corpus, seed=seed)]
        if answered.filter(pl.col("question").is_in([q.id for q in corpus.questions if q.scale.ordered])).height:
            parts.append(conspicuous(corpus))
        for section, sentences in parts:
            sections.append(section)
            findings += sentences
    return Result(sections, findings, _silent(corpus))


def _contents(told: dict[str, Any]) -> Section:
    rows = []
    for question in told["questions"]:
        spread = question["judgments_per_item"]
        rows.append(
            {
                "question": question["question"],
                "scale": question["scale"],
                **{name: question[name] for name in ("items", "raters", "judgments")},
                "per_item": spread["mean"],
                "mean": question["mean"],
                "not_answered": {s: n for s, n in question["statuses"].items() if s != "answered"} or None,
            }
        )
    frame = pl.DataFrame(rows, infer_schema_length=None) if rows else pl.DataFrame({"question": []})
    text = [
        f"{told['items']:,} items, {told['raters']:,} raters and {told['judgments']:,} judgments."
        + (f" {told['items_without_judgments']:,} items have none." if told["items_without_judgments"] else "")
    ]
    text += [str(note) for note in told["notes"]]
    columns = {"per_item": Column("judgments per item", digits=1), "mean": Column(digits=2)}
    known = {name: how for name, how in columns.items() if name in frame.columns}
    some = any(set(question["statuses"]) - {"answered"} for question in told["questions"])
    notes = ["Not answered: opted out, refused, unparsed or failed; such rows have no value."] if some else []
    table = Table("questions", "The questions and how often they were judged.", frame, known, (), ("question",), notes)
    return Section("What is in the corpus", text, [table])


def _silent(corpus: Corpus) -> list[str]:
    """Raters who never gave a value: a model that refused everything must not pass as one that was not asked."""
    by_rater = corpus.judgments.group_by("rater", maintain_order=True).agg(
        pl.len().alias("all"),
        pl.col("value").is_not_null().sum().alias("values"),
        pl.col("status").cast(pl.String).mode().first().alias("mostly"),
    )
    silent = by_rater.filter(pl.col("values") == 0)
    told = [
        f"{row['rater']} gave no value in {row['all']:,} judgments (mostly {row['mostly'].replace('_', ' ')})."
        for row in silent.head(5).iter_rows(named=True)
    ]
    return [*told, f"So did {len(silent) - 5:,} further raters."] if len(silent) > 5 else told


def corpus_report(corpus: Corpus, *, seed: int = 0) -> Report:
    """The report on a plain corpus, ready to be written: `corpus_report(corpus).write("folder")`."""
    part = corpus.included()
    about = corpus.about
    record = Record("corpus", about.title or about.name, state="complete", started=now(), seed=seed)
    record.data = str(corpus.folder or "")
    record.versions = versions()
    record.describe(part)
    result = overview(part, seed=seed)
    record.finished = now()
    return Report(record, result)
