"""Vantage measures how people and language models judge text when there is no single right answer.

The names below are the public ones. They are loaded when first used, so that `import vantage` stays light.
Measures of agreement, reliability, variation and accuracy are public functions too: `vantage.alpha(corpus)`.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach
from vantage._version import __version__
from vantage.measures import HOMES as _MEASURES

if TYPE_CHECKING:
    from vantage.corpora import About as About
    from vantage.corpora import Corpus as Corpus
    from vantage.corpora.bundled import demo_corpus as demo_corpus
    from vantage.corpora.describe import describe as describe
    from vantage.corpora.frames import corpus as corpus
    from vantage.corpora.readers import load as load
    from vantage.corpora.writers import export as export
    from vantage.errors import InputError as InputError
    from vantage.errors import VantageError as VantageError
    from vantage.instruments import Instrument as Instrument
    from vantage.instruments import Question as Question
    from vantage.measures.accuracy import accuracy as accuracy
    from vantage.measures.accuracy import confusion as confusion
    from vantage.measures.aggregation import aggregate as aggregate
    from vantage.measures.aggregation import bands as bands
    from vantage.measures.aggregation import competence as competence
    from vantage.measures.aggregation import soft_labels as soft_labels
    from vantage.measures.alpha import alpha as alpha
    from vantage.measures.calibration import calibration as calibration
    from vantage.measures.chance_corrected import ac1 as ac1
    from vantage.measures.chance_corrected import fleiss as fleiss
    from vantage.measures.chance_corrected import randolph as randolph
    from vantage.measures.compare import compare as compare
    from vantage.measures.components import components as components
    from vantage.measures.correlate import correlate as correlate
    from vantage.measures.d_study import d_study as d_study
    from vantage.measures.distances import distance as distance
    from vantage.measures.intraclass import icc as icc
    from vantage.measures.models.dif import dif as dif
    from vantage.measures.models.explain import explain as explain
    from vantage.measures.models.facets import facets as facets
    from vantage.measures.needed_raters import needed_raters as needed_raters
    from vantage.measures.opt_outs import opt_outs as opt_outs
    from vantage.measures.pairwise import difference as difference
    from vantage.measures.pairwise import pairwise as pairwise
    from vantage.measures.ranks import ranks as ranks
    from vantage.measures.rater_pairs import cohen as cohen
    from vantage.measures.rater_pairs import rater_matrix as rater_matrix
    from vantage.measures.rater_pairs import scott as scott
    from vantage.measures.rationale.agreement import rationale_agreement as rationale_agreement
    from vantage.measures.rationale.agreement import rationale_similarity as rationale_similarity
    from vantage.measures.rationale.form import rationale_form as rationale_form
    from vantage.measures.refusals import refusals as refusals
    from vantage.measures.replaceability import alt_test as alt_test
    from vantage.measures.split_half import split_half as split_half
    from vantage.measures.unanimity import unanimity as unanimity
    from vantage.measures.variation import ambiguity as ambiguity
    from vantage.measures.variation import entropy as entropy
    from vantage.measures.variation import opposed_items as opposed_items
    from vantage.measures.variation import split_items as split_items
    from vantage.notebook.frames import to_pandas as to_pandas
    from vantage.raters.chat import ChatRater as ChatRater
    from vantage.raters.personas import Persona as Persona
    from vantage.raters.personas import Personas as Personas
    from vantage.raters.replies import Reply as Reply
    from vantage.raters.replies import parse_replies as parse_replies
    from vantage.raters.replies import parse_reply as parse_reply
    from vantage.raters.style import Style as Style
    from vantage.raters.trained import PairRater as PairRater
    from vantage.raters.trained import TrainedRater as TrainedRater
    from vantage.raters.trained import fit as fit
    from vantage.raters.trained import fit_pairs as fit_pairs
    from vantage.runs.rating import rate as rate
    from vantage.scales import Band as Band
    from vantage.scales import Option as Option
    from vantage.scales import OptOut as OptOut
    from vantage.scales import Scale as Scale

_HOMES = {
    "About": "vantage.corpora.corpus",
    "Band": "vantage.scales",
    "ChatRater": "vantage.raters.chat",
    "Corpus": "vantage.corpora.corpus",
    "InputError": "vantage.errors",
    "Instrument": "vantage.instruments",
    "OptOut": "vantage.scales",
    "Option": "vantage.scales",
    "PairRater": "vantage.raters.trained",
    "Persona": "vantage.raters.personas",
    "Personas": "vantage.raters.personas",
    "Question": "vantage.instruments",
    "Reply": "vantage.raters.replies",
    "Scale": "vantage.scales",
    "Style": "vantage.raters.style",
    "TrainedRater": "vantage.raters.trained",
    "VantageError": "vantage.errors",
    "corpus": "vantage.corpora.frames",
    "demo_corpus": "vantage.corpora.bundled",
    "describe": "vantage.corpora.describe",
    "export": "vantage.corpora.writers",
    "fit": "vantage.raters.trained",
    "fit_pairs": "vantage.raters.trained",
    "load": "vantage.corpora.readers",
    "parse_replies": "vantage.raters.replies",
    "parse_reply": "vantage.raters.replies",
    "perspective": "vantage.perspective",
    "rate": "vantage.runs.rating",
    **_MEASURES,
    "raters": "vantage.raters",
    "to_pandas": "vantage.notebook.frames",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604

__getattr__, __dir__ = attach(__name__, _HOMES)
