"""Data quality during collection: agreement and reliability, and raters to review, computed by the measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.collect.export import Collected
from vantage.collect.pseudonyms import code_of
from vantage.collect.study import AnnotationStudy
from vantage.collect.views import RaterRow
from vantage.measures.kinds import ALLOCATION, CORE

COLUMNS: Final = (
    *("question", "condition", "measure", "estimate", "low", "high", "items", "raters", "judgments", "reason"),
    "options",
)
BESIDE_ORDER: Final = ("answers run", "agrees little", "answers +", "answers -", "uses ")
"""First words of flags that compare answers as numbers, which means nothing on a nominal scale."""


def included(answers: Collected) -> pl.DataFrame:
    """The judgments of raters who are not excluded."""
    out = answers.people.filter(pl.col("verdict") == "excluded")["rater"]
    return answers.judgments.filter(~pl.col("rater").is_in(out.implode()))


def reliability(study: AnnotationStudy, judgments: pl.DataFrame, *, resamples: int = 500) -> pl.DataFrame:
    """Agreement and reliability by question and condition, with intervals; only measures that suit the scale.

    Pairwise agreement, Krippendorff's alpha and split-half reliability, of the first answer of each rater to an item.
    """
    from vantage.measures.agreement.alpha import alpha
    from vantage.measures.agreement.pairwise import pairwise
    from vantage.measures.reliability.split_half import split_half

    rows: list[pl.DataFrame] = []
    by = ["question", "condition"]
    for question in study.rated:
        part, level = judgments.filter(question=question.id, sample=0), question.scale.level
        if part.is_empty():
            continue
        rows.append(pairwise(part, by=by, resamples=resamples))
        rows.append(alpha(part, by=by, level=level, resamples=resamples))
        if level != "nominal":
            rows.append(split_half(part, by=by, splits=resamples))
    if not rows:
        return pl.DataFrame(schema=dict.fromkeys(COLUMNS, pl.String))
    short = [row.select(column for column in COLUMNS if column in row.columns) for row in rows]
    return pl.concat(short, how="diagonal_relaxed")


def sequential(
    study: AnnotationStudy, judgments: pl.DataFrame, pools: Mapping[tuple[str, str], int]
) -> list[dict[str, Any]]:
    """Alpha by question and condition, with an interval that holds at all looks together, and what to do now.

    `pools` is how many items there are to judge. Only the core of an adaptive study counts, and of a rater who judges
    an item again only the first answer.
    """
    from vantage.adaptive.sequential import AIM, always_valid
    from vantage.adaptive.until import Until

    rule = Until.parse(study.plan.adaptive.until) if study.plan.adaptive else None
    aim = rule.target if rule is not None and not rule.by_item else AIM
    if ALLOCATION in judgments.columns:
        judgments = judgments.filter(pl.col(ALLOCATION) == CORE)
    answered = judgments.filter(pl.col("value").is_not_null(), pl.col("sample") == 0)
    rows = []
    for question in study.rated:
        for condition in study.conditions:
            part = answered.filter(question=question.id, condition=condition)
            if part.is_empty():
                continue
            items = pools[question.id, condition]
            unit, rater = (part[name].rank("dense").to_numpy().astype(np.int64) for name in ("item", "rater"))
            bounds = always_valid(unit, rater, part["value"].to_numpy(), question.scale.level, aim=aim, items=items)
            row = {"question": question.id, "condition": condition, **asdict(bounds), "more": bounds.more}
            row["sentence"] = bounds.sentence
            if rule is not None and rule.by_item and bounds.more != 0 and bounds.ratings >= items * study.plan.core:
                row["sentence"] = "The core is complete; ratings beyond it do not narrow this interval."
            rows.append(row)
    return rows


def rater_rows(
    study: AnnotationStudy,
    answers: Collected,
    pages: Mapping[int, tuple[int, int]],
    secret: str,
    broken: Mapping[int, Sequence[str]],
) -> list[RaterRow]:
    """One row per rater with answers, flagged raters first.

    `pages` is how many pages each has answered, and has in all; `broken` are the rules that each breaks.
    """
    copied = _copied(study, answers.judgments)
    profiles, counted = _profiles(study, answers.judgments), included(answers)
    if len(counted) < len(answers.judgments):
        profiles |= _profiles(study, counted)  # those who count are compared with each other
    checks = _checks(answers.checks)
    times = dict(answers.judgments.group_by("rater").agg(pl.col("seconds").median()).iter_rows())
    rows = []
    for person in answers.people.iter_rows(named=True):
        rater = person["rater"]
        profile = profiles.get(rater, {})
        tested = checks.get(rater, {})
        answered, shown = pages.get(person["number"], (0, 0))
        if not answered and not tested and person["verdict"] == "pending":
            continue
        rows.append(
            RaterRow(
                **{name: person[name] for name in ("rater", "number", "stage", "verdict", "note", "evidence", "rule")},
                condition="" if person["arm"] is None else study.block_of_arm(person["arm"]).condition(person["arm"]),
                answered=answered,
                pages=shown,
                attention_failed=tested.get(("attention", False), 0),
                attention_seen=sum(n for (kind, _), n in tested.items() if kind == "attention"),
                gold_failed=tested.get(("gold", False), 0),
                gold_seen=sum(n for (kind, _), n in tested.items() if kind == "gold"),
                seconds=times.get(rater),
                consistency=profile.get("estimate"),
                agreement=profile.get("agreement"),
                top_share=profile.get("top_share"),
                longest_run=profile.get("longest_run"),
                flags=(
                    *_failures(study, tested),
                    *(f"rule: {rule}" for rule in broken.get(person["number"], ())),
                    *copied.get(rater, ()),
                    *profile.get("flags", ()),
                ),
                decided=_decided(person),
                code=code_of(secret, rater) if person["source"] == "mturk" else None,
            )
        )
    return sorted(rows, key=lambda row: (row.verdict != "pending", -len(row.flags), row.number))


def _decided(person: Mapping[str, Any]) -> str:
    """Who made the latest decision about a participant, and when."""
    if person["at"] is None:
        return ""
    when = datetime.fromtimestamp(person["at"], UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"decided by {'the rule' if person['decided_by'] == 'rule' else 'a researcher'}, {when}"


def _copied(study: AnnotationStudy, judgments: pl.DataFrame) -> dict[str, list[str]]:
    """Flags of raters whose reasons nearly copy those of models about the same items."""
    if not study.model_reasons:
        return {}
    given: dict[str, list[tuple[str, str, str]]] = {}
    for rater, *reason in judgments.select("rater", "item", "question", "rationale").drop_nulls().iter_rows():
        given.setdefault(rater, []).append((reason[0], reason[1], reason[2]))
    flags: dict[str, list[str]] = {}
    for rater, reasons in given.items():
        counts, compared = study.model_reasons.copied(reasons)
        flags[rater] = [f"{n} of {compared} reasons nearly copy those of {model}" for model, n in counts.items()]
    return flags


def _checks(checks: pl.DataFrame) -> dict[str, dict[tuple[str, bool], int]]:
    """Pages of each kind that every rater passed and failed; one wrong answer fails a page."""
    by_page = checks.group_by("rater", "kind", "check", "batch", "position").agg(pl.col("passed").all())
    counts: dict[str, dict[tuple[str, bool], int]] = {}
    for rater, kind, passed, n in by_page.group_by("rater", "kind", "passed").len().iter_rows():
        counts.setdefault(rater, {})[kind, passed] = n
    return counts


def _failures(study: AnnotationStudy, tested: Mapping[tuple[str, bool], int]) -> list[str]:
    flags = []
    for kind, plans, words in (
        ("attention", [block.attention for block in study.blocks], "attention checks"),
        ("gold", [block.gold_plan for block in study.blocks], "gold items"),
    ):
        failed, seen = tested.get((kind, False), 0), sum(n for (k, _), n in tested.items() if k == kind)
        allowed = min((plan.threshold for plan in plans if plan is not None), default=1.0)
        if seen and failed / seen > allowed:
            flags.append(f"failed {failed} of {seen} {words}")
    return flags


def _profiles(study: AnnotationStudy, judgments: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """The rater quality measure, computed per question and combined for every rater.

    Shares and correlations are means over the questions, weighted by judgments; a run is the longest of any question,
    because straight-lining shows within a question, not across them.
    """
    from vantage.measures.reliability.rater_quality import rater_quality

    judgments = judgments.filter(pl.col("question").is_in([question.id for question in study.rated]))
    if judgments.is_empty():
        return {}
    # Two options are ordered: more or less of one of them.
    ordered = {q.id for q in study.rated if q.scale.ordered or len(q.scale.options) == 2}
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in rater_quality(judgments, by="question").iter_rows(named=True):
        if row["question"] not in ordered:
            row["estimate"] = None
            row["flags"] = [flag for flag in row["flags"] if not flag.startswith(BESIDE_ORDER)]
        rows.setdefault(row["rater"], []).append(row)
    several = judgments["question"].n_unique() > 1
    return {
        rater: {
            **{name: _mean(own, name) for name in ("estimate", "agreement", "top_share")},
            "longest_run": max((row["longest_run"] for row in own if row["longest_run"] is not None), default=None),
            "flags": [f"{row['question']}: {flag}" if several else flag for row in own for flag in row["flags"]],
        }
        for rater, own in rows.items()
    }


def _mean(rows: list[dict[str, Any]], name: str) -> float | None:
    known = [(row[name], row["judgments"]) for row in rows if row[name] is not None and row["judgments"]]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total else None
