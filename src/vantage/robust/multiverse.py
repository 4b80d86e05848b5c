"""Every specification of a conclusion, computed with the measures as they are, and what follows from all of them.

Judgments are selected once for all specifications that use them, and a measure is asked once for the estimates of all
blocks. How much a decision matters is its share of the variation of estimates: what a model of all decisions explains
less without it, with an interval that leaves out blocks in turn.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.measures import find
from vantage.measures.intervals import SHARES, Spread, interval
from vantage.robust.conclusion import Conclusion
from vantage.robust.joint import BLOCK, Blocks, Floats, JointTest
from vantage.robust.offered import default_universe, used_judgments
from vantage.robust.universe import MOST, Specification, Universe

OF_INTERVALS: Final = ("ci", "interval", "resamples", "confidence", "seed")
"""Options that change intervals and no estimate."""
FIXED: Final = ("specification", "estimate", "low", "high", "p", "verdict", "same", "changes", "items", "raters",
                "judgments", "command")  # fmt: skip
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
    """One row per decision: its share of the variation, and how often changing it alone overturns the verdict."""
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
    folder: str = "",
) -> Multiverse:
    """The conclusion in all reasonable specifications: those declared, or those that measure and corpus offer.

    >>> from vantage import demo_corpus
    >>> made = robust(demo_corpus().filter(question="trust", kind="person"), Conclusion.of("alpha"))
    >>> made.specifications["verdict"][0], made.same > 0.5
    ('above', True)
    """
    universe = default_universe(conclusion, corpus) if universe is None else universe
    part = conclusion.part(corpus)
    blocks = Blocks.of(part, conclusion.options.get("between"), seed, used_judgments(conclusion, part), corpus)
    specifications, excluded = universe.specifications(most, seed)
    computing = Computing(conclusion, blocks, universe)
    computed: dict[int, tuple[dict[str, Any], Floats]] = {}
    # Specifications with the same judgments follow each other, so that one selection is held at a time.
    for place in sorted(range(len(specifications)), key=lambda n: (json.dumps(specifications[n].where), n)):
        try:
            row, vector = computing.row(specifications[place])
        except InputError as error:
            if place == 0:
                raise
            excluded[f"the measure refuses it: {error}"] += 1
        else:
            if place == 0 or row[conclusion.value] is not None:
                computed[place] = row, vector
            else:
                excluded[f"there is no estimate: {row['reason'] or 'no judgments'}"] += 1
        advance(1)
    kept = [specifications[place] for place in sorted(computed)]
    rows, vectors = zip(*(computed[place] for place in sorted(computed)), strict=True)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    claims = conclusion.claims(frame)
    if claims[0].estimate is None:
        raise InputError(
            f"the claim has no estimate ({frame['reason'][0] or 'no judgments'})", remedy="claim something else"
        )
    decisions = tuple(map(_column, universe.choices))
    numbers = dict.fromkeys(("estimate", "low", "high", "p"), pl.Float64)
    shown = frame.with_columns(
        pl.int_range(1, pl.len() + 1).alias("specification"),
        *(pl.Series(name, [getattr(one, name) for one in claims], kind) for name, kind in numbers.items()),
        pl.Series("verdict", [one.verdict for one in claims], pl.String),
        pl.Series("same", [one.verdict == claims[0].verdict for one in claims], pl.Boolean),
        pl.Series("changes", [one.changes(kept[0]) for one in kept], pl.Int64),
        pl.Series("command", [conclusion.command(folder or "CORPUS", one.options, one.where) for one in kept]),
    ).select(*decisions, *FIXED, "reason")
    estimates = np.array(vectors).T
    joint = JointTest.of(estimates, conclusion.reference, blocks.unit, seed) if blocks.number else None
    rules = pl.DataFrame(
        {"rule": list(excluded), "specifications": list(excluded.values())},
        schema={"rule": pl.String, "specifications": pl.Int64},
    )
    return Multiverse(conclusion, universe, shown, _importance(shown, estimates, decisions), rules, joint, decisions)


@dataclass
class Computing:
    """Specifications computed one after the other, with what they share."""

    conclusion: Conclusion
    blocks: Blocks
    universe: Universe
    _where: str = ""
    _part: Corpus | None = None

    def __post_init__(self) -> None:
        # What no alternative selects by is selected once for all.
        varied = {column for own in self.universe.choices.values() for one in own.values() for column in one.where}
        fixed = {column: values for column, values in self.conclusion.where.items() if column not in varied}
        self._corpus = self.blocks.corpus.filter(**fixed) if fixed else self.blocks.corpus
        self._rest = {column: values for column, values in self.conclusion.where.items() if column in varied}
        self._known: dict[str, Floats] = {}

    def part(self, specification: Specification) -> Corpus:
        """The judgments of a specification."""
        wanted = {**self._rest, **specification.where}
        key = json.dumps(wanted)
        if self._part is None or key != self._where:
            part = self._corpus.filter(**wanted) if wanted else self._corpus
            if part.judgments.is_empty():
                raise InputError("there are no judgments", remedy="choose others")
            self._where, self._part, self._known = key, part, {}
        return self._part

    def row(self, specification: Specification) -> tuple[dict[str, Any], Floats]:
        """A specification's row of the measure, and its estimates by block."""
        measure, part = find(self.conclusion.measure), self.part(specification)
        options = {**self.conclusion.options, **specification.options}
        frame = self.conclusion.located(measure.function(part, **options))
        if len(frame) != 1:
            several = [name for name in ("question", "trait", "group", "first", "second") if name in frame.columns]
            raise InputError(
                f"the claim is about {len(frame)} rows, not one",
                remedy=f"choose one with --where or --row, such as {', '.join(several) or 'question'}",
            )
        row = frame.row(0, named=True)
        named = dict(zip(map(_column, self.universe.choices), specification.choices, strict=True))
        wanted = [*self.conclusion.columns, "items", "raters", "judgments", "reason"]
        row = {**named, **{name: row.get(name) for name in wanted}}
        key = json.dumps({k: v for k, v in options.items() if k not in OF_INTERVALS}, default=str, sort_keys=True)
        if key not in self._known:
            self._known[key] = by_block(self.conclusion, self.blocks, part, options)
        return row, self._known[key]


