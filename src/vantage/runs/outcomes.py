"""What a run leaves: its judgments in a corpus folder, and a row of counts for every rater."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from filelock import FileLock

from vantage.corpora import Corpus
from vantage.runs.execution import JudgedPart, Outcome
from vantage.runs.rating import added

COUNTED: Final = ("answered", "refused", "unparsed", "failed")


def write(outcome: Outcome, folder: Path, to: Path) -> Corpus:
    """Adds the judgments of a run to the corpus in a folder and writes it, there or elsewhere.

    The folder is read again at this moment, so that what others have added while the run went on stays.
    """
    with FileLock(to / ".rating.lock"):
        corpus = added(Corpus.read(folder), *outcome.judged)
        corpus.write(to)
    return corpus


def summaries(outcome: Outcome) -> list[dict[str, Any]]:
    """What became of every rater's questions, and what it took."""
    return [_summary(judged) for judged in outcome.judged]


def _summary(judged: JudgedPart) -> dict[str, Any]:
    statuses = dict(judged.judgments["status"].cast(str).value_counts().iter_rows())
    return {
        "rater": judged.rater.id,
        "calls": judged.calls,
        **{status: statuses.get(status, 0) for status in COUNTED},
        "opted_out": statuses.get("ambiguous", 0) + statuses.get("not_mentioned", 0),
        "already_there": judged.skipped,
        "missing": judged.missing,
        "cut": judged.truncated,
        "prompt_tokens": judged.prompt_tokens,
        "completion_tokens": judged.completion_tokens,
        "notes": judged.notes,
    }
