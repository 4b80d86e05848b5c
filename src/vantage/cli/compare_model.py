"""`vantage compare-model`: from people's judgments and a model's replies to one page with a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from vantage.cli.output import VerbResult
from vantage.cli.progress import reported


def compare_model(
    people: Path, replies: Path | None = None, *, to: Path | None = None, mapping: Mapping[str, str], seed: int = 0
) -> VerbResult:
    """Can a model stand in for people? Floor and ceiling, for whom it works, and its worst texts, on one page.

    For example:

    vantage compare-model people.csv replies.jsonl --to verdict

    Args:
        people: People's judgments: a table or a corpus folder.
        replies: A model's replies: a table or JSON lines; not needed if PEOPLE includes models.
        to: A folder for the page.
        mapping (ROLE=COLUMN,…): Columns of REPLIES: item, question, rater, value.
    """
    from vantage.report.model_audit import model_report, people_of, with_replies

    corpus = people_of(people)
    if replies is not None:
        corpus = with_replies(corpus, replies, dict(mapping))
    place = to or Path(f"{(replies or people).name.split('.')[0]}-verdict")
    report = model_report(corpus, seed=seed)
    report.write(place)
    return reported(report, place)
