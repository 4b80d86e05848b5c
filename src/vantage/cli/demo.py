"""`vantage demo`: the main job on a small bundled corpus, offline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from vantage.corpora import Corpus

ASKED = 10
"""How many sentences the embedded model is asked about."""
HIDDEN = ("measure", "options", "left_out")


def demo(
    to: Annotated[Path, typer.Option("--to", help="Where the demo corpus is written.")] = Path("demo"),
) -> None:
    """Import a small corpus, describe it, measure agreement and ask a small model: a first look, offline."""
    import polars as pl

    import vantage
    from vantage.cli.corpora import print_description
    from vantage.cli.output import print_frame
    from vantage.corpora.describe import describe
    from vantage.measures.rater_quality import raters

    corpus = vantage.demo_corpus()
    folder = to / "corpus"
    corpus.write(folder)
    typer.echo(f"1. A small corpus was imported to {folder}\n")
    print_description(describe(corpus))
    typer.echo("\n2. Do the raters agree?  (vantage measure alpha, split-half)\n")
    print_frame(vantage.alpha(corpus, by="question"), hidden=HIDDEN, title="Krippendorff's alpha, ordinal")
    typer.echo("")
    print_frame(vantage.split_half(corpus, by="question"), hidden=HIDDEN, title="Split-half reliability")
    typer.echo("\n3. Which raters should be looked at first?  (vantage measure raters)\n")
    first = raters(corpus).head(3)
    print_frame(first.select("rater", pl.col("estimate").alias("agrees with others"), "bias", "flags"))
    typer.echo(f"\n4. What does a small language model say of {ASKED} of the sentences?  (vantage rate)\n")
    _ask(corpus).write(folder)
    typer.echo("\nNext: vantage measure --list, vantage instruments, vantage corpora; your own table: see README.md")


def _ask(corpus: Corpus) -> Corpus:
    """The corpus with the judgments of the embedded model, or as it was where that is not installed."""
    import polars as pl
    from rich.console import Console
    from rich.progress import Progress

    from vantage import ChatRater, Instrument
    from vantage.cli.output import print_rows
    from vantage.raters.models import ModelError
    from vantage.raters.rate import added, judge

    part = corpus.filter(item=corpus.items["item"].gather_every(len(corpus.items) // ASKED).to_list())
    instrument = Instrument.load("warmth-competence")
    try:
        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("asking", total=len(part.items))
            judged = judge(
                ChatRater("embedded", "scoring"),
                part,
                instrument,
                questions=["trust"],
                progress=lambda done: bar.advance(task, done),
            )
    except ModelError as error:
        typer.echo(str(error))
        return corpus
    people = part.judgments.filter(question="trust").group_by("item").agg(pl.col("value").mean().alias("people_mean"))
    said = judged.judgments.select("item", pl.col("expected").alias("model_expects"))
    rows = part.items.select("item", "text").join(people, on="item").join(said, on="item").drop("item")
    print_rows(rows.sort("people_mean").to_dicts(), title="Trust, −3 … 3")
    for note in judged.notes:
        typer.echo(f"\n• {note}")
    return added(corpus, judged, instrument)
