"""The flow of a study put to models: the same blocks, items, conditions, instruments and repeats as for people.

A model sees each item by itself, so orders and distances do not matter, and it judges every item under every condition.
Its prompts hold the guidelines; consent, screener, questionnaires, training, quiz and debriefing concern people only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from vantage.collect.study import AnnotationStudy
from vantage.collect.study_setup import rows_of
from vantage.instruments import Instrument
from vantage.raters.chat import ChatRater
from vantage.runs.plan import PlanPart, RunPlan


def flow_plan(study: AnnotationStudy, raters: Sequence[ChatRater]) -> RunPlan:
    """What a flow asks of every rater; an item that returns under the same condition is a further sample."""
    every = study.corpus.scan("items").select("item").collect()["item"]
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
    parts = []
    for (_, questions, condition), (instrument, times) in asked.items():
        for count in sorted(set(times.values())):
            part = study.corpus.filter(item=[item for item in every if times[item] == count])
            parts += [
                PlanPart(replace(rater, samples=rater.samples * count), part, instrument, questions, condition)
                for rater in raters
            ]
    study.corpus.check_scales(*{part.used.id: part.used for part in parts}.values())
    return RunPlan(tuple(parts))


def flow_notes(study: AnnotationStudy) -> list[str]:
    """What of the flow is not put to models, in sentences."""
    stages = dict.fromkeys(phase.stage for phase in study.flow.phases if phase.stage not in ("guidelines", "working"))
    names = ", ".join(stages).replace("traits", "questionnaires")
    notes = [f"For people only, and not asked: {names}."] if names else []
    if any(block.presentation for block in study.blocks):
        notes.append("Questions are put as in the instrument; vary their presentation with --vary.")
    if study.plan.translations:
        notes.append(f"Asked in '{study.language}' only, the study's first language.")
    return notes
