"""Raters: whatever turns items into judgments. Chat models in every prompting style, personas, reply parsing.

May import `scales`, `instruments`, `corpora` and `measures`. `replies/` reads what a model wrote, `personas` holds
who it may speak as, `models/` reaches the models, `style` and `prompts` say how they are asked, `chat` joins
them into a rater. `trained/` holds raters that learned from people.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.raters import personas as personas
    from vantage.raters import replies as replies
    from vantage.raters import style as style
    from vantage.raters import trained as trained
    from vantage.raters.chat import ChatRater as ChatRater
    from vantage.raters.personas import Persona as Persona
    from vantage.raters.personas import Personas as Personas
    from vantage.raters.style import Style as Style
    from vantage.raters.trained import TrainedRater as TrainedRater
    from vantage.raters.trained import fit as fit
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            **{name: f"{__name__}.{name}" for name in ("personas", "replies", "style", "trained")},
            **dict.fromkeys(("Persona", "Personas"), f"{__name__}.personas"),
            **dict.fromkeys(("TrainedRater", "fit"), f"{__name__}.trained"),
            "ChatRater": f"{__name__}.chat",
            "Style": f"{__name__}.style",
        },
    )
