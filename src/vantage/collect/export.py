"""Collected answers as a corpus: human raters with traits and judgments; answers to checks are separate."""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import polars as pl
from sqlalchemy import Connection, select

from vantage.adaptive.until import Until
from vantage.collect.answers import marked_words, read
from vantage.collect.blocks import Block
from vantage.collect.evidence import summary
from vantage.collect.phases import TrainingPhase, accepts
from vantage.collect.study import AnnotationStudy
from vantage.collect.tables import arms, evidence, items, pages, participants, reviews, submissions
from vantage.corpora import Corpus
from vantage.corpora.schema import KIND, STATUS
from vantage.corpora.storage import is_corpus
from vantage.corpora.writers import csv_text
from vantage.errors import InputError
from vantage.measures.kinds import CORE, EXTRA

JUDGED: Final[dict[str, Any]] = {
    **dict.fromkeys(("item", "question", "rater", "condition"), pl.String),
    "sample": pl.Int64,
    "value": pl.Float64,
    "status": STATUS,
    "rationale": pl.String,
    "answered_at": pl.Datetime("ms"),
    "revision": pl.Int32,
    "seconds": pl.Float64,
    "position": pl.Int32,
    **dict.fromkeys(("presentation", "block", "allocation", "language"), pl.String),
    "probabilities": pl.List(pl.Float64),
}
CHECKED: Final[dict[str, Any]] = {
    **dict.fromkeys(("rater", "kind", "check", "question", "condition"), pl.String),
    "value": pl.Float64,
    "status": pl.String,
    "passed": pl.Boolean,
    "seconds": pl.Float64,
    "batch": pl.Int32,
    "position": pl.Int32,
}
RESEARCHER: Final = "researcher"
"""Who decided, where no name is known."""
CHECKS_FILE: Final = "checks.csv"


@dataclass(frozen=True, slots=True)
class Collected:
    """All answers: judgments, answers to checks, and the participants who gave them."""

    judgments: pl.DataFrame
    checks: pl.DataFrame
    people: pl.DataFrame


def collected(connection: Connection, study: AnnotationStudy) -> Collected:
    """Reads the current answers, in the order in which each rater saw the pages."""
    people = [dict(row) for row in connection.execute(select(participants).order_by(participants.c.number)).mappings()]
    decided = {row["participant"]: dict(row) for row in connection.execute(_DECIDED).mappings()}
    typed: dict[int, list[dict[str, int]]] = {}
    for number, counts in connection.execute(_TYPED):
        typed.setdefault(number, []).append(json.loads(counts))
    for person in people:
        latest = decided.get(person["number"], {})
        person |= {name: latest.get(name) for name in ("decided_by", "at")}
        person["evidence"] = summary(typed.get(person["number"], ()))
    names = {row["number"]: row["rater"] for row in people}
    languages = {row["number"]: row["language"] or study.language for row in people}
    rows = connection.execute(
        select(
            *(pages.c[name] for name in ("participant", "kind", "check", "condition", "batch", "position")),
            pages.c.question_set,
            items.c.item,
            *(submissions.c[name] for name in ("answers", "seconds", "at", "revision")),
            items.c.record,
            (pages.c.seat < arms.c.seats).label("core"),
        )
        .join(submissions, (submissions.c.page == pages.c.id) & (submissions.c.revision == pages.c.revision))
        .outerjoin(items, items.c.row == pages.c.row)
        .outerjoin(arms, arms.c.arm == pages.c.arm)
        .where(pages.c.state == "answered")
        .order_by(pages.c.participant, pages.c.batch, pages.c.position)
    )
    judged: list[tuple[Any, ...]] = []
    checked: list[tuple[Any, ...]] = []
    seen: Counter[tuple[Any, ...]] = Counter()
    for number, kind, check, condition, batch, position, group, item, answers, seconds, at, revision, *rest in rows:
        block, (record, core) = study.block(group), rest
        for question, (value, status, reason, *more) in json.loads(answers).items():
            if kind == "item":
                key = (item, question, names[number], condition)
                way, shares, marked = [*more, None, None, None][:3]
                rationale, way = reason, way or None
                if marked:
                    seen_item = study.in_language(languages[number]).shown_item(json.loads(record))
                    rationale = marked_words(block.instrument.question(question), seen_item, marked)
                saved = (round(at * 1000), revision, seconds, position, way, block.id, CORE if core else EXTRA)
                judged.append((*key, seen[key], value, status, rationale, *saved, languages[number], shares))
                seen[key] += 1
            elif (passed := passed_check(block, kind, check, question, value)) is not None:
                answer = (check, question, condition, value, status, passed)
                checked.append((names[number], kind, *answer, seconds, batch, position))
    for person in people:
        checked += _practised(study, person["rater"], person["state"])
    judgments = pl.DataFrame(judged, schema=JUDGED, orient="row")
    needless = {
        **{name: judgments[name].null_count() == len(judgments) for name in ("presentation", "probabilities")},
        "block": len(study.blocks) == 1,
        "language": not study.plan.translations,
        "allocation": study.plan.adaptive is None or not Until.parse(study.plan.adaptive.until).by_item,
    }
    return Collected(
        judgments.drop(name for name, leave_out in needless.items() if leave_out),
        pl.DataFrame(checked, schema=CHECKED, orient="row"),
        pl.DataFrame(people, schema=_PEOPLE | _BESIDE, infer_schema_length=None),
    )


