"""What a rehearsal shows: duration, cost, seats, who ended how, reliability, and which checks catch whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import polars as pl
from scipy.special import bdtr

from vantage.adaptive.simulated import RULES, WORTH, worth_on
from vantage.adaptive.simulated import VIEW as SAVINGS
from vantage.adaptive.until import Until
from vantage.collect.flow_document import AttentionPart, GoldPart
from vantage.collect.phases import accepts
from vantage.collect.study import AnnotationStudy
from vantage.collect.views import RaterRow
from vantage.measures import Column, Fact, Floats, View, alpha
from vantage.planning.model import RatingModel, StudyLayout
from vantage.recruit.base import at_once
from vantage.recruit.on_prolific import ProlificRecruiter
from vantage.recruit.people import people
from vantage.recruit.rehearsal.answering import ITEM, KINDS, OPTS_OUT, RATER, Guest, RehearsalAnswers
from vantage.recruit.rehearsal.walker import READING, Walker

SIMULATIONS: Final = 16
"""Tables of the design from which alpha and the width of its interval are predicted."""

VIEWS: Final = {
    "summary": View(
        "What the study will be",
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
        "How people ended, by kind",
        columns={"minutes": Column("minutes (median)", digits=1), "behaviour": Column("how they behave")},
    ),
    "reliability": View(
        "Krippendorff's alpha: predicted for the design, and as rehearsed",
        symbol="α",
        columns={
            "per_item": Column("ratings per item"),
            "raters": Column("people"),
            "predicted": Column("predicted alpha", digits=2),
            "predicted_width": Column("predicted width of its interval", digits=3),
            "estimate": Column("alpha in the rehearsal", digits=2, interval=("low", "high")),
            "width": Column("width in the rehearsal", digits=3),
        },
        says=(
            Fact(
                "Expected alpha, with the width of its interval: {rows}.",
                row="{question} {predicted} ({predicted_width})",
            ),
        ),
        sources=("krippendorff2018",),
    ),
    "checks": View(
        "Which checks catch whom",
        columns={
            "sensitivity": Column("careless people caught", percent=True, digits=0),
            "stated": Column("expected", percent=True, digits=0),
            "false_alarms": Column("careful people flagged", percent=True, digits=0),
        },
        says=(
            Fact(
                "The {check} catch {caught} of {careless} careless people and flag {flagged} of {careful} careful "
                "ones.",
                each=True,
            ),
        ),
        notes=("Expected is the chance that answers at random fail more checks than the study allows.",),
    ),
    "adapting": replace(
        SAVINGS,
        says=(
            Fact(
                "If people answer as in this rehearsal, an adaptive study would save ratings: {rows}.",
                row="{saved} on {question} (until {until})",
                where="worth",
                none="If people answer as in this rehearsal, an adaptive study is not worth it: no rule saves "
                f"{100 * WORTH:.0f} % of the ratings or more.",
            ),
        ),
    ),
    "stuck": View("Pages that people could not pass", columns={"why": Column("what the page said")}),
}
"""How each table is shown."""


@dataclass(frozen=True)
class Rehearsal:
    """The result of a rehearsal."""

    study: str
    summary: pl.DataFrame
    """One row."""
    outcomes: pl.DataFrame
    reliability: pl.DataFrame
    checks: pl.DataFrame
    """No rows where the study has no checks and nobody was flagged."""
    adapting: pl.DataFrame
    """What rules that give more ratings to some items than to others would save, by question."""
    stuck: pl.DataFrame
    """Pages that somebody could not pass; `nobody` says whether nobody could."""
    people: pl.DataFrame
    """One row per person: kind, outcome, code, minutes, whether they could continue on a phone."""
    assumes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MixedModel(RatingModel):
    """Answers of people some of whom answer at random, a share of the time."""

    random: tuple[float, ...] = ()
    """How often each of the people answers at random."""

    def answers(
        self, rng: np.random.Generator, *, items: int, per_item: int, raters: int, tables: int | None = None
    ) -> Floats:
        """See `RatingModel.answers`."""
        made = RatingModel.answers(self, rng, items=items, per_item=per_item, raters=raters, tables=tables)
        if not len(self.codes) or not self.random:
            return made
        who = np.arange(items * per_item).reshape(items, per_item) % raters
        chance = rng.choice(np.array(self.random), size=raters)[who]
        drawn = rng.integers(0, len(self.codes), size=made.shape)
        return np.asarray(np.where(rng.random(made.shape) < chance, drawn, made))


def results(
    recruiter: ProlificRecruiter, answers: RehearsalAnswers, walkers: list[Walker], unneeded: list[Guest]
) -> Rehearsal:
    """Pays those who finished, and puts everything together."""
    service, study = recruiter.service, recruiter.service.study
    at_once(recruiter, "approve")
    state = recruiter.state()
    by_submission = {person.submission: person for person in people(service, "prolific")}
    rows = {row.rater: row for row in service.researchers.raters(now=True)}
    overview = service.researchers.overview()
    wanted, answered = (sum(getattr(arm, name) for arm in overview.arms) for name in ("wanted", "answered"))
    open_seats = sum(arm.free + arm.reserved for arm in overview.arms)
    everyone: list[tuple[Any, ...]] = [
        (one.guest.number, one.guest.kind, one.outcome, one.code, one.seconds / 60, one.came_back) for one in walkers
    ]
    everyone += [(guest.number, guest.kind, "no place", "", None, None) for guest in unneeded]
    everybody = pl.DataFrame(everyone, schema=_PEOPLE, orient="row", infer_schema_length=None).sort("person")
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
        "places": state.places,
        "reward": state.reward / 100,
        "cost": (state.paid + state.bonuses + state.fees) / 100,
        "fees": state.fees / 100,
        "currency": state.currency,
        "hourly": None if state.hourly is None else round(state.hourly, 2),
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
    # What somebody says of an item again is no second rating of it.
    judgments = service.researchers.corpus().included().judgments.filter(sample=0)
    flags = [
        (walker.guest, rows.get(person.rater))
        for walker in walkers
        if (person := by_submission.get(walker.submission)) and walker.outcome == "finished"
    ]
    return Rehearsal(
        study.id,
        pl.DataFrame([summary]),
        outcomes,
        _reliability(study, judgments, answers, walkers),
        _checks(study, flags),
        _adapting(study, judgments),
        stuck,
        everybody,
        (
            f"latent shares of {100 * ITEM:.0f} % for items and {100 * RATER:.0f} % for people where there is no pilot",
            f"{100 * OPTS_OUT:.0f} % opt-outs",
            f"{READING * 60:.0f} words read in a minute",
            f"an offer for {recruiter.offer.minutes:g} minutes",
            f"seed {answers.seed}",
        ),
    )


_PEOPLE: Final = ("person", "kind", "outcome", "code", "minutes", "continued")
_ENDS: Final = ("finished", "ended early", "declined", "returned", "vanished", "stuck", "failed", "no place")


def _stuck(walkers: list[Walker]) -> pl.DataFrame:
    """Pages at which people gave up, with how many passed them."""
    at = Counter(walker.stuck_at for walker in walkers if walker.stuck_at)
    passed = Counter(name for walker in walkers for name in walker.passed)
    why = {walker.stuck_at: walker.why for walker in walkers if walker.stuck_at}
    rows = [
        {"page": name, "stuck": number, "passed": passed[name], "nobody": not passed[name], "why": why[name]}
        for name, number in at.most_common()
    ]
    schema = {"page": pl.String, "stuck": pl.Int64, "passed": pl.Int64, "nobody": pl.Boolean, "why": pl.String}
    return pl.DataFrame(rows, schema=schema)


def _checks(study: AnnotationStudy, flags: list[tuple[Guest, RaterRow | None]]) -> pl.DataFrame:
    """For each kind of check, how many careless people it catches and how many careful ones it flags."""
    rows = []
    tests: dict[str, Callable[[RaterRow], bool]] = {
        "attention checks": lambda row: any("attention checks" in flag for flag in row.flags),
        "gold items": lambda row: any("gold items" in flag for flag in row.flags),
        "statistics of answers": lambda row: any(not flag.startswith("failed ") for flag in row.flags),
    }
    for name, test in tests.items():
        caught = {kind: [bool(row and test(row)) for guest, row in flags if guest.kind == kind] for kind in KINDS}
        stated = _stated(study, name)
        if stated is None and not any(map(any, caught.values())):
            continue
        bad, good = caught["careless"], caught["careful"]
        rows.append(
            {
                "check": name,
                "careless": len(bad),
                "caught": sum(bad),
                "sensitivity": sum(bad) / len(bad) if bad else None,
                "stated": stated,
                "careful": len(good),
                "flagged": sum(good),
                "false_alarms": sum(good) / len(good) if good else None,
                "hasty_caught": sum(caught["hasty"]),
                "copying_caught": sum(caught["copying"]),
                "others_caught": sum(sum(caught[kind]) for kind in ("leaving", "phone")),
            }
        )
    return pl.DataFrame(rows)


def _stated(study: AnnotationStudy, name: str) -> float | None:
    """The chance that somebody who answers at random fails a larger share of checks than the study allows."""
    parts: list[AttentionPart | GoldPart] = []
    passes: list[float] = []
    for block in study.blocks:
        if name == "attention checks" and block.attention and block.checks:
            parts.append(block.attention)
            for check in block.checks.values():
                scale = block.instrument.question(check.question).scale
                passes.append(len(check.accept) / (len(scale.options) + len(scale.opt_outs)))
        elif name == "gold items" and block.gold_plan:
            parts.append(block.gold_plan)
            for gold in block.gold.values():
                chance = 1.0
                for question, accept in gold.accept.items():
                    scale = block.instrument.question(question).scale
                    codes = [o.code for o in scale.options]
                    chance *= sum(accepts(accept, code) for code in codes) / (len(codes) + len(scale.opt_outs))
                passes.append(chance)
    if not parts:
        return None
    seen = sum(one.per_batch for one in parts) * study.plan.batch.per_participant
    most = int(min(part.threshold for part in parts) * seen + 1e-9)
    return float(1 - bdtr(most, seen, 1 - float(np.mean(passes)))) if seen else None


def expected_alpha(model: RatingModel, layout: StudyLayout, seed: int) -> tuple[float, float]:
    """Alpha and the width of its interval, as the measure gives them on average for a design.

    >>> model = RatingModel.of_shares([0.0, 1.0], [0.5, 0.5], "nominal", item=0.5, rater=0.0)
    >>> [round(value, 1) for value in expected_alpha(model, StudyLayout(80, 5, 20), 0)]
    [0.4, 0.2]
    """
    rng = np.random.default_rng([seed, 4])
    unit = np.repeat(np.arange(layout.items), layout.per_item)
    who = np.arange(layout.answers) % layout.raters
    frame = pl.DataFrame({"item": unit, "rater": who}).cast(pl.String).with_columns(question=pl.lit("q"))
    pairs = []
    for _ in range(SIMULATIONS):
        made = model.answers(rng, items=layout.items, per_item=layout.per_item, raters=layout.raters).ravel()
        value = model.codes[made.astype(np.int64)] if len(model.codes) else made
        row = alpha(frame.with_columns(value=pl.Series(value)), level=model.level, resamples=300, seed=seed).row(
            0, named=True
        )
        if row["low"] is not None:
            pairs.append((row["estimate"], row["high"] - row["low"]))
    estimates, widths = zip(*pairs, strict=True) if pairs else ((float("nan"),), (float("nan"),))
    return float(np.mean(estimates)), float(np.mean(widths))


def _adapting(study: AnnotationStudy, judgments: pl.DataFrame) -> pl.DataFrame:
    """What the study's own rule would save on each question, or the usual rules where it has none."""
    own = study.plan.adaptive
    rules = [Until.parse(own.until)] if own else RULES
    rows = []
    for question in study.rated:
        answers = judgments.filter(pl.col("value").is_not_null(), question=question.id)
        codes = np.array(sorted(option.code for option in question.scale.options))
        if len(answers) and not question.scale.slides:
            saved = worth_on(answers, codes, [rule for rule in rules if rule.by_item])
            rows.append(saved.select(pl.lit(question.id).alias("question"), pl.exclude("sentence")))
    return pl.concat([row for row in rows if len(row)]) if any(map(len, rows)) else pl.DataFrame()


