"""`vantage audit`: does a rater answer the question, or the way in which it is put?"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from vantage.cli.corpora import Selected
from vantage.cli.output import VerbTable, print_frame, tables
from vantage.cli.progress import reported

HIDDEN: Final = (
    *("measure", "options", "left_out", "above", "below", "within", "tested"),
    *("relative", "relative_low", "relative_high"),
)
"""Columns that people do not see."""
SHOWN: Final = (
    *("rater", "scale", "effect", "contrast", "estimate", "low", "high", "over", "unit", "limit", "p_adjusted"),
)
"""What they see of the effects."""
SHARES: Final = ("rater", "scale", "component", "variance", "estimate", "low", "high")
"""What they see of the variance."""


def audit(corpus: Selected, *, rater: list[str], to: Path | None = None) -> VerbTable:
    """Does a rater answer the question, or the way in which it is put?

    Order of options, agreement whatever is said, letters, wording, format, repetition, drift: one card per model and
    one for people, each effect with an interval and with what is excluded. `vantage rate --vary` asks in several ways.
    For example:

    vantage audit FOLDER --rater MODEL --to audit

    Args:
        rater: A rater, or people; may be repeated. Every model and people without it.
        to: Where to write the page: a folder.
    """
    from vantage.measures.audits.g_study import g_study
    from vantage.report.audit import AuditAnalysis, audit_report, unknown, verdicts

    analysis = AuditAnalysis(corpus, {"rater": rater})
    if to is not None:
        report = audit_report(corpus, rater)
        report.write(to)
        page = reported(report, to)
        return VerbTable(analysis.effects, *page.shown, hidden=HIDDEN, data=page.data)
    said = verdicts(analysis)["verdict"].to_list()
    components = g_study(corpus, rater=rater)
    titled = {"Effects": (analysis.effects, SHOWN), "Variance": (components, SHARES)}

    def data() -> dict[str, object]:
        reliability = g_study(corpus, rater=rater, show="reliability")
        frames = {"effects": analysis.effects, "components": components, "reliability": reliability}
        return tables(frames, verdicts=said)

    def shown() -> None:
        for title, (frame, columns) in titled.items():
            if len(known := frame.drop_nulls("estimate")):
                print_frame(known.select(columns), title=title, space=True)

    return VerbTable(analysis.effects, shown, *said, *unknown(analysis.effects), hidden=HIDDEN, data=data)
