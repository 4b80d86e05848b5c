"""Raters: whatever turns items into judgments. Chat models in every prompting style, personas, reply parsing.

May import `scales`, `instruments`, `corpora` and `measures`. `replies/` reads what a model wrote, `personas` holds
who it may speak as, `models/` reaches the models, `style` and `prompts` say how they are asked, `chat` joins
them into a rater. `trained/` holds raters that learned from people.
"""

import sys
from types import ModuleType
from typing import Any


class _Raters(ModuleType):
    """The package, which is also the measure of that name: `vantage.raters(corpus)` looks at who rated."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Per-rater quality; see `vantage.measures.rater_quality.raters`."""
        from vantage.measures.rater_quality import raters

        return raters(*args, **options)


sys.modules[__name__].__class__ = _Raters