def _reliability(
    study: AnnotationStudy, judgments: pl.DataFrame, answers: RehearsalAnswers, walkers: list[Walker]
) -> pl.DataFrame:
    """Alpha of each question: as planned and with its interval's width, and as it came out."""
    chance = tuple(walker.guest.behaviour.random for walker in walkers if walker.outcome in ("finished", "vanished"))
    rows = []
    expected: dict[Any, tuple[float, float]] = {}
    asked = {(q.id, condition): q for b in study.blocks for g in b.groups for q in g for condition in b.conditions}
    for (_, condition), question in asked.items():
        part = judgments.filter(question=question.id, condition=condition)
        if part.is_empty() or question.scale.range is not None or question.scale.text:
            continue
        level, model = question.scale.level, answers.models[question.id]
        row = alpha(part, level=level, seed=answers.seed).row(0, named=True)
        items, raters = part["item"].n_unique(), part["rater"].n_unique()
        per_item = max(2, round(len(part) / items))
        mixed = MixedModel(model.codes, model.level, model.cuts, model.item, model.rater, chance)
        layout = StudyLayout(items, per_item, raters)
        design = (level, model.codes.tobytes(), model.cuts.tobytes(), model.item, model.rater, layout)
        if design not in expected:
            expected[design] = expected_alpha(mixed, layout, answers.seed)
        predicted, width = expected[design]
        low, high = row["low"], row["high"]
        rows.append(
            {
                "question": question.id,
                "condition": condition or None,
                "items": items,
                "per_item": per_item,
                "raters": raters,
                "predicted": predicted,
                "predicted_width": width,
                "estimate": row["estimate"],
                "low": low,
                "high": high,
                "width": None if low is None else high - low,
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)
