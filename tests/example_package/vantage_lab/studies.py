"""A study of our own: `vantage study lab-stars --data FILE --model lab:WORD --to FOLDER`."""

from dataclasses import dataclass

import vantage
from vantage.report import Figure, Result, Section, Table
from vantage.studies import Context, Study, option

from .measures import midpoint_share


@dataclass(frozen=True)
class Options:
    """What can be changed about the study."""

    around: float = option(0.0, "how far from the middle still counts as the middle")


def collect(context: Context[Options]) -> vantage.Corpus:
    """Our ratings, with those of the models."""
    assert context.data is not None
    return context.rate(vantage.read(context.data, "lab"), context.raters(), "lab-stars")


def analyse(corpus: vantage.Corpus, context: Context[Options]) -> Result:
    """One table and one figure."""
    found = midpoint_share(corpus, by="rater", around=context.options.around)
    table = Table("middle", "The share of answers in the middle of the scale.", found, keys=["rater"])
    drawn = corpus.judgments.select("rater", "value").drop_nulls()
    figure = Figure("strip", "All answers.", "A line for each answer.", "lab-strip", drawn, {"category": "rater"})
    return Result([Section("The middle", ["Who avoids a decision?"], [table, figure])])


STUDY = Study(
    "lab-stars",
    "Stars for sentences",
    ("Who gives stars in the middle?",),
    Options,
    collect,
    analyse,
    needs_data="a CSV file of our laboratory",
)