_DECIDED: Final = select(reviews.c.participant, reviews.c.at, reviews.c.decided_by).order_by(reviews.c.id)
_TYPED: Final = (
    select(pages.c.participant, evidence.c.counts)
    .join(evidence, (evidence.c.page == pages.c.id) & (evidence.c.revision == pages.c.revision))
    .order_by(pages.c.id)
)
_BESIDE: Final = {"decided_by": pl.String, "at": pl.Float64, "evidence": pl.String}
_PEOPLE: Final[dict[str, Any]] = {
    column.name: {"TEXT": pl.String, "FLOAT": pl.Float64}.get(str(column.type), pl.Int64)
    for column in participants.columns
}


def _practised(study: AnnotationStudy, rater: str, state: str) -> Iterator[tuple[Any, ...]]:
    stored = json.loads(state)
    for phase in study.flow.phases:
        if isinstance(phase, TrainingPhase):
            for index, text in enumerate(phase.stored(stored)):
                part, answers = phase.part.items[index], read(text)
                name = part.item if isinstance(part.item, str) else f"training {index + 1}"
                for question, right in phase.right(index, answers).items():
                    value, status = answers[question].value, answers[question].status
                    answer = (name, question, part.condition, value, status, right)
                    yield rater, "training", *answer, None, None, index + 1


def passed_check(block: Block, kind: str, check: str, question: str, value: float | None) -> bool | None:
    """Whether an answer passes a check; null for questions that the check does not concern."""
    right = block.accepted(kind, check).get(question)
    return None if right is None else accepts(right, value)


def corpus_of(study: AnnotationStudy, answers: Collected, items: pl.DataFrame) -> Corpus:
    """The items of a study with the judgments of people; excluded raters are marked, not left out."""
    people = answers.people.filter(pl.col("rater").is_in(answers.judgments["rater"].unique().implode()))
    raters = people.select(
        "rater",
        pl.lit("person", dtype=KIND).alias("kind"),
        pl.lit(study.id).alias("study"),
        pl.col("source").alias("recruited"),
        "stage",
        "verdict",
        (excluded := pl.col("verdict") == "excluded").alias("excluded"),
        pl.when(excluded).then("rule").alias("excluded_rule"),
        pl.when(excluded).then("note").alias("excluded_reason"),
        *_decisions(people),
    )
    given = [json.loads(traits) if traits else {} for traits in people["traits"]]
    columns = [_trait(trait.id, trait.kind, [row.get(trait.id) for row in given]) for trait in study.traits]
    notes = [*study.corpus.about.notes, f"Human judgments were collected in the study '{study.id}'."]
    if (answers.judgments["sample"] > 0).any():
        notes.append("People judged items again, as further samples; for their agreement use --where sample=0.")
    return Corpus(
        items=items,
        raters=raters.hstack(columns),
        judgments=answers.judgments,
        instruments=list({block.instrument.id: block.instrument for block in study.blocks}.values()),
        about=replace(study.corpus.about, notes=tuple(notes)),
    )


def moment(column: str) -> pl.Expr:
    """Seconds since 1970 as a time (UTC)."""
    return (pl.col(column) * 1000).round().cast(pl.Int64).cast(pl.Datetime("ms")).alias(column)


