"""Raters: whatever turns items into judgments. Chat models in every prompting style, personas, reply parsing.

May import `scales`, `instruments`, `corpora` and `measures`. `replies/` reads what a model wrote, `personas` holds
who it may speak as, `models/` reaches the models, `style` and `prompts` say how they are asked, `chat` joins
them into a rater. `planted` draws synthetic raters with known biases. `trained/` holds raters that learned from people.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.raters import planted as planted
    from vantage.raters import replies as replies
    from vantage.raters import trained as trained
else:
    __getattr__, __dir__ = attach(
        __name__, {name: f"{__name__}.{name}" for name in ("personas", "planted", "replies", "style", "trained")}
    )
