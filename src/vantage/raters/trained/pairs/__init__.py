"""Pair raters: trained raters that predict what each user says of each text, rather than what people say on average.

`fit_pairs` learns one from a perspectivist split and `PairRater` judges ⟨text, user⟩ pairs, is saved and is loaded. The
ways to learn are those of `raters.trained`, told who judges. May import what `raters` may.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.raters.trained.encoder_settings import PairSettings as PairSettings
    from vantage.raters.trained.pairs.fitting import fit_pairs as fit_pairs
    from vantage.raters.trained.pairs.rater import PAIR_METHODS as PAIR_METHODS
    from vantage.raters.trained.pairs.rater import PairMethod as PairMethod
    from vantage.raters.trained.pairs.rater import PairRater as PairRater

_HOMES = {
    "PAIR_METHODS": "vantage.raters.trained.pairs.rater",
    "PairMethod": "vantage.raters.trained.pairs.rater",
    "PairRater": "vantage.raters.trained.pairs.rater",
    "PairSettings": "vantage.raters.trained.encoder_settings",
    "fit_pairs": "vantage.raters.trained.pairs.fitting",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = attach(__name__, _HOMES)
