"""Vantage measures how people and language models judge text when there is no single right answer.

The names below are the public ones. They are loaded when first used, so that `import vantage` stays light.
Measures are functions of `vantage.measures`: `vantage.measures.alpha(corpus)`; the models of ratings are here too.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach, provide
from vantage._version import __version__
from vantage.measures import HOMES as _MEASURES

if TYPE_CHECKING:
    from vantage import context as context
    from vantage import measures as measures
    from vantage import perspective as perspective
    from vantage import raters as raters
    from vantage import report as report
    from vantage import scales as scales
    from vantage import studies as studies
    from vantage.corpora import About as About
    from vantage.corpora import Corpus as Corpus
    from vantage.corpora.bundled import demo_corpus as demo_corpus
    from vantage.corpora.describe import describe as describe
    from vantage.corpora.readers import load as load
    from vantage.corpora.reading import corpus as corpus
    from vantage.corpora.reading import read as read
    from vantage.corpora.writers import export as export
    from vantage.errors import InputError as InputError
    from vantage.errors import VantageError as VantageError
    from vantage.instruments import Instrument as Instrument
    from vantage.instruments import Question as Question
    from vantage.measures import with_panel as with_panel
    from vantage.measures._signatures import *  # noqa: F403
    from vantage.notebook.frames import to_pandas as to_pandas
    from vantage.planning.plan import Plan as Plan
    from vantage.planning.plan import during as during
    from vantage.planning.plan import plan as plan
    from vantage.raters.chat import ChatRater as ChatRater
    from vantage.raters.personas import Persona as Persona
    from vantage.raters.personas import Personas as Personas
    from vantage.raters.style import Style as Style
    from vantage.raters.trained import fit as fit
    from vantage.raters.trained import fit_pairs as fit_pairs
    from vantage.runs.rating import rate as rate
    from vantage.scales import Scale as Scale

_PACKAGES = ("context", "measures", "perspective", "raters", "report", "scales", "studies")
_HOMES = {
    **{name: f"vantage.{name}" for name in _PACKAGES},
    **dict.fromkeys(("About", "Corpus"), "vantage.corpora"),
    **dict.fromkeys(("InputError", "VantageError"), "vantage.errors"),
    **dict.fromkeys(("Instrument", "Question"), "vantage.instruments"),
    **dict.fromkeys(("Persona", "Personas"), "vantage.raters.personas"),
    **dict.fromkeys(("Plan", "plan"), "vantage.planning.plan"),
    **dict.fromkeys(("audit", "dif", "explain", "facets", "panel", "regress"), "vantage.measures"),
    **dict.fromkeys(("fit", "fit_pairs"), "vantage.raters.trained"),
    "ChatRater": "vantage.raters.chat",
    "Scale": "vantage.scales",
    "Style": "vantage.raters.style",
    "corpus": "vantage.corpora.reading",
    "demo_corpus": "vantage.corpora.bundled",
    "describe": "vantage.corpora.describe",
    "during": "vantage.planning.plan",
    "export": "vantage.corpora.writers",
    "load": "vantage.corpora.readers",
    "rate": "vantage.runs.rating",
    "read": "vantage.corpora.reading",
    "to_pandas": "vantage.notebook.frames",
    "with_panel": "vantage.measures.panels.panel",
}
_MOVED = {
    **{name: "vantage.measures" for name in _MEASURES if name not in _HOMES},
    **dict.fromkeys(("Band", "OptOut", "Option"), "vantage.scales"),
    **dict.fromkeys(("parse_replies", "parse_reply"), "vantage.raters.replies"),
    "PairRater": "vantage.raters.trained:TrainedRater",
    "Reply": "vantage.raters.replies:ParsedReply",
    "TrainedRater": "vantage.raters.trained",
}
"""Names that were public here; they go on working, with a warning that says where they are now."""

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
    __getattr__, __dir__ = attach(__name__, _HOMES, moved=_MOVED)
