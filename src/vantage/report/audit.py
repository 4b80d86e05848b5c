"""The page of an audit: cards side by side, effects with intervals, shares of variance, averages over presentations."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.schema import PEOPLE
from vantage.measures import Against, Column, audit, balanced, find, reliability
from vantage.measures.audits.cards import UNKNOWN
from vantage.report.cells import counted, minus
from vantage.report.engine import Analysis, Data, there
from vantage.report.folder import Report
from vantage.report.recipe import Recipe
from vantage.report.record import made_at_once, now
from vantage.report.sentences import settled


@dataclass(eq=False)
class AuditAnalysis(Analysis):
    """A corpus as its audit looks at it."""

    @cached_property
    def averaged(self) -> Corpus | None:
        """The corpus with averages over presentations as further raters; null where nobody was asked in several."""
        if "presentation" not in self.corpus.judgments.columns:
            return None
        kinds = self.corpus.raters.filter(~pl.col("kind").cast(pl.String).is_in(PEOPLE))["rater"]
        counts = self.corpus.judgments.group_by("rater").agg(pl.col("presentation").drop_nulls().n_unique())
        several = counts.filter(pl.col("presentation") > 1, pl.col("rater").is_in(kinds.implode()))["rater"].sort()
        wanted = [name for name in several if name in (self.options["rater"] or several)]
        return balanced(self.corpus, wanted) if wanted else None

    @cached_property
    def effects(self) -> pl.DataFrame:
        """The effects of the raters that were asked for, with the verdicts, intervals and p values of the ledger."""
        effects = audit(self.corpus, rater=self.options["rater"])
        (rule,) = find("audit").view.says
        assert isinstance(rule, Against)  # noqa: S101 - as the measure declares it
        claims = settled(rule, effects, "{rater}")
        # The same interval in percent of the scale.
        percent = (pl.col("relative_high") - pl.col("relative_low")) / (pl.col("high") - pl.col("low"))
        ends = {}
        for end in ("low", "high"):
            ends[end] = pl.coalesce(pl.Series([getattr(one, end) for one in claims], dtype=pl.Float64), end)
            further = ((ends[end] - pl.col(end)) * percent).fill_nan(0.0)
            ends[f"relative_{end}"] = pl.col(f"relative_{end}") + further
        limit = pl.max_horizontal(ends["low"].abs(), ends["high"].abs())
        return effects.with_columns(
            **ends,
            limit=pl.when(pl.col("p").is_not_null()).then(limit),
            p_adjusted=pl.Series([one.p_family for one in claims], dtype=pl.Float64),
            clear=pl.Series([one.claims for one in claims]),
        )

    @cached_property
    def single(self) -> pl.DataFrame:
        """The reliability of a single answer of each of them."""
        rater = self.options["rater"]
        return reliability(self.corpus, by="rater", rater=rater, presentations=True, up_to=1, ci="none")


def audit_report(corpus: Corpus, rater: str | Sequence[str] = ()) -> Report:
    """The audit of all raters of a corpus, or of some, ready to be written: `audit_report(corpus).write("folder")`."""
    return audited(corpus, rater)[0]


def audited(corpus: Corpus, rater: str | Sequence[str] = ()) -> tuple[Report, AuditAnalysis]:
    """The same, with what it rests on."""
    chosen = [rater] if isinstance(rater, str) else list(rater)
    title = corpus.about.title or corpus.about.name
    named = f"Response audit: {title}" if title else "Response audit"
    record = made_at_once("audit", named, corpus, options={"rater": chosen})
    analysis = AuditAnalysis(corpus.included(), {"rater": chosen})
    recipe = Recipe.bundled("vantage.report", sys.modules[__name__], file="audit.yaml")
    result = recipe.result(analysis, warnings=tuple(unknown(analysis.effects)))
    record.finished = now()
    return Report(record, result), analysis


def unknown(effects: pl.DataFrame) -> Iterator[str]:
    """Whose judgments do not say how they were presented."""
    silent = effects.filter(pl.col("reason") == UNKNOWN)["rater"].unique(maintain_order=True).to_list()
    if silent:
        yield f"{', '.join(silent)}: {UNKNOWN}."


def verdicts(analysis: AuditAnalysis) -> pl.DataFrame:
    """One sentence per card: what is clear, how large it is, and how reliable one answer is."""
    rows = []
    for (name,), part in analysis.effects.group_by("rater", maintain_order=True):
        verdict = f"{name}: {_verdict(part)}"
        single = analysis.single.filter(pl.col("rater") == name, pl.col("estimate").is_not_null())
        if len(single) == 1:
            row = single.row(0, named=True)
            verdict += f"; one answer has a generalizability of {row['consistent']:.2f}"
            if (needed := row["needed_consistent"]) and needed > 1:
                verdict += f", and {needed} answers reach {row['target']:g}"
        rows.append({"rater": name, "verdict": f"{verdict}."})
    return pl.DataFrame(rows)


def _verdict(part: pl.DataFrame) -> str:
    tested = part.drop_nulls("p")
    if tested.is_empty():
        return "nothing was varied and there is nobody to compare with, so no effect can be tested"
    clear = tested.filter("clear").sort(pl.col("relative").abs(), descending=True)
    if clear.is_empty():
        widest = tested.select(pl.max_horizontal(pl.col("relative_low", "relative_high").abs()).max()).item()
        which = f"none of {counted(len(tested), 'effect')} is" if len(tested) > 1 else "the one effect is not"
        return f"{which} clear, and " + (
            f"none beyond {widest:.0f} % of the scale" if widest < 100 else "no size is excluded"
        )
    row = clear.row(0, named=True)
    size = f"{row['estimate']:+.2f} {row['unit']}, 95 % CI {row['low']:.2f} to {row['high']:.2f}"
    relative = "" if "percent" in row["unit"] else f", {row['relative']:+.0f} % of the scale"
    largest = f"{row['effect']} ({row['contrast']}), {minus(size + relative)}"
    if len(tested) == 1:
        return f"a clear effect: {largest}"
    verb = "are" if len(clear) > 1 else "is"
    return f"{len(clear)} of {counted(len(tested), 'effect')} {verb} clear; the largest is {largest}"


def effects(analysis: AuditAnalysis) -> pl.DataFrame:
    """The effects that were tested."""
    return analysis.effects.drop_nulls("p")


def cards(analysis: AuditAnalysis) -> Data:
    """Effects in rows and raters in columns."""
    known = there(analysis.effects.drop_nulls("estimate"))
    keys = ["effect", "contrast", "unit"]
    keys = ["scale", *keys] if known["scale"].n_unique() > 1 else keys
    table = known.select(keys).unique(maintain_order=True)
    columns: dict[str, Column] = {}
    for name in known["rater"].unique(maintain_order=True):
        ends = {"estimate": name, "low": f"{name} low", "high": f"{name} high"}
        mine = known.filter(rater=name).select(*keys, *(pl.col(old).alias(new) for old, new in ends.items()))
        table = table.join(mine, on=keys, how="left", maintain_order="left")
        columns[name] = Column(digits=2, signed=True, interval=(ends["low"], ends["high"]))
    return Data(table, columns=columns)
