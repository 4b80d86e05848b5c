"""Data quality during collection: agreement and reliability, raters to review, and decisions about them.

Measures compute quality. A researcher decides, or a rule of the study file when a rater finishes.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from statistics import median
from typing import Any, Final

import numpy as np
import polars as pl
from sqlalchemy import Connection, select
from sqlalchemy.engine import Row

from vantage.collect import assignment
from vantage.collect.copied_reasons import GivenReasons
from vantage.collect.document import RaterFact, Rule
from vantage.collect.export import RESEARCHER, Collected, passed_check
from vantage.collect.private import code_of
from vantage.collect.study import AnnotationStudy
from vantage.collect.tables import change, items, pages, reviews, submissions
from vantage.collect.views import RaterRow, Verdict
from vantage.instruments import Question, grouped
from vantage.measures.kinds import ALLOCATION, CORE

COLUMNS: Final = (
    *("question", "condition", "measure", "estimate", "low", "high", "items", "raters", "judgments", "reason"),
    "options",
)
RULE: Final = "rule"
CHECKS: Final = {"attention": "attention checks", "gold": "gold items"}
BESIDE_ORDER: Final = ("answers run", "agrees little", "lies ", "uses ")
"""First words of flags that compare answers as numbers, which means nothing on a nominal scale."""


def included(answers: Collected) -> pl.DataFrame:
    """The judgments of raters who are not excluded."""
    out = answers.people.filter(pl.col("verdict") == "excluded")["rater"]
    return answers.judgments.filter(~pl.col("rater").is_in(out.implode()))


def reliability(study: AnnotationStudy, judgments: pl.DataFrame, *, resamples: int = 500) -> pl.DataFrame:
    """Agreement and reliability by question and condition, with intervals; only measures that suit the scale.

    Pairwise agreement, Krippendorff's alpha and split-half reliability, of the first answer of each rater to an item.
    """
    from vantage.measures import alpha, pairwise, split_half

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
    known: Mapping[int, Mapping[str, RaterFact]],
) -> list[RaterRow]:
    """One row per rater with answers, flagged raters first.

    `pages` is how many pages each has answered, and has in all; `known` is what rules look at.
    """
    rules = [part.flag for part in study.plan.rules if part.flag]
    copied = _copied(study, answers.judgments)
    profiles, counted = _profiles(study, answers.judgments), included(answers)
    if len(counted) < len(answers.judgments):
        profiles |= _profiles(study, counted)  # those who count are compared with each other
    rows = []
    for person in answers.people.iter_rows(named=True):
        rater = person["rater"]
        profile = profiles.get(rater, {})
        own = known.get(person["number"], {})
        answered, shown = pages.get(person["number"], (0, 0))
        if not answered and person["verdict"] == "pending":
            continue
        (attention_failed, attention_seen), (gold_failed, gold_seen) = (_failed(own, kind) for kind in CHECKS)
        rows.append(
            RaterRow(
                **{name: person[name] for name in ("rater", "number", "stage", "verdict", "note", "evidence", "rule")},
                condition="" if person["arm"] is None else study.block_of_arm(person["arm"]).condition(person["arm"]),
                answered=answered,
                pages=shown,
                attention_failed=attention_failed,
                attention_seen=attention_seen,
                gold_failed=gold_failed,
                gold_seen=gold_seen,
                seconds=own["seconds"].value if "seconds" in own else None,
                consistency=profile.get("estimate"),
                agreement=profile.get("agreement"),
                top_share=profile.get("top_share"),
                longest_run=profile.get("longest_run"),
                flags=(
                    *_failures(study, own),
                    *(f"rule: {rule}" for rule in rules if Rule.parse(rule).breaks(own)),
                    *copied.get(rater, ()),
                    *profile.get("flags", ()),
                ),
                decided=_decided(person),
                code=code_of(secret, rater) if person["source"] == "mturk" else None,
            )
        )
    return sorted(rows, key=lambda row: (row.verdict != "pending", -len(row.flags), row.number))


def _decided(person: Mapping[str, Any]) -> str:
    if person["at"] is None:
        return ""
    when = datetime.fromtimestamp(person["at"], UTC).strftime("%Y-%m-%d %H:%M UTC")
    who = {RULE: "the rule", RESEARCHER: "a researcher"}.get(person["decided_by"], person["decided_by"])
    return f"decided by {who}, {when}"


def _copied(study: AnnotationStudy, judgments: pl.DataFrame) -> dict[str, list[str]]:
    """Flags of raters whose reasons nearly copy those of models, or of other people, about the same items."""
    given: dict[str, list[tuple[str, str, str]]] = {}
    for rater, item, question, text in judgments.select("rater", "item", "question", "rationale").iter_rows():
        if text:
            given.setdefault(rater, []).append((item, question, text))
    # Among many people, two give one reason that is alike by chance.
    sources = ((study.model_reasons, 1), (GivenReasons(judgments), 2))
    flags: dict[str, list[str]] = {}
    for rater, reasons in given.items():
        for source, least in sources:
            counts, of = source.copied(reasons, rater)
            words = [f"{n} of {of} reasons nearly copy those of {who}" for who, n in counts.items() if n >= least]
            flags.setdefault(rater, []).extend(words)
    return flags


def _failed(known: Mapping[str, RaterFact], kind: str) -> tuple[int, int]:
    """How many checks of a kind a rater failed, of how many."""
    fact = known.get(f"failed {kind}", RaterFact(0.0, 0))
    return round(fact.value * fact.of), fact.of


def _failures(study: AnnotationStudy, known: Mapping[str, RaterFact]) -> list[str]:
    flags = []
    for kind, words in CHECKS.items():
        plans = [block.attention if kind == "attention" else block.gold_plan for block in study.blocks]
        failed, seen = _failed(known, kind)
        allowed = min((plan.threshold for plan in plans if plan is not None), default=1.0)
        if seen and failed / seen > allowed:
            flags.append(f"failed {failed} of {seen} {words}")
    return flags


def _profiles(study: AnnotationStudy, judgments: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """The rater quality measure, computed per question and combined for every rater.

    Shares and correlations are means over the questions, weighted by judgments; a run is the longest of any question,
    because straight-lining shows within a question, not across them.
    """
    from vantage.measures import rater_quality

    judgments = _as_asked(study, judgments.filter(pl.col("question").is_in([question.id for question in study.rated])))
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


def _as_asked(study: AnnotationStudy, judgments: pl.DataFrame) -> pl.DataFrame:
    """Options that apply together as one answer: a code for each set of them, under the name of their question."""
    parts = {
        q.id: (q.whole.id, float((len(g) + 1 if q.whole.ranked else 2) ** n))
        for g in grouped(study.rated)
        for n, q in enumerate(g)
        if q.whole is not None
    }
    if not parts:
        return judgments
    of_part = pl.col("question").is_in([*parts])
    code = pl.col("value") * pl.col("question").replace_strict({name: bit for name, (_, bit) in parts.items()})
    key = [name for name in ("item", "question", "rater", "condition", "sample") if name in judgments.columns]
    wholes = pl.col("question").replace_strict({name: whole for name, (whole, _) in parts.items()})
    joined = (
        judgments.filter(of_part)
        .with_columns(code.alias("value"), wholes.alias("question"))
        .group_by(key, maintain_order=True)
        .agg(
            pl.when(pl.col("value").is_not_null().all()).then(pl.col("value").sum()), pl.all().exclude("value").first()
        )
    )
    return pl.concat([judgments.filter(~of_part), joined.select(judgments.columns)])


def _mean(rows: list[dict[str, Any]], name: str) -> float | None:
    known = [(row[name], row["judgments"]) for row in rows if row[name] is not None and row["judgments"]]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total else None


def decide(
    connection: Connection, person: Row[Any], verdict: Verdict, note: str, *, rule: str = "", by: str = RESEARCHER
) -> None:
    """Records a verdict with who decided and the rule applied, and assigns the work of an excluded rater to others."""
    if verdict == "excluded":
        assignment.release(connection, person.number, ["answered"])
        assignment.release(connection, person.number, ["open"], becomes="lapsed")
        assignment.free_quotas(connection, [person.number])
    elif person.verdict == "excluded":
        own = (pages.c.participant == person.number, pages.c.state == "answered", pages.c.kind == "item")
        for page in connection.execute(select(pages).where(*own, pages.c.seat.is_(None))).all():
            assignment.reclaim(connection, page.id, page.arm, page.row)
    # A participant who is still working gets the open pages back on their next request.
    lease = None if verdict == "excluded" else person.lease
    change(connection, person.number, verdict=verdict, note=note, rule=rule, lease=lease)
    review = {"participant": person.number, "verdict": verdict, "note": note, "rule": rule}
    connection.execute(reviews.insert(), {**review, "decided_by": by, "at": time.time()})


def apply_rules(connection: Connection, study: AnnotationStudy, person: Row[Any]) -> None:
    """Excludes a rater who breaks a rule of the study file; a researcher's verdict stands."""
    if person.verdict != "pending" or not any(part.exclude for part in study.plan.rules):
        return
    known = facts(connection, study, person.number).get(person.number, {})
    for part in study.plan.rules:
        if part.exclude and Rule.parse(part.exclude).breaks(known):
            decide(connection, person, "excluded", "", rule=part.exclude, by=RULE)
            return