def platform_table(people: pl.DataFrame, identities: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Participants with their ids on the platform, one row for each set of parameters that they came with."""
    names = list(dict.fromkeys(name for one in identities for name in one["links"]))
    schema = {"rater": pl.String, "platform_id": pl.String, **dict.fromkeys(names, pl.String), "entered_at": pl.Float64}
    rows = [
        {"rater": one["rater"], "platform_id": one["external"], "entered_at": one["at"], **one["links"]}
        for one in identities
    ]
    entered = pl.DataFrame(rows, schema=schema)
    came = people.filter(pl.col("stage") != "declined").select(
        "number", "rater", "source", "stage", "verdict", "batch", "answered", "consented_at", "wording", "finished_at"
    )
    joined = came.join(entered, on="rater", how="left", maintain_order="left").drop("number")
    times = [moment(name) for name in ("entered_at", "consented_at", "finished_at")]
    order = ["rater", "source", "platform_id", *names]
    return joined.with_columns(times).rename({"wording": "consent_sha256"}).select(*order, pl.exclude(order))


def _decisions(people: pl.DataFrame) -> list[pl.Expr]:
    excluded = pl.col("verdict") == "excluded"
    if not (people["verdict"] == "excluded").any():
        return []
    when = pl.from_epoch((pl.col("at") * 1000).cast(pl.Int64), "ms").dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    # The names of researchers are for the log, not for those who read the corpus.
    by = pl.when(pl.col("decided_by") == "rule").then("decided_by").otherwise(pl.lit(RESEARCHER))
    shown = {"excluded_by": by, "excluded_at": when}
    return [pl.when(excluded & (value != "")).then(value).alias(name) for name, value in shown.items()]


def _trait(name: str, kind: str, values: list[Any]) -> pl.Series:
    """A column of trait answers; several chosen options share one cell, separated by "; "."""
    if kind == "number":
        return pl.Series(name, values, dtype=pl.Int64)
    texts = ["; ".join(value) or None if isinstance(value, list) else value for value in values]
    return pl.Series(name, texts, dtype=pl.String)


def merged(base: Corpus, new: Corpus, study: str) -> Corpus:
    """The corpus with the collected judgments; those of an earlier export of the same study are replaced."""
    if "study" in base.traits:
        base = base.of_raters(base.raters.filter(pl.col("study").ne_missing(study)))
    try:
        both = base.merge(new)
    except InputError as error:
        remedy = "write what was collected to a folder of its own, with --only --to FOLDER"
        raise InputError(f"The corpus has changed since the study started: {error.problem}", remedy=remedy) from None
    both.about = base.about if base.about.notes else new.about
    return both


def check_replaced(folder: Path, new: Corpus, study: str) -> None:
    """Refuses a folder with judgments that an export does not have, apart from those of the same study."""
    if not is_corpus(folder):
        return
    known = Corpus.read(folder)
    others = known.filter(pl.col("study").ne_missing(study)) if "study" in known.traits else known
    if not others.judgments["rater"].is_in(new.raters["rater"].implode()).all():
        raise InputError("the folder holds another corpus", file=folder, remedy="choose another one with --to")


def write(corpus: Corpus, checks: pl.DataFrame, folder: Path) -> Path:
    """Writes the corpus folder, with the answers to attention checks and gold items in a file of their own."""
    corpus.write(folder)
    if len(checks):
        (folder / CHECKS_FILE).write_text(csv_text(checks), encoding="utf-8")
    return folder


def write_private(table: pl.DataFrame, file: Path, *, apart: Path) -> None:
    """Writes a table that only its owner may read, never into the folder of a corpus."""
    if apart.resolve() in file.resolve().parents:
        raise InputError(
            "Platform ids must not lie in a corpus folder", file=file, remedy="choose a place outside of it"
        )
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
        stream.write(csv_text(table))


def zipped(corpus: Corpus, checks: pl.DataFrame, name: str) -> bytes:
    """The exported folder as one zip file."""
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as place:
        folder = write(corpus, checks, Path(place) / name)
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(folder.iterdir()):
                if not file.name.startswith("."):
                    archive.write(file, f"{name}/{file.name}")
    return packed.getvalue()
