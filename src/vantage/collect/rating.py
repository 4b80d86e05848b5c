"""The flow of a study put to models: the same blocks, items, conditions, instruments and repeats as for people.

A model sees each item by itself, so orders and distances do not matter, and it judges every item under every condition.
Its prompts hold the guidelines; consent, screener, training, quiz and debriefing concern people only.
Questionnaires are put to personas, and the answers become columns of the raters table. Items and questions come in
every language of the study's content; the frame of a prompt is English.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Final

import polars as pl

from vantage.collect.flow_document import TraitPart
from vantage.collect.study import AnnotationStudy
from vantage.collect.study_setup import rows_of
from vantage.collect.translations import columns
from vantage.corpora import Corpus
from vantage.instruments import Instrument
from vantage.raters.chat import ChatRater
from vantage.runs.options import RunOptions
from vantage.runs.plan import PlanPart, RunPlan
from vantage.runs.rating import carried_out
from vantage.runs.store import RunStore

HERE: Final = "about-you"


def flow_plan(study: AnnotationStudy, raters: Sequence[ChatRater]) -> RunPlan:
    """What a flow asks of every rater; an item that returns under the same condition is a further sample.

    A study in several languages of content is put in each of them, by a rater named after the language.
    """
    parts = [part for rater in raters for part in _parts(study, rater)]
    study.corpus.check_scales(*{part.used.id: part.used for part in parts}.values())
    for code in study.plan.translations:
        again = [part for rater in raters for part in _parts(study.in_language(code), in_language(rater, code))]
        parts += [replace(part, translates=study.instrument) for part in again]
    return RunPlan(tuple(parts))


def in_language(rater: ChatRater, code: str) -> ChatRater:
    """A rater who is asked in another language than the study's first.

    >>> in_language(ChatRater("embedded"), "de").id
    'embedded+zero-shot+de'
    """
    return replace(rater, name=f"{rater.id}+{code}")


def _parts(study: AnnotationStudy, rater: ChatRater) -> Iterator[PlanPart]:
    corpus = _shown_corpus(study)
    every = corpus.items["item"]
    items = {name: [every[row] for row in rows] for name, rows in rows_of(study).items()}
    asked: dict[tuple[str, tuple[str, ...], str], tuple[Instrument, Counter[str]]] = {}
    by_id = {block.id: block for block in study.blocks}
    for block in study.blocks:
        if block.repeats is not None:
            source, again = by_id[block.repeats], items[block.repeats]
            if block.selection.sample is not None:
                share = min(1.0, block.selection.sample / min(source.size, len(again)))
                draw = Random(f"{block.seed}:{block.id}:sample")  # noqa: S311 - not secrecy
                again = draw.sample(again, round(share * len(again)))
            items[block.id] = again
        for condition in block.conditions:
            key = (block.instrument.id, block.questions, condition)
            asked.setdefault(key, (block.instrument, Counter()))[1].update(items[block.id])
    language = study.language if study.plan.translations else ""
    for (_, questions, condition), (instrument, times) in asked.items():
        for count in sorted(set(times.values())):
            part = corpus.filter(item=[item for item in every if times[item] == count])
            repeated = replace(rater, samples=rater.samples * count)
            yield PlanPart(repeated, part, instrument, questions, condition, language=language)


def _shown_corpus(study: AnnotationStudy) -> Corpus:
    """The corpus with its texts in the language of the study's content."""
    corpus = study.corpus
    if study.language not in study.plan.translations:
        return corpus
    texts = {
        field.name: [pl.col(c) for c in (*columns(field.name, study.language), field.name) if c in corpus.items.columns]
        for field in study.instrument.fields
    }
    shown = corpus.items.with_columns(pl.coalesce(known).alias(name) for name, known in texts.items() if known)
    own = [question.id for question in study.instrument.questions]
    answered = corpus.judgments.filter(pl.col("question").is_in(own))
    return Corpus(shown, corpus.raters, answered, study.instrument, corpus.about)


def flow_notes(study: AnnotationStudy, raters: Sequence[ChatRater]) -> list[str]:
    """What of the flow is not put to these raters, in sentences."""
    personas = any(rater.persona for rater in raters)
    asked = {"guidelines", "working", *(["traits"] if personas else [])}
    named = {"traits": "questionnaires", "screener": "the screener's rules" if personas else "screener"}
    names = ", ".join(dict.fromkeys(named.get(p.stage, p.stage) for p in study.flow.phases if p.stage not in asked))
    notes = [f"For people only, and not asked: {names}."] if names else []
    if any(block.presentation for block in study.blocks):
        notes.append("Questions are put as in the instrument; vary their presentation with --vary.")
    return notes