def facts(
    connection: Connection, study: AnnotationStudy, participant: int | None = None
) -> dict[int, dict[str, RaterFact]]:
    """What rules look at, from the current answers of one participant or of all, by their number."""
    own = () if participant is None else (pages.c.participant == participant,)
    query = (
        select(*(pages.c[name] for name in ("participant", "kind", "check", "question_set")), items.c.item)
        .add_columns(submissions.c.answers, submissions.c.seconds)
        .join(submissions, (submissions.c.page == pages.c.id) & (submissions.c.revision == pages.c.revision))
        .outerjoin(items, items.c.row == pages.c.row)
        .where(*own, pages.c.state == "answered")
        .order_by(pages.c.participant, pages.c.batch, pages.c.position)
    )
    return {
        number: _facts(study, [(*page, json.loads(answered), seconds) for _, *page, answered, seconds in rows])
        for number, rows in groupby(connection.execute(query), key=itemgetter(0))
    }


def _facts(study: AnnotationStudy, seen: Sequence[tuple[Any, ...]]) -> dict[str, RaterFact]:
    by_name: dict[str, RaterFact] = {}
    for name in CHECKS:
        tested = [(check, group, answered.items()) for kind, check, group, _, answered, _ in seen if kind == name]
        results = []
        for check, group, given in tested:
            passed = [passed_check(study.block(group), name, check, question, answer[0]) for question, answer in given]
            results.append(False in passed)
        if results:
            by_name[f"failed {name}"] = RaterFact(sum(results) / len(results), len(results))
    judged = [(item, answered, seconds) for kind, _, _, item, answered, seconds in seen if kind == "item"]
    if times := [seconds for _, _, seconds in judged if seconds is not None]:
        by_name["seconds"] = RaterFact(median(times), len(times))
    by_name |= repetition(study.questions, [answered for _, answered, _ in judged])
    reasons = [(item, name, answer[2]) for item, answered, _ in judged for name, answer in answered.items()]
    copied, compared = study.model_reasons.copied(one for one in reasons if one[2])
    if compared:
        by_name["copied reasons"] = RaterFact(copied.total() / compared, compared)
    return by_name


