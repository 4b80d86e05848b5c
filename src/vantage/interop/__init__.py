"""Other tools: what annotation and evaluation software writes as corpora, and corpora as tasks that run there.

May import `instruments`, `corpora`, `perspective` and `raters`. `asked` says what is asked of whom and what people
answered; `tasks` writes it for Inspect and for the lm-evaluation-harness, `inspect_log` reads Inspect's logs;
`label_studio` and `potato` read exports of annotation tools, whose stored answers `answers` turns into judgments;
`replies` reads what models answered elsewhere; `huggingface`, `croissant` and `lewidi` write corpora as others publish
data; `lewidi_files` reads the shared tasks on Learning With Disagreements, and `submissions` has their submissions.
`predictions` stores predictions of every form in a corpus.
The next tool gets a module here, a line in `corpora.writers.WRITERS` or `corpora/readers/readers.toml`, and its role in
`vantage/__init__.py`.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.interop.benchmark import read_predictions as read_predictions
    from vantage.interop.benchmark import read_split as read_split
    from vantage.interop.benchmark import scored as scored
    from vantage.interop.benchmark import write_split as write_split
    from vantage.interop.predictions import of_texts as of_texts
    from vantage.interop.predictions import predictions_in as predictions_in
    from vantage.interop.predictions import with_predictions as with_predictions
    from vantage.interop.submissions import SharedTask as SharedTask
    from vantage.interop.submissions import read_system as read_system
    from vantage.interop.submissions import task_baseline as task_baseline
    from vantage.interop.submissions import write_submission as write_submission

_HOMES = {
    name: f"vantage.interop.{module}"
    for module, names in {
        "benchmark": ("read_predictions", "read_split", "scored", "write_split"),
        "predictions": ("of_texts", "predictions_in", "with_predictions"),
        "submissions": ("SharedTask", "read_system", "task_baseline", "write_submission"),
    }.items()
    for name in names
}

__all__ = [*_HOMES]  # noqa: PLE0604

if not TYPE_CHECKING:
    __getattr__, __dir__ = attach(__name__, _HOMES)