def by_block(conclusion: Conclusion, blocks: Blocks, part: Corpus, options: Mapping[str, Any]) -> Floats:
    """What the measure says in each block; NaN where it says nothing."""
    measure = find(conclusion.measure)
    if not blocks.number or "by" not in measure.options or options.get("powered_by"):
        return np.full(blocks.number, np.nan)
    plain = {name: value for name, value in options.items() if name not in (*OF_INTERVALS, "by")}
    by = measure.grouping(part, options)
    several = [*([by] if isinstance(by, str) else by), BLOCK]
    quick = {"ci": "none"} if "ci" in measure.options else {}

    def asked(corpus: Corpus) -> Floats:
        frame = conclusion.located(measure.function(corpus, **plain, **quick, by=several))
        return blocks.vector(dict(frame.select(BLOCK, conclusion.value).iter_rows()))

    try:
        return asked(part)
    except InputError:
        # A part of the items may leave blocks without one of the groups: these have no estimate.
        complete = _complete(used_judgments(conclusion, part, [BLOCK, options.get("between")]), options.get("between"))
    try:
        return asked(part.filter(**{BLOCK: complete})) if complete else np.full(blocks.number, np.nan)
    except InputError:
        return np.full(blocks.number, np.nan)


def _complete(used: pl.DataFrame, between: str | None) -> list[int]:
    """The blocks that have all groups that are compared."""
    if between is None:
        return []
    groups = used.drop_nulls([BLOCK, between, "value"])
    counts = groups.group_by(BLOCK).agg(pl.col(between).n_unique().alias("groups"))
    return counts.filter(pl.col("groups") == groups[between].n_unique())[BLOCK].sort().to_list()


def _column(decision: str) -> str:
    return f"{decision} (choice)" if decision in (*FIXED, "reason", "difference") else decision


def _importance(frame: pl.DataFrame, estimates: Floats, decisions: Sequence[str]) -> pl.DataFrame:
    """The share of the variation of each decision, and how often changing it alone overturns the verdict."""
    values = frame["estimate"].fill_null(np.nan).to_numpy()
    known = np.isfinite(values)
    designs = {name: _indicators(frame[name].filter(pl.Series(known))) for name in decisions}
    shares = _shares(values[known], designs)
    there = np.isfinite(estimates[:, known])
    filled, number = np.where(there, estimates[:, known], 0.0), there.sum(axis=0)
    without = (filled.sum(axis=0) - filled) / np.maximum(number - there, 1)
    moved = np.where(number > 0, without - filled.sum(axis=0) / np.maximum(number, 1), 0.0)
    left = [_shares(values[known] + one, designs) for one in moved]
    rows = []
    near = frame.filter(pl.col("changes") == 1)
    for name in (*decisions, COMBINED):
        spread = Spread.without(np.array([one[name] for one in left]), SHARES) if left else None
        low, high = interval(shares[name], spread, 0.95, SHARES) if spread is not None else (None, None)
        alone = near.filter(pl.col(name) != frame[name][0]) if name in designs else near.clear()
        rows.append(
            {"decision": name, "share": shares[name], "share_low": low, "share_high": high,
             "alternatives": frame[name].n_unique() if name in designs else None,
             "overturns": int((~alone["same"]).sum()) if name in designs else None, "alone": len(alone)}
        )  # fmt: skip
    numbers = dict.fromkeys(("share", "share_low", "share_high"), pl.Float64)
    return pl.DataFrame(rows, schema_overrides=numbers).sort("share", descending=True, maintain_order=True)


def _indicators(column: pl.Series) -> Floats:
    """A column of zeros and ones for every alternative but the first."""
    names = column.unique(maintain_order=True).to_list()
    return np.column_stack([(column == name).to_numpy() for name in names[1:]] or [np.zeros((len(column), 0))]) * 1.0


def _shares(values: Floats, designs: Mapping[str, Floats]) -> dict[str, float]:
    """What a linear model of all decisions explains less without each; the rest goes with combinations of them."""
    total = float(np.square(values - values.mean()).sum()) if len(values) else 0.0
    if total <= 1e-18:
        return dict.fromkeys((*designs, COMBINED), 0.0)

    def left(names: Sequence[str]) -> float:
        design = np.column_stack([np.ones(len(values)), *(designs[name] for name in names)])
        solved = np.linalg.lstsq(design, values, rcond=None)[0]
        return float(np.square(values - design @ solved).sum())

    whole = left([*designs])
    shares = {name: (left([one for one in designs if one != name]) - whole) / total for name in designs}
    return {**{name: min(max(share, 0.0), 1.0) for name, share in shares.items()}, COMBINED: min(whole / total, 1.0)}
