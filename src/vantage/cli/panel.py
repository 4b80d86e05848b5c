"""`vantage panel`: how many votes several models are worth, and which of them are enough."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vantage.cli.corpora import with_corpus
from vantage.cli.options import TO, Output, names, numbers, with_output
from vantage.cli.output import print_frame, print_json, sentences, write_figure
from vantage.errors import InputError

if TYPE_CHECKING:
    from vantage.corpora import Corpus

HIDDEN = ("measure", "options", "left_out", "raters", "judgments", "all_cost")
CHARTS: dict[str, dict[str, Any]] = {
    "matrix": {
        "chart": "heat",
        "diverging": True,
        "row": "first",
        "column": "second",
        "label": "error correlation",
        "limits": (-1, 1),
    },
    "votes": {"chart": "curve", "x": "size", "x_label": "models", "label": "effective votes"},
}


@with_output
@with_corpus
def panel(
    corpus: Corpus,
    output: Output,
    question: Annotated[str | None, typer.Option(help="The question; all of them, one by one, without it.")] = None,
    raters: Annotated[str, typer.Option(metavar="RATER,…", help="The members; all models without it.")] = "",
    show: Annotated[str | None, typer.Option(help="summary, votes, matrix, raters or preference.")] = None,
    prices: Annotated[str, typer.Option(metavar="RATER=PRICE,…", help="What an answer of each member costs.")] = "",
    writer: Annotated[str | None, typer.Option(metavar="COLUMN", help="Of the items: who wrote the text.")] = None,
    add: Annotated[
        str | None, typer.Option(metavar="NAME", help="Add the chosen panel as a rater; needs --to.")
    ] = None,
    answer: Annotated[
        str, typer.Option(help="Of that rater: each (a sample per member), majority or median.")
    ] = "each",
    out: Annotated[Path | None, typer.Option(*TO, help="Where to write the corpus with the panel as a rater.")] = None,
    figure: Annotated[Path | None, typer.Option(help="A figure of --show matrix or votes: .svg, .pdf or .png.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
) -> None:
    """How many independent votes models are worth, measured from the distribution of people's answers.

    For example:

    vantage panel FOLDER --question trust --show matrix --figure matrix.svg
    """
    from vantage.measures.panels.panel import PREFERENCE, VIEW
    from vantage.measures.panels.panel import panel as measured

    if question is not None:
        corpus.question(question)
        corpus = corpus.filter(question=question)
    members = names(raters) or None
    options: dict[str, Any] = {
        "by": "question",
        "raters": members,
        "prices": numbers(prices, "--prices", "RATER=PRICE"),
        "seed": seed,
    }
    if writer is not None:
        options["writer"] = writer
    if figure is not None and show not in CHARTS:
        raise InputError("there is no figure of this", remedy="pass --show matrix or --show votes")
    if add is not None:
        _add(corpus, measured(corpus, **options), add, answer, out)
    if show is not None or output.csv or output.latex:
        frame = measured(corpus, show=show or "summary", **options)
        output.print(frame, HIDDEN)
        if show == "preference" and not output.data:
            for line in sentences(frame, VIEW, ["question"], PREFERENCE):
                typer.echo(line)
        if figure is not None and show is not None:
            if frame["question"].n_unique() > 1:
                raise InputError("a figure is of one question", remedy="pass --question")
            how = dict(CHARTS[show])
            write_figure(how.pop("chart"), frame, how, figure)
        return
    frames = {name: measured(corpus, show=name, **options) for name in ("summary", "votes")}
    said = sentences(frames["summary"], VIEW, ["question"])
    if output.json:
        print_json({**{name: frame.to_dicts() for name, frame in frames.items()}, "sentences": said})
        return
    columns = ("question", "size", "added", "estimate", "low", "high", "over", "gain", "loss", "worth", "reason")
    votes = frames["votes"]
    print_frame(votes.select([name for name in columns if name in votes.columns]), title="Each further model")
    typer.echo("")
    for line in said:
        typer.echo(line)


def _add(corpus: Corpus, summary: Any, name: str, answer: str, out: Path | None) -> None:
    from typing import get_args

    from vantage.measures.panels.panel import Answer, with_panel

    if out is None:
        raise InputError("no folder given for the corpus with the panel", remedy="pass --to FOLDER")
    if answer not in get_args(Answer):
        raise InputError(f"answer '{answer}' is not known", remedy=f"use one of {', '.join(get_args(Answer))}")
    chosen = summary["chosen"].unique().to_list()
    members = chosen[0].split(" + ")
    if len(chosen) > 1:
        raise InputError("each question has a panel of its own", remedy="pass --question")
    if len(members) < 2:
        raise InputError(f"the cheapest sufficient panel is {members[0]} alone", remedy="use that model as it is")
    with_panel(corpus, members, name=name, answer=answer).write(out)  # type: ignore[arg-type]
    typer.echo(f"The corpus with the rater {name} ({chosen[0]}) is in {out}.", err=True)
