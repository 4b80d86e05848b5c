"""`vantage audit`: does a rater answer the question, or react to how it is asked?"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from vantage.cli.corpora import Selected
from vantage.cli.output import VerbTable, tables
from vantage.cli.progress import reported

HIDDEN: Final = (
    *("measure", "options", "left_out", "above", "below", "within", "tested", "clear"),
    *("relative", "relative_low", "relative_high"),
)
"""Columns that people do not see."""
SHOWN: Final = (
    *("rater", "scale", "effect", "contrast", "estimate", "low", "high", "over", "unit", "limit", "p_adjusted"),
)
"""Columns of the effects that they see."""
SHARES: Final = ("rater", "scale", "component", "variance", "estimate", "low", "high")
"""Columns of the variance components that they see."""


def audit(corpus: Selected, *, rater: list[str], to: Path | None = None) -> VerbTable:
    """Does a rater answer the question, or react to how it is asked?

    Order of options, acquiescence, letters, wording, format, repetition, drift: one card per model and one for people,
    each effect with an interval and the size that it rules out. `vantage rate --vary` asks in several ways.
    For example:

    vantage audit FOLDER --rater MODEL --to audit

    Args:
        rater: A rater, or people; repeatable (default: every model, and people).
        to: A folder for the page.
    """
    from vantage.report.audit import audited, unknown

    report, analysis = audited(corpus, rater)
    effects = analysis.effects.select(list(dict.fromkeys([*SHOWN, *analysis.effects.columns])))
    if to is not None:
        report.write(to)
        page = reported(report, to)
        return VerbTable(effects, *page.shown, hidden=HIDDEN, data=page.data)
    said = [finding.text for section in report.result.sections for finding in section.findings]
    named = {"variance": "components", "reliability": "reliability"}
    frames = {"effects": effects}
    frames |= {named[table.name]: table.frame for table in report.result.tables if table.name in named}
    titled = [
        (name.capitalize(), frames[name].drop_nulls("estimate").select(columns))
        for name, columns in (("effects", SHOWN), ("components", SHARES))
        if name in frames
    ]
    return VerbTable(
        effects, *titled, *said, *unknown(effects), hidden=HIDDEN, data=partial(tables, frames, verdicts=said)
    )
