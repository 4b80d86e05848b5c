"""Trained raters: raters that learned from people's judgments and judge new items like anyone else.

`fit` learns one from a corpus and `TrainedRater` judges, is saved and is loaded; `examples` turns a corpus into texts
and labels, and `folds` splits it so that no text stands on both sides. The ways to learn are `baselines`, `linear`,
`encoder` (with the modules that read tags, begin, train and store networks) and `probe` (with its `kernel`). May import
what `raters` may. The next kind is a class with the methods of `base.Predictor`, listed in `fitting` and
`rater`. Raters that predict what each user says have a folder of their own, `pairs`.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.raters.trained.encoder_settings import EncoderSettings as EncoderSettings
    from vantage.raters.trained.fitting import fit as fit
    from vantage.raters.trained.folds import shared_texts as shared_texts
    from vantage.raters.trained.linear import LinearSettings as LinearSettings
    from vantage.raters.trained.pairs import PairRater as PairRater
    from vantage.raters.trained.pairs import fit_pairs as fit_pairs
    from vantage.raters.trained.probe import ProbeSettings as ProbeSettings
    from vantage.raters.trained.rater import TrainedRater as TrainedRater

_HOMES = {
    "EncoderSettings": "vantage.raters.trained.encoder_settings",
    "LinearSettings": "vantage.raters.trained.linear",
    "PairRater": "vantage.raters.trained.pairs",
    "ProbeSettings": "vantage.raters.trained.probe",
    "TrainedRater": "vantage.raters.trained.rater",
    "fit": "vantage.raters.trained.fitting",
    "fit_pairs": "vantage.raters.trained.pairs",
    "shared_texts": "vantage.raters.trained.folds",
}

__getattr__, __dir__ = attach(__name__, _HOMES)
