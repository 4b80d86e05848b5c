"""Instruments: questions, scales, guidelines, worked examples and checks, one YAML file each.

`Instrument.load` reads a bundled one by name or anyone's by path and reports every problem with its line.
May import `scales`, `documents`, `plugins` and `errors` only. To add one, put a YAML file into `bundled/`; it needs
no code. The file format is `document.InstrumentDocument`, from which `schema.json` is generated.
"""

from vantage.instruments.guidance import REASON, answer_names, has_roles, rendered, shared_names
from vantage.instruments.instrument import PLUGINS, Aggregate, Answer, Check, Example, Field, Instrument, bundled
from vantage.instruments.questions import MultipleChoice, Question, grouped, part_id, put

__all__ = [
    "PLUGINS",
    "REASON",
    "Aggregate",
    "Answer",
    "Check",
    "Example",
    "Field",
    "Instrument",
    "MultipleChoice",
    "Question",
    "answer_names",
    "bundled",
    "grouped",
    "has_roles",
    "part_id",
    "put",
    "rendered",
    "shared_names",
]