def repetition(questions: Sequence[Question], judged: Sequence[Mapping[str, Any]]) -> dict[str, RaterFact]:
    """How much somebody repeats an answer on pages in their order: the share of the most frequent one, the longest run.

    What is asked as one is one answer: the options that apply together, not each option. Of several questions on the
    pages the one that is repeated least counts, because an answer that hardly varies between items says nothing about a
    rater. Answers in own words count where nothing else is asked.

    >>> from vantage import Instrument
    >>> pages = [{"irony": [float(n == 3), "answered", None]} for n in range(10)]
    >>> repetition(Instrument.load("irony").questions, pages)["same answer"]
    RaterFact(value=0.9, of=10)
    """
    given: dict[bool, list[list[str]]] = {True: [], False: []}
    for group in grouped(questions):
        # How sure people are, and what they expect of others, may well be the same everywhere; words never are.
        names, text = [q.id for q in group if not (q.confidence or q.others or q.marks)], bool(group[0].scale.text)
        if seen := [own for page in judged if (own := [page[name] for name in names if name in page])]:
            # Of an answer in own words its text, of others the code, the status and the shares.
            given[text].append([str([one[2:3] if text else one[:2] + one[4:] for one in page]) for page in seen])
    fields = given[False] or given[True]
    if not fields:
        return {}
    many = min(map(len, fields))
    runs = min(max(len([*run]) for _, run in groupby(field)) for field in fields)
    same = min(max(Counter(field).values()) / len(field) for field in fields)
    return {"longest run": RaterFact(runs, many), "same answer": RaterFact(same, many)}