def ask_personas(
    study: AnnotationStudy, raters: Sequence[ChatRater], store: RunStore | Path, options: RunOptions | None = None
) -> tuple[pl.DataFrame, list[str]]:
    """Asks personas the questions about the participant, except those that their description answers.

    Returns one row per persona with a column per question that was asked, and notes on what was not.
    """
    rows: list[dict[str, Any]] = []
    known: set[str] = set()
    for rater in raters:
        if rater.persona is None:
            continue
        traits: dict[str, Any] = dict(rater.persona.traits())
        known |= {question.id for question in study.traits if question.id in traits}
        row: dict[str, Any] = {"rater": rater.id}
        # Later phases may depend on what was answered before.
        for phase in study.flow.questionnaires:
            while questions := [question for question in phase.asked(traits) if _askable(question)]:
                given = _answers(replace(rater, samples=1, design=None), questions, study, store, options)
                traits |= given
                row |= given
            traits |= {question.id: None for question in phase.part.questions if question.id not in traits}
        rows += [row, *({**row, "rater": in_language(rater, code).id} for code in study.plan.translations)]
    notes = []
    if known:
        notes.append(f"Not asked, because the personas say so themselves: {', '.join(sorted(known))}.")
    if unasked := [q.id for q in study.traits if not _askable(q) and q.id not in known] if rows else []:
        notes.append(
            f"Not asked of personas, because these are not choices or numbers in a range: {', '.join(unasked)}."
        )
    return pl.DataFrame(rows, infer_schema_length=None), notes


def with_traits(corpus: Corpus, traits: pl.DataFrame) -> Corpus:
    """The corpus with answers of raters as columns of the raters table."""
    new = [name for name in traits.columns if name != "rater"]
    if not new:
        return corpus
    raters = corpus.raters.join(traits, on="rater", how="left", suffix=" asked", maintain_order="left")
    for name in new:
        if f"{name} asked" in raters.columns:
            both = pl.coalesce(pl.col(f"{name} asked").cast(corpus.raters.schema[name], strict=False), name)
            raters = raters.with_columns(both.alias(name)).drop(f"{name} asked")
    return Corpus(corpus.items, raters, corpus.judgments, corpus.instruments, corpus.about)


def _askable(question: TraitPart) -> bool:
    if question.kind == "number":
        low, high = question.from_, question.to
        return low is not None and high is not None and 1 <= high - low <= 1000
    return question.kind == "choice"


def _answers(
    rater: ChatRater,
    questions: Sequence[TraitPart],
    study: AnnotationStudy,
    store: RunStore | Path,
    options: RunOptions | None,
) -> dict[str, Any]:
    """One persona's answers; null where a reply could not be read."""
    instrument = _instrument(questions, study)
    item = pl.DataFrame({"item": [HERE], "text": ["This is about you yourself, not about a text."]})
    plan = RunPlan.of(Corpus.of_items(item, instrument), rater, instrument)
    (judged,) = carried_out(plan, store, options).judged
    values: dict[str, float | None] = dict(judged.judgments.select("question", "value").iter_rows())
    given: dict[str, Any] = dict.fromkeys(question.id for question in questions)
    for question in questions:
        if (value := values.get(question.id)) is not None:
            given[question.id] = int(value) if question.kind == "number" else question.options[int(value)]
    return given


def _instrument(questions: Sequence[TraitPart], study: AnnotationStudy) -> Instrument:
    scales: dict[str, Any] = {}
    asked: list[dict[str, str]] = []
    for question in questions:
        options = [{"code": code, "label": label} for code, label in enumerate(question.options)]
        ratio = {"level": "ratio", "from": question.from_, "to": question.to}
        name = f"scale-{len(scales)}"
        scales[name] = ratio if question.kind == "number" else {"level": "nominal", "options": options}
        ask = question.ask.replace("{", "{{").replace("}", "}}")
        asked.append({"id": question.id, "title": question.id, "ask": ask, "scale": name})
    return Instrument.from_document(
        {
            "id": "about-you",
            "version": 1,
            "title": "About you",
            "description": f"Questions about the participants of the study '{study.id}'.",
            "language": study.instrument.language,
            "fields": [{"name": "text", "title": "Note"}],
            "guidelines": "Please answer these questions about yourself.",
            "scales": scales,
            "questions": asked,
        }
    )
