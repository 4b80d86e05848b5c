"""`vantage explain`, `facets`, `audit` and `panel`: analyses of a corpus that have several tables and sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final, get_args

import typer

import vantage
from vantage.cli.corpora import with_corpus
from vantage.cli.options import TO, Seed, names, numbers, pairs, with_output
from vantage.cli.output import Output, print_frame, print_lines, print_tables, sentences, write_figure
from vantage.cli.progress import finished
from vantage.errors import InputError

AskedQuestion = Annotated[str | None, typer.Option(help="The question; all of them, one by one, without it.")]
Kinds = Annotated[str | None, typer.Option(metavar="all|KIND,…", help="Whose judgments: people by default.")]
HIDDEN: Final[dict[str, tuple[str, ...]]] = {
    "explain": ("measure", "options", "left_out", "items"),
    "audit": (
        *("measure", "options", "left_out", "above", "below", "within", "tested"),
        *("relative", "relative_low", "relative_high"),
    ),
    "panel": ("measure", "options", "left_out", "raters", "judgments", "all_cost"),
}
"""Columns that people do not see."""
SHOWN = ("rater", "scale", "effect", "contrast", "estimate", "low", "high", "over", "unit", "limit", "p_adjusted")
"""What they see of the effects of an audit."""
CHARTS: Final[dict[str, dict[str, Any]]] = {
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
def explain(
    corpus: vantage.Corpus,
    output: Output,
    question: AskedQuestion = None,
    traits: Annotated[str, typer.Option(metavar="TRAIT,…", help="Traits of raters.")] = "",
    family: Annotated[str, typer.Option(help="gaussian, ordinal or binary; the scale decides without it.")] = "auto",
    interactions: Annotated[str, typer.Option(metavar="item:TRAIT,…", help="Groups that differ by item.")] = "",
    base: Annotated[
        list[str] | None, typer.Option(metavar="TRAIT=LEVEL", help="What levels are compared with; may be repeated.")
    ] = None,
    show: Annotated[str | None, typer.Option(help="effects, variance, raters, items or interactions.")] = None,
    kinds: Kinds = None,
    permutations: Annotated[int, typer.Option(min=0, help="How often traits are permuted over raters.")] = 999,
    seed: Seed = 0,
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
        output.print(fitted(corpus, show=show or "effects", **options), HIDDEN["explain"])
        return
    frames = {name: fitted(corpus, show=name, **options) for name in ("effects", "variance")}
    said = sentences(frames["effects"], VIEW, options["by"])
    if output.json:
        print_tables(frames, sentences=said)
        return
    effects = frames["effects"]
    columns = (*options["by"], "term", "level", "versus", "estimate", "se", "low", "high", "over")
    columns += ("p", "p_lr", "p_permutation", "reason")
    columns += ("points",) if set(effects["family"]) != {"gaussian"} else ()
    print_frame(effects, shown=columns, title="Effects")
    typer.echo("")
    columns = (*options["by"], "component", "levels", "estimate", "low", "high", "over", "share", "reason")
    print_frame(frames["variance"], shown=columns, title="Variances")
    print_lines(["", *said])


@with_output
@with_corpus
def facets(
    corpus: vantage.Corpus,
    output: Output,
    question: AskedQuestion = None,
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
    output.print(frame, HIDDEN["explain"])


def _asked(question: str | None) -> dict[str, Any]:
    return {"question": question, "by": [] if question else ["question"]}


@with_output
@with_corpus
def audit(
    corpus: vantage.Corpus,
    output: Output,
    rater: Annotated[
        list[str] | None, typer.Option(help="A rater, or people; may be repeated. Every model and people without it.")
    ] = None,
    out: Annotated[Path | None, typer.Option(*TO, help="Where to write the page: a folder.")] = None,
) -> None:
    """Does a rater answer the question, or the way in which it is put?

    Order of options, agreement whatever is said, letters, wording, format, repetition, drift: one card per model and
    one for people, each effect with an interval and with what is excluded. `vantage rate --vary` asks in several ways.
    For example:

    vantage audit FOLDER --rater MODEL --to audit
    """
    from vantage.measures.audits.effects import audit as measured
    from vantage.measures.audits.g_study import g_study
    from vantage.report.audit import AuditAnalysis, audit_report, unknown, verdicts

    chosen = rater or []
    if out is not None:
        report = audit_report(corpus, chosen)
        report.write(out)
        finished(report, out, as_json=output.json)
        return
    if output.csv or output.latex:
        output.print(measured(corpus, rater=chosen), HIDDEN["audit"])
        return
    analysis = AuditAnalysis(corpus, {"rater": chosen})
    said = verdicts(analysis)["verdict"].to_list()
    components = g_study(corpus, rater=chosen)
    if output.json:
        reliability = g_study(corpus, rater=chosen, show="reliability")
        frames = {"effects": analysis.effects, "components": components, "reliability": reliability}
        print_tables(frames, verdicts=said)
        return
    shares = ("rater", "scale", "component", "variance", "estimate", "low", "high")
    for title, frame, columns in (("Effects", analysis.effects, SHOWN), ("Variance", components, shares)):
        if len(known := frame.drop_nulls("estimate")):
            print_frame(known.select(columns), title=title)
            typer.echo("")
    print_lines([*said, *unknown(analysis.effects)])


@with_output
@with_corpus
def panel(
    corpus: vantage.Corpus,
    output: Output,
    question: AskedQuestion = None,
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
    seed: Seed = 0,
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
    options: dict[str, Any] = {"by": "question", "raters": names(raters) or None, "seed": seed}
    options["prices"] = numbers(prices, "--prices", "RATER=PRICE")
    options |= {"writer": writer} if writer is not None else {}
    if figure is not None and show not in CHARTS:
        raise InputError("there is no figure of this", remedy="pass --show matrix or --show votes")
    if add is not None:
        _add(corpus, measured(corpus, **options), add, answer, out)
    if show is not None or output.csv or output.latex:
        frame = measured(corpus, show=show or "summary", **options)
        output.print(frame, HIDDEN["panel"])
        if show == "preference" and not output.data:
            print_lines(sentences(frame, VIEW, ["question"], PREFERENCE))
        if figure is not None and show is not None:
            if frame["question"].n_unique() > 1:
                raise InputError("a figure is of one question", remedy="pass --question")
            how = dict(CHARTS[show])
            write_figure(how.pop("chart"), frame, how, figure)
        return
    frames = {name: measured(corpus, show=name, **options) for name in ("summary", "votes")}
    said = sentences(frames["summary"], VIEW, ["question"])
    if output.json:
        print_tables(frames, sentences=said)
        return
    columns = ("question", "size", "added", "estimate", "low", "high", "over", "gain", "loss", "worth", "reason")
    print_frame(frames["votes"], shown=columns, title="Each further model")
    print_lines(["", *said])


def _add(corpus: vantage.Corpus, summary: Any, name: str, answer: str, out: Path | None) -> None:
    from vantage.measures.panels.panel import Answer, with_panel

    if out is None:
        raise InputError("no folder given for the corpus with the panel", remedy="pass --to FOLDER")
    if answer not in get_args(Answer):
        raise InputError(f"answer '{answer}' is not known", remedy=f"use one of {', '.join(get_args(Answer))}")
    chosen = summary["chosen"].unique().to_list()
    if chosen == [None]:
        raise InputError(summary["reason"][0], remedy="rate the items with another model")
    members = (chosen[0] or "").split(" + ")
    if len(chosen) > 1:
        raise InputError("each question has a panel of its own", remedy="pass --question")
    if len(members) < 2:
        raise InputError(f"the cheapest sufficient panel is {members[0]} alone", remedy="use that model as it is")
    with_panel(corpus, members, name=name, answer=answer).write(out)  # type: ignore[arg-type]
    typer.echo(f"The corpus with the rater {name} ({chosen[0]}) is in {out}.", err=True)
