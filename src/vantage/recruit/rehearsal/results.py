"""What a rehearsal shows: duration, cost, seats, who ended how, reliability, and which checks catch whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np
import polars as pl

from vantage.collect.service import StudyService
from vantage.collect.study import AnnotationStudy
from vantage.collect.views import RaterRow
from vantage.measures import Column, Fact, View
from vantage.recruit.draft import offer_of, reward
from vantage.recruit.people import failed_checks, people_by_id
from vantage.recruit.rehearsal.answering import ITEM, KINDS, OPTS_OUT, RATER, Guest, RehearsalAnswers
from vantage.recruit.rehearsal.walker import READING, Walker

FEE: Final = 1 / 3
"""What Prolific takes beside what it pays out."""
VAT: Final = 0.2

VIEWS: Final = {
    "summary": View(
        "Forecast",
        columns={
            "median_minutes": Column("minutes (median)", digits=1),
            "slow_minutes": Column("minutes (90 %)", digits=1),
            "cost": Column("cost, with fees and tax", digits=2),
            "fees": Column("fees and tax", digits=2),
            "reward": Column(digits=2),
            "hourly": Column("pay per hour", digits=2),
        },
        says=(
            Fact(
                "{finished} of {came} people finished, in a median of {median_minutes} minutes; one in ten took more "
                "than {slow_minutes}."
            ),
            Fact("{answered} of {wanted} ratings were given; {open} seats are open."),
            Fact("Those who finished cost {cost} {currency}, fees and tax included, at {hourly} {currency} an hour."),
            Fact("{verdict}"),
        ),
    ),
    "outcomes": View(
        "Outcomes by kind of person",
        columns={"minutes": Column("minutes (median)", digits=1), "behaviour": Column("how they behave")},
    ),
    "reliability": View(
        "Krippendorff's alpha, as rehearsed",
        symbol="α",
        columns={
            "per_item": Column("ratings per item"),
            "raters": Column("people"),
            "estimate": Column("alpha", digits=2, interval=("low", "high")),
        },
        sources=("krippendorff2018",),
    ),
    "checks": View(
        "Which checks catch whom",
        columns={
            "sensitivity": Column("careless people caught", percent=True, digits=0),
            "false_alarms": Column("careful people flagged", percent=True, digits=0),
        },
        says=(
            Fact(
                "The {check} catch {caught} of {careless} careless people and flag {flagged} of {careful} careful "
                "ones.",
                each=True,
            ),
        ),
    ),
    "stuck": View("Pages that people could not pass", columns={"why": Column("what the page said")}),
}


@dataclass(frozen=True)
class Rehearsal:
    """The result of a rehearsal."""

    study: str
    summary: pl.DataFrame
    outcomes: pl.DataFrame
    reliability: pl.DataFrame
    checks: pl.DataFrame
    """No rows where the study has no checks and nobody was flagged."""
    stuck: pl.DataFrame
    """Pages that somebody could not pass; `nobody` says whether nobody could."""
    people: pl.DataFrame
    """One row per person: kind, outcome, code, minutes, whether they could continue on a phone."""
    assumes: tuple[str, ...]


def results(
    service: StudyService, answers: RehearsalAnswers, minutes: float, walkers: list[Walker], unneeded: list[Guest]
) -> Rehearsal:
    """Counts what those who finished cost, and puts everything together."""
    study, offer = service.study, offer_of(service.study)
    by_id = people_by_id(service)
    rows = {row.rater: row for row in service.researchers.raters(now=True)}
    overview = service.researchers.overview()
    wanted, answered = (sum(getattr(arm, name) for arm in overview.arms) for name in ("wanted", "answered"))
    open_seats = sum(arm.free + arm.reserved for arm in overview.arms)
    came = [
        (one.guest.number, one.guest.kind, one.outcome, one.code, one.seconds / 60, one.came_back) for one in walkers
    ]
    others = [(guest.number, guest.kind, "no place", "", None, None) for guest in unneeded]
    everybody = pl.DataFrame([*came, *others], schema=_PEOPLE, orient="row", infer_schema_length=None).sort("person")
    finished = everybody.filter(outcome="finished")
    times = finished["minutes"].to_numpy() if len(finished) else np.array([np.nan])
    verdict = "Everything that was wanted was collected."
    if open_seats:
        per_person = max(answered / max(len(finished), 1), 1e-9)
        verdict = (
            f"About {round(open_seats / per_person):,} more people are needed." if answered else "Nobody finished."
        )
    stuck = _stuck(walkers)
    if len(stuck) and stuck["nobody"].any():
        verdict += f" {int(stuck['nobody'].sum())} page(s) nobody could pass."
    failed, each = failed_checks(service), reward(offer, minutes)
    done = [one for one in by_id.values() if one.stage == "finished" and one.verdict != "excluded"]
    paid = each * sum(one.rater not in failed for one in done)
    fees = round(paid * FEE * (1 + VAT))
    spent = [taken for one in done if (taken := one.minutes)]
    summary = {
        "people": len(everybody),
        "came": len(walkers),
        "finished": len(finished),
        "screened_out": int((everybody["outcome"] == "ended early").sum()),
        "declined": int((everybody["outcome"] == "declined").sum()),
        "left": int(everybody["outcome"].is_in(["returned", "vanished"]).sum()),
        "not_needed": len(unneeded),
        "median_minutes": float(np.median(times)),
        "slow_minutes": float(np.quantile(times, 0.9)),
        "wanted": wanted,
        "answered": answered,
        "open": open_seats,
        "reward": each / 100,
        "cost": (paid + fees) / 100,
        "fees": fees / 100,
        "currency": offer.currency,
        "hourly": round(each / 100 / median(spent) * 60, 2) if spent else None,
        "verdict": verdict,
    }
    outcomes = (
        everybody.group_by("kind", maintain_order=True)
        .agg(
            pl.len().alias("people"),
            *((pl.col("outcome") == one).sum().alias(one.replace(" ", "_")) for one in _ENDS),
            pl.col("minutes").filter(pl.col("outcome") == "finished").median(),
        )
        .with_columns(pl.col("kind").replace_strict({kind: b.says for kind, b in KINDS.items()}).alias("behaviour"))
        .sort("people", descending=True)
    )
    flags = [
        (walker.guest, rows.get(person.rater))
        for walker in walkers
        if (person := by_id.get(walker.guest.id)) and walker.outcome == "finished"
    ]
    alpha = service.researchers.reliability().filter(pl.col("measure") == "alpha")
    per_item = (pl.col("judgments") / pl.col("items")).fill_nan(None).round().cast(pl.Int64).alias("per_item")
    names = ("question", "condition", "items", per_item, "raters", "estimate", "low", "high")
    return Rehearsal(
        study.id,
        pl.DataFrame([summary]),
        outcomes,
        alpha.select(names) if len(alpha) else pl.DataFrame(),
        _checks(study, flags),
        stuck,
        everybody,
        (
            f"latent shares of {100 * ITEM:.0f} % for items and {100 * RATER:.0f} % for people where there is no pilot",
            f"{100 * OPTS_OUT:.0f} % opt-outs",
            f"{READING * 60:.0f} words read in a minute",
            f"an offer for {minutes:g} minutes",
            f"fees of {100 * FEE:.0f} % with {100 * VAT:.0f} % VAT",
            f"seed {answers.seed}",
        ),
    )


_PEOPLE: Final = ("person", "kind", "outcome", "code", "minutes", "continued")
_ENDS: Final = ("finished", "ended early", "declined", "returned", "vanished", "stuck", "failed", "no place")


def _stuck(walkers: list[Walker]) -> pl.DataFrame:
    at = Counter(walker.stuck_at for walker in walkers if walker.stuck_at)
    passed = Counter(name for walker in walkers for name in walker.passed)
    why = {walker.stuck_at: walker.why for walker in walkers if walker.stuck_at}
    rows = [(name, number, passed[name], not passed[name], why[name]) for name, number in at.most_common()]
    schema = {"page": pl.String, "stuck": pl.Int64, "passed": pl.Int64, "nobody": pl.Boolean, "why": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _checks(study: AnnotationStudy, flags: list[tuple[Guest, RaterRow | None]]) -> pl.DataFrame:
    """For each kind of check, how many careless people it catches and how many careful ones it flags."""
    rows = []
    tests: dict[str, tuple[bool, Callable[[str], bool]]] = {
        "attention checks": (any(b.attention for b in study.blocks), lambda flag: "attention checks" in flag),
        "gold items": (any(b.gold_plan for b in study.blocks), lambda flag: "gold items" in flag),
        "statistics of answers": (False, lambda flag: not flag.startswith("failed ")),
    }
    for name, (used, test) in tests.items():
        caught = {
            kind: [any(map(test, row.flags if row else ())) for one, row in flags if one.kind == kind] for kind in KINDS
        }
        if not (used or any(map(any, caught.values()))):
            continue
        bad, good = caught["careless"], caught["careful"]
        rows.append(
            {
                "check": name,
                "careless": len(bad),
                "caught": sum(bad),
                "sensitivity": sum(bad) / len(bad) if bad else None,
                "careful": len(good),
                "flagged": sum(good),
                "false_alarms": sum(good) / len(good) if good else None,
                "hasty_caught": sum(caught["hasty"]),
                "copying_caught": sum(caught["copying"]),
                "others_caught": sum(sum(caught[kind]) for kind in ("leaving", "phone")),
            }
        )
    return pl.DataFrame(rows)
