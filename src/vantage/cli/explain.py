"""`vantage explain` and `vantage facets`: the models of ratings, on a corpus folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vantage.cli.corpora import with_corpus
from vantage.cli.options import Output, names, pairs, with_output
from vantage.cli.output import print_frame, print_json, sentences, write_figure
from vantage.errors import InputError

if TYPE_CHECKING:
    from vantage.corpora import Corpus

Question = Annotated[str | None, typer.Option(help="The question; all of them, one by one, without it.")]
Kinds = Annotated[str | None, typer.Option(metavar="all|KIND,…", help="Whose judgments: people by default.")]
HIDDEN = ("measure", "options", "left_out", "items")


@with_output
@with_corpus
def explain(
    corpus: Corpus,
    output: Output,
    question: Question = None,
    traits: Annotated[str, typer.Option(metavar="TRAIT,…", help="Traits of raters.")] = "",
    family: Annotated[str, typer.Option(help="gaussian, ordinal or binary; the scale decides without it.")] = "auto",
    interactions: Annotated[str, typer.Option(metavar="item:TRAIT,…", help="Groups that differ by item.")] = "",
    base: Annotated[
        list[str] | None, typer.Option(metavar="TRAIT=LEVEL", help="What levels are compared with; may be repeated.")
    ] = None,
    show: Annotated[str | None, typer.Option(help="effects, variance, raters, items or interactions.")] = None,
    kinds: Kinds = None,
    permutations: Annotated[int, typer.Option(min=0, help="How often traits are permuted over raters.")] = 999,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
) -> None:
    """Which traits of raters explain the answers, given who judged what: a mixed model with crossed items and raters.

    With --kinds all, every model is compared with people. For example:

    vantage explain FOLDER --question trust --traits gender,age
    """
    from vantage.measures.models.explain import VIEW
    from vantage.measures.models.explain import explain as fitted

    options: dict[str, Any] = {"traits": names(traits), "family": family, "interactions": names(interactions)}
    options |= {
        "base": pairs(base or [], "--base", comma=False, form="TRAIT=LEVEL"),
        "kinds": kinds,
        "permutations": permutations,
        "seed": seed,
        **_asked(question),
    }
    if show is not None or output.csv or output.latex:
        output.print(fitted(corpus, show=show or "effects", **options), HIDDEN)
        return
    frames = {name: fitted(corpus, show=name, **options) for name in ("effects", "variance")}
    said = sentences(frames["effects"], VIEW, options["by"])
    if output.json:
        print_json({**{name: frame.to_dicts() for name, frame in frames.items()}, "sentences": said})
        return
    effects = frames["effects"]
    columns = (*options["by"], "term", "level", "versus", "estimate", "se", "low", "high", "over")
    columns += ("p", "p_lr", "p_permutation")
    columns += ("points",) if set(effects["family"]) != {"gaussian"} else ()
    print_frame(effects.select([name for name in columns if name in effects.columns]), title="Effects")
    typer.echo("")
    columns = (*options["by"], "component", "levels", "estimate", "low", "high", "over", "share", "reason")
    print_frame(frames["variance"].select([n for n in columns if n in frames["variance"].columns]), title="Variances")
    typer.echo("")
    for sentence in said:
        typer.echo(sentence)


@with_output
@with_corpus
def facets(
    corpus: Corpus,
    output: Output,
    question: Question = None,
    together: Annotated[bool, typer.Option("--together", help="Put all questions on one scale.")] = False,
    thresholds: Annotated[str, typer.Option(help="common, question or rater.")] = "common",
    unconnected: Annotated[
        str, typer.Option(metavar="refuse|assume|largest", help="What to do with raters that share no items.")
    ] = "refuse",
    show: Annotated[
        str, typer.Option(help="raters, items, thresholds, categories, summary, curve or ruler.")
    ] = "raters",
    kinds: Kinds = None,
    figure: Annotated[
        Path | None, typer.Option(help="Where to write the Wright map of one question: .svg, .pdf or .png.")
    ] = None,
) -> None:
    """Items, people and models on one scale: severity, consistency, and fair averages.

    For example:

    vantage facets FOLDER --question trust --figure map.svg
    """
    from vantage.measures.models.facets import Show
    from vantage.measures.models.facets import facets as fitted
    from vantage.measures.option_text import convert

    options: dict[str, Any] = {"thresholds": thresholds, "unconnected": unconnected, "kinds": kinds}
    if figure is not None:
        asked = [one.id for one in corpus.questions]
        if question is None and len(asked) > 1 and not together:
            remedy = f"pass --question, one of {', '.join(asked)}, or --together"
            raise InputError("a Wright map is of one question", remedy=remedy)
        write_figure("wright", fitted(corpus, question=question, show="ruler", **options), {}, figure)
    apart: dict[str, Any] = {} if together else _asked(question)
    frame = fitted(corpus, show=convert(show, Show, "--show"), **options, **apart)
    output.print(frame, HIDDEN)


def _asked(question: str | None) -> dict[str, Any]:
    return {"question": question, "by": [] if question else ["question"]}
