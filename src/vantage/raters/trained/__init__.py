"""Trained raters: raters that learned from people's judgments and judge new items like anyone else.

One function (`fit`) and one class serve raters of texts and of ⟨text, user⟩ pairs: a rater of texts is a rater of pairs
without users. `examples` turns a corpus into the texts or pairs that a model reads and their
labels, and `people` says what is known of users. The ways to learn are `baselines`, `linear`, `encoder` (with the
modules that train and store networks) and `probe`; the next one is a class with the methods of `saved.Predictor`,
listed in `saved.KINDS` and called in `fitting`. May import what `raters` may.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.raters.trained.encoder_settings import EncoderSettings as EncoderSettings
    from vantage.raters.trained.examples import shared_texts as shared_texts
    from vantage.raters.trained.fitting import fit as fit
    from vantage.raters.trained.linear import LinearSettings as LinearSettings
    from vantage.raters.trained.probe import ProbeSettings as ProbeSettings
    from vantage.raters.trained.rater import TrainedRater as TrainedRater

_HOMES = {
    "EncoderSettings": "vantage.raters.trained.encoder_settings",
    "LinearSettings": "vantage.raters.trained.linear",
    "ProbeSettings": "vantage.raters.trained.probe",
    "TrainedRater": "vantage.raters.trained.rater",
    "fit": "vantage.raters.trained.fitting",
    "shared_texts": "vantage.raters.trained.examples",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = attach(__name__, _HOMES)
