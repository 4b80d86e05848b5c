"""Vantage measures how people and language models judge text when there is no single right answer.

The names below are what a newcomer needs first; everything else is in its package, such as `vantage.measures.alpha`
or `vantage.raters.fit`. They are loaded when first used, so that `import vantage` stays light.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach, provide
from vantage._version import __version__

if TYPE_CHECKING:
    from vantage import measures as measures
    from vantage import perspective as perspective
    from vantage import raters as raters
    from vantage import report as report
    from vantage import studies as studies
    from vantage.corpora import Corpus as Corpus
    from vantage.corpora.bundled import demo_corpus as demo_corpus
    from vantage.corpora.reading import read as read
    from vantage.corpora.writers import export as export
    from vantage.errors import InputError as InputError
    from vantage.instruments import Instrument as Instrument
    from vantage.notebook.frames import to_pandas as to_pandas
    from vantage.planning.plan import plan as plan
    from vantage.raters.chat import ChatRater as ChatRater
    from vantage.runs.rating import rate as rate
    from vantage.scales import Scale as Scale

_HOMES = {
    **{name: f"vantage.{name}" for name in ("measures", "perspective", "raters", "report", "studies")},
    "ChatRater": "vantage.raters.chat",
    "Corpus": "vantage.corpora",
    "InputError": "vantage.errors",
    "Instrument": "vantage.instruments",
    "Scale": "vantage.scales",
    "demo_corpus": "vantage.corpora.bundled",
    "export": "vantage.corpora.writers",
    "plan": "vantage.planning.plan",
    "rate": "vantage.runs.rating",
    "read": "vantage.corpora.reading",
    "to_pandas": "vantage.notebook.frames",
}
_FACES = ("measures", "raters", "corpora", "instruments", "scales", "planning", "perspective", "errors")
"""Packages in which a name that is not here is looked for, so that the error can say where it is."""
_OTHER_NAMES = {
    **dict.fromkeys(("load", "corpus", "read-csv", "read-table", "import-table"), "read"),
    **dict.fromkeys(("annotate", "label", "ask"), "rate"),
    "write": "export",
}

provide(
    {
        "reader.hs-brexit": "vantage.interop.lewidi_files:hs_brexit",
        "reader.md-agreement": "vantage.interop.lewidi_files:md_agreement",
        "reader.convabuse": "vantage.interop.lewidi_files:convabuse",
        "reader.mp": "vantage.interop.lewidi_files:multipico",
        "reader.csc": "vantage.interop.lewidi_files:csc",
        "reader.paraphrase": "vantage.interop.lewidi_files:paraphrase",
        "reader.varierrnli": "vantage.interop.lewidi_files:varierrnli",
        "reader.armis": "vantage.interop.lewidi_files:armis",
        "readers.lewidi": "vantage.interop.lewidi_files:edition",
        "reader.label-studio": "vantage.interop.label_studio:read",
        "reader.potato": "vantage.interop.potato:read",
        "reader.replies": "vantage.interop.replies:read",
        "writer.lewidi": "vantage.interop.lewidi:write",
        "writer.huggingface": "vantage.interop.huggingface:write",
        "writer.card": "vantage.interop.huggingface:write_card",
        "writer.croissant": "vantage.interop.croissant:write",
        "corpus.report": "vantage.report.overview:corpus_report",
        "corpus.plot": "vantage.report.plots:Plots",
        "corpus.view": "vantage.view.exporting:InlineView",
        "reader.inspect": "vantage.interop.inspect_log:read",
        "writer.inspect": "vantage.interop.tasks:inspect_task",
        "writer.lm-eval": "vantage.interop.tasks:lm_eval_tasks",
    }
)

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604

if not TYPE_CHECKING:
    # Type checkers would take any name for granted.
    __getattr__, __dir__ = attach(__name__, _HOMES, faces=_FACES, other_names=_OTHER_NAMES)
