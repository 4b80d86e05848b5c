"""Every specification of a conclusion, computed with the measures as they are, and what follows from all of them.

Judgments are selected once for all specifications that use them, and a measure is asked once for the estimates of all
blocks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.measures import find
from vantage.measures.intervals import SHARES, Spread, interval
from vantage.robust.conclusion import Conclusion
from vantage.robust.joint import BLOCK, Blocks, Floats, JointTest
from vantage.robust.universe import MOST, Universe, default_universe

OF_INTERVALS: Final = ("ci", "resamples", "confidence", "seed")
"""Options that change intervals and no estimate."""
SAID: Final = ("estimate", "low", "high", "p", "verdict")
FIXED: Final = ("specification", *SAID, "same", "changes", "items", "raters", "judgments", "command")
"""The columns of a specification besides its choices."""
COMBINED: Final = "combinations of these"


@dataclass(frozen=True)
class Multiverse:
    """A conclusion in all of its specifications."""

    conclusion: Conclusion
    universe: Universe
    specifications: pl.DataFrame
    """One row per specification, the claimed one first."""
    importance: pl.DataFrame
    """One row per decision: its share of the variation."""
    rules: pl.DataFrame
    """Why combinations were excluded, and how many."""
    joint: JointTest | None
    decisions: tuple[str, ...]
    """The columns of the choices."""

    @property
    def claimed(self) -> dict[str, Any]:
        """The row that was claimed."""
        return self.specifications.row(0, named=True)

    @property
    def same(self) -> float:
        """The share of specifications with the same verdict."""
        return float(self.specifications["same"].mean() or 0.0)  # type: ignore[arg-type]

    @property
    def overturned(self) -> pl.DataFrame:
        """The specifications with another verdict that change the fewest choices."""
        other = self.specifications.filter(~pl.col("same"))
        return other.filter(pl.col("changes") == pl.col("changes").min())

    def changed(self, row: Mapping[str, Any]) -> str:
        """What a specification decides otherwise, in words."""
        return " and ".join(f"{name}: {row[name]}" for name in self.decisions if row[name] != self.claimed[name])


def robust(
    corpus: Corpus,
    conclusion: Conclusion,
    universe: Universe | None = None,
    *,
    most: int = MOST,
    seed: int = 0,
    advance: Callable[[int], None] = lambda _: None,
    folder: str = "CORPUS",
) -> Multiverse:
    """The conclusion in all reasonable specifications: those declared, or those that measure and corpus offer.

    >>> from vantage import demo_corpus
    >>> made = robust(demo_corpus().filter(question="trust", kind="person"), Conclusion.of("alpha"))
    >>> made.specifications["verdict"][0], made.same > 0.5
    ('above', True)
    """
    universe = default_universe(conclusion, corpus) if universe is None else universe
    part, between = conclusion.part(corpus), conclusion.options.get("between")
    blocks = Blocks.of(corpus, conclusion.judgments(part, [between] if between else []), between, seed)
    specifications, excluded = universe.specifications(most, seed)
    # What no alternative selects by is selected once for all.
    varied = {column for own in universe.choices.values() for one in own.values() for column in one.where}
    whole = blocks.corpus.filter(**{c: v for c, v in conclusion.where.items() if c not in varied})
    rest = {c: v for c, v in conclusion.where.items() if c in varied}

    @lru_cache(maxsize=1)
    def selected(where: str) -> tuple[Corpus, dict[str, Floats]]:
        """The judgments that fit, and what each way to measure them gives by block."""
        chosen = whole.filter(**{**rest, **json.loads(where)})
        if chosen.judgments.is_empty():
            raise InputError("there are no judgments", remedy="choose others")
        return chosen, {}

    decisions = tuple(f"{one} (choice)" if one in (*FIXED, "difference") else one for one in universe.choices)
    computed: dict[int, tuple[dict[str, Any], Floats]] = {}
    # Specifications with the same judgments follow each other, so that one selection is held at a time.
    for place in sorted(range(len(specifications)), key=lambda n: (json.dumps(specifications[n].where), n)):
        one = specifications[place]
        advance(1)
        try:
            chosen, known = selected(json.dumps(one.where))
            claim, row = conclusion.claim(chosen, **one.options)
        except InputError as error:
            if place == 0:
                raise
            excluded[error.problem] += 1
            continue
        key = json.dumps({k: v for k, v in one.options.items() if k not in OF_INTERVALS}, default=str, sort_keys=True)
        if key not in known:
            known[key] = by_block(conclusion, blocks, chosen, one.options)
        made = {name: getattr(claim, name) for name in SAID}
        made |= {name: row.get(name) for name in ("items", "raters", "judgments")}
        made |= {"changes": one.changes, **dict(zip(decisions, one.choices, strict=True))}
        made["command"] = conclusion.command(folder, one.options, one.where)
        computed[place] = made, known[key]
    rows, vectors = zip(*(computed[place] for place in sorted(computed)), strict=True)
    same = pl.col("verdict") == pl.col("verdict").first()
    numbers = dict.fromkeys(("estimate", "low", "high", "p"), pl.Float64)
    frame = pl.DataFrame(rows, schema_overrides=numbers, infer_schema_length=None).with_columns(same=same)
    shown = frame.with_row_index("specification", offset=1).select(*decisions, *FIXED)
    estimates = np.array(vectors).T
    joint = JointTest.of(estimates, conclusion.reference, blocks.unit, seed) if blocks.number else None
    rules = pl.DataFrame([*excluded.items()], {"rule": pl.String, "specifications": pl.Int64}, orient="row")
    return Multiverse(conclusion, universe, shown, _importance(shown, estimates, decisions), rules, joint, decisions)


def by_block(conclusion: Conclusion, blocks: Blocks, part: Corpus, options: Mapping[str, Any]) -> Floats:
    """What the measure says in each block, with some options changed; NaN where it says nothing."""
    measure, options = find(conclusion.measure), {**conclusion.options, **options}
    nothing = np.full(blocks.number, np.nan)
    if not blocks.number or "by" not in measure.options or options.get("powered_by"):
        return nothing
    by, between = measure.grouping(part, options), options.get("between")
    plain = {name: value for name, value in options.items() if name not in OF_INTERVALS}
    plain |= {"ci": "none"} if "ci" in measure.options else {}
    plain["by"] = [*([by] if isinstance(by, str) else by), BLOCK]
    if between is not None:
        # A part of the items may leave blocks without one of the groups: these have no estimate.
        groups = conclusion.judgments(part, [BLOCK, between]).drop_nulls([BLOCK, between, "value"])
        wanted = [str(one) for one in options.get("values") or groups[between].unique()]
        groups = groups.filter(pl.col(between).cast(pl.String).is_in(wanted))
        counts = groups.group_by(BLOCK).agg(pl.col(between).n_unique())
        complete = counts.filter(pl.col(between) == len(wanted))[BLOCK].to_list()
        part = part.filter(**{BLOCK: complete}) if 0 < len(complete) < blocks.number else part
    try:
        frame = conclusion.model_copy(update={"options": plain}).result(part)
    except InputError:
        return nothing
    estimates = dict(frame.select(BLOCK, conclusion.value).iter_rows())
    return np.array([estimates.get(number) for number in range(blocks.number)], dtype=np.float64)


def _importance(frame: pl.DataFrame, estimates: Floats, decisions: Sequence[str]) -> pl.DataFrame:
    """The share of the variation of each decision: what a linear model of all explains less without it.

    The rest goes with combinations of them. Intervals leave out each block in turn.
    """
    values, there = frame["estimate"].to_numpy(), np.isfinite(estimates)
    filled, number = np.where(there, estimates, 0.0), there.sum(axis=0)
    without = (filled.sum(axis=0) - filled) / np.maximum(number - there, 1)
    moved = np.where(number > 0, without - filled.sum(axis=0) / np.maximum(number, 1), 0.0)
    columns = np.vstack([values, values + moved]).T  # as they are, and without each block
    designs = {name: frame[name].to_dummies().to_numpy() * 1.0 for name in decisions}

    def left(names: Sequence[str]) -> Floats:
        design = np.column_stack([np.ones(len(values)), *(designs[name] for name in names)])
        away = columns - design @ np.linalg.lstsq(design, columns, rcond=None)[0]
        return np.asarray(np.square(away).sum(axis=0))

    total, whole = left([]), left(decisions)
    lost = {name: left([one for one in decisions if one != name]) - whole for name in decisions}
    rows = []
    for name, squares in (lost | {COMBINED: whole}).items():
        shares = np.clip(np.divide(squares, total, out=np.zeros_like(total), where=total > 1e-18), 0.0, 1.0)
        rows.append(
            (name, float(shares[0]), *interval(float(shares[0]), Spread.without(shares[1:], SHARES), 0.95, SHARES))
        )
    schema = {"decision": pl.String, **dict.fromkeys(("share", "share_low", "share_high"), pl.Float64)}
    return pl.DataFrame(rows, schema, orient="row").sort("share", descending=True, maintain_order=True)
