"""Pair raters: trained raters that predict what each user says of each text, rather than what people say on average.

`fit_pairs` learns one from a perspectivist split and `PairRater` judges ⟨text, user⟩ pairs, is saved and is loaded;
`people` says what is known of users, `table` puts pairs before a model. May import what `raters` may. The next way to
learn is a class with the methods of `base.PairPredictor`, described in `methods` and listed in `fitting` and `rater`.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.raters.trained.pairs.fitting import fit_pairs as fit_pairs
    from vantage.raters.trained.pairs.methods import PAIR_METHODS as PAIR_METHODS
    from vantage.raters.trained.pairs.methods import PairMethod as PairMethod
    from vantage.raters.trained.pairs.methods import PairSettings as PairSettings
    from vantage.raters.trained.pairs.rater import PairRater as PairRater

_HOMES = {
    "PAIR_METHODS": "vantage.raters.trained.pairs.methods",
    "PairMethod": "vantage.raters.trained.pairs.methods",
    "PairRater": "vantage.raters.trained.pairs.rater",
    "PairSettings": "vantage.raters.trained.pairs.methods",
    "fit_pairs": "vantage.raters.trained.pairs.fitting",
}

__getattr__, __dir__ = attach(__name__, _HOMES)
