"""Corpora: items, raters with traits, and judgments, as three checked tables; readers and writers of other formats.

May import `instruments`, `scales`, `documents` and `errors`. `schema` says what must hold, `storage` how the
folder is written, `readers/` and `writers/` translate. To add a reader, write a function from a path to a
`Corpus` in `readers/` and list it in `readers/readers.toml`.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.corpora.corpus import Corpus as Corpus
    from vantage.corpora.design import likely_sources as likely_sources
    from vantage.corpora.design import undeclared as undeclared
    from vantage.corpora.schema import KINDS as KINDS
    from vantage.corpora.schema import MODELS as MODELS
    from vantage.corpora.schema import PEOPLE as PEOPLE
    from vantage.corpora.schema import RATERS as RATERS
    from vantage.corpora.schema import is_excluded as is_excluded
    from vantage.corpora.storage import About as About
    from vantage.corpora.traits import TraitScale as TraitScale
    from vantage.corpora.traits import inferred_scale_of as inferred_scale_of
    from vantage.corpora.weighting import Raking as Raking
    from vantage.corpora.weighting import Target as Target
    from vantage.corpora.weighting import as_text as as_text
    from vantage.corpora.weighting import checked_weights as checked_weights
    from vantage.corpora.weighting import effective as effective

if not TYPE_CHECKING:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "About": "vantage.corpora.storage",
            "Corpus": "vantage.corpora.corpus",
            "PEOPLE": "vantage.corpora.schema",
            "Raking": "vantage.corpora.weighting",
            "Target": "vantage.corpora.weighting",
            "as_text": "vantage.corpora.weighting",
            "checked_weights": "vantage.corpora.weighting",
            "effective": "vantage.corpora.weighting",
            "TraitScale": "vantage.corpora.traits",
            "KINDS": "vantage.corpora.schema",
            "MODELS": "vantage.corpora.schema",
            "RATERS": "vantage.corpora.schema",
            "is_excluded": "vantage.corpora.schema",
            "inferred_scale_of": "vantage.corpora.traits",
            "likely_sources": "vantage.corpora.design",
            "undeclared": "vantage.corpora.design",
        },
    )
