"""For whom raters work: groups, single users, those who think otherwise than most; and what users and traits change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import polars as pl

from vantage import perspective
from vantage.errors import InputError
from vantage.measures import groups
from vantage.perspective import Evaluation
from vantage.perspective.tally import CLOSENESS
from vantage.raters.trained.pairs import PAIR_METHODS
from vantage.report.cells import counted
from vantage.report.recipe import Data
from vantage.studies.perseval.analysis import Evaluated, Perspectives, Rows, per_corpus, per_rater
from vantage.studies.perseval.cells import GridCell

LISTED: Final = 40
"""How many users are listed one by one."""
BLIND: Final = {"user-majority": "majority", "tfidf-users": "tfidf"}
"""The same way to learn without users; that of encoders is `baseline`."""


def for_whom(analysis: Perspectives) -> Data:
    """One line per rater, with the users whom it does not serve."""
    return Data(_lines(analysis), {"scored_by": analysis.scored_by})


def ranking(analysis: Perspectives) -> Data:
    """Every rater on the texts that all judged, the best first, and the best that gives one answer throughout."""

    def rows(one: Evaluated) -> Rows:
        ranked = {cell.name: one.common(cell) for cell in one.done}
        ranked |= dict(_unread(common, one.task.label) for common in list(ranked.values())[:1])
        made = [
            {
                "rater": name,
                "judged": counted(common.pairs["item"].n_unique(), "text"),
                **perspective.average_user(common, one.task.label),
            }
            for name, common in ranked.items()
        ]
        return sorted(made, key=lambda row: -(row["estimate"] or 0.0))

    return Data(per_corpus(rows)(analysis), {"scored_by": analysis.scored_by})


def _unread(common: Evaluation, label: str) -> tuple[str, Evaluation]:
    """The rater that gives one answer throughout and meets the average user best, with its name."""
    always = {
        f"(always “{name}”, without reading)": replace(common, pairs=common.pairs.with_columns(predicted=pl.lit(code)))
        for code, name in zip(common.labels, common.names, strict=True)
    }
    return max(always.items(), key=lambda one: replace(one[1], resamples=0).f1("user", label) or 0.0)


def bought(analysis: Perspectives) -> pl.DataFrame:
    """What knowing the user buys: every way to know them beside the same rater without it, on the same texts and users.

    p: the predictions of the two change places. `strictly` is the difference on new texts, where predictions differ.
    """

    def pairs(one: Evaluated) -> Iterator[tuple[str, str, Evaluation, GridCell]]:
        for cell in one.done:
            for blind in _blind(one, cell.rater, cell.extended) if cell.knows_users else ():
                kind = "history" if cell.rater.endswith(": history") else "method"
                yield kind, cell.name, one.evaluations[cell], blind
            plain = replace(cell, adaptation="none")
            if cell.adaptation not in (None, "none") and not cell.extended and plain in one.evaluations:
                yield "adaptation", cell.name, one.evaluations[cell], plain
        for rater, by_trait in one.predicted_from("trait").items():
            for blind in _blind(one, rater):
                for trait, frame in by_trait.items():
                    mine = frame.join(one.evaluations[blind].pairs, on=["item", "rater"], how="semi")
                    yield "trait", f"{rater}: {trait} alone", one.scored(mine, one.split(blind)), blind

    def rows(one: Evaluated) -> Iterator[dict[str, Any]]:
        label = one.task.label
        where = "" if len(analysis.evaluated) == 1 else f"{one.task.name}: "
        for what, name, knows, cell in pairs(one):
            without = one.evaluations[cell]
            scores = {"knows": knows.f1("user", label), "without": without.f1("user", label)}
            scores |= perspective.advantage(knows, without, label)
            row: dict[str, Any] = {"what": what, "rater": name, "beside": cell.name, **scores}
            alike = knows.pairs["predicted"].equals(without.pairs["predicted"])
            strictly = None if cell.extended or alike else row["difference"]
            than = "without adaptation" if what == "adaptation" else "that does not know who answers"
            about = {"strict": not cell.extended, "strictly": strictly, "than": f"the same rater {than}"}
            yield {**row, **about, "of": f"{where}{name}"}

    frame = per_corpus(rows)(analysis)
    order = {name: n for n, name in enumerate(("trait", "history", "adaptation", "method"))}
    return frame.sort("corpus", pl.col("what").replace_strict(order), maintain_order=True)


def trait_values(analysis: Perspectives) -> pl.DataFrame:
    """F1 for the users of each trait value."""

    def of_values(one: Evaluated, cell: GridCell) -> Rows:
        traits = one.evaluations[cell].traits
        if not traits:
            return ()
        scores = one.evaluations[cell].trait_values.filter(pl.col("class") == one.task.label).drop("class")
        trait = [pl.col("trait").str.replace_all("_", " ")] if len(traits) > 1 else []
        place = [] if len(analysis.evaluated) == 1 else [pl.lit(one.task.name)]
        who = pl.concat_str([*place, *trait, pl.col("value")], separator=" ")
        return scores.with_columns(who.alias("who"), pl.lit(_short(cell)).alias("series")).to_dicts()

    return per_rater(of_values)(analysis)


@per_rater
def gaps(one: Evaluated, cell: GridCell) -> Rows:
    """The errors for the users of every trait value, beside those for all others."""
    return perspective.gaps(one.evaluations[cell]).drop("measure", "options", strict=False).to_dicts()


@per_corpus
def not_served(one: Evaluated) -> Rows:
    """The users who are not served by the first rater of each corpus, the lowest score first."""
    if not one.focus:
        return ()
    evaluation = one.evaluations[one.focus[0]]
    least = one.task.served_from(one.options.threshold)
    users_of = perspective.below(evaluation, least, one.task.label).head(LISTED)
    traits = pl.concat_list([pl.lit(None, pl.String), *evaluation.traits]).list.drop_nulls().list.join(", ")
    return users_of.select("f1", "precision", "recall", "support", user="rater", traits=traits).to_dicts()


@per_rater
def minority(one: Evaluated, cell: GridCell) -> Rows:
    """The difference between answers that agree with most others' and those that oppose them."""
    gap = perspective.minority_gap(one.evaluations[cell], one.task.people, one.task.question)
    return gap.drop_nulls("difference").to_dicts()


@per_rater
def _lines(one: Evaluated, cell: GridCell) -> Rows:
    evaluation, label = one.evaluations[cell], one.task.label
    scored = evaluation.users.filter(pl.col("class") == label)["f1"].count()
    least = one.task.served_from(one.options.threshold)
    few = len(perspective.below(evaluation, least, label))
    line: dict[str, Any] = {"texts": evaluation.pairs["item"].n_unique(), "user": one.score(cell, "user")}
    line["below"] = f"{few} of {scored}"
    if cell == one.focus[0]:
        less = f"{'a closeness' if label == CLOSENESS else 'an F1'} below {least:g}"
        line |= {"few": few, "of": counted(scored, "user"), "less": less}
    yield line


def _blind(one: Evaluated, rater: str, extended: bool | None = False) -> list[GridCell]:
    """The same rater without users, on the same texts: the base prompt of a model, or the way to learn without them."""
    if rater not in PAIR_METHODS:
        name = f"{rater.rpartition(': ')[0]}: base"
    else:
        name = "baseline" if PAIR_METHODS[rater].torch else BLIND[rater]
    blind = [cell for cell in one.done if cell.rater == name and not cell.knows_users]
    return [cell for cell in blind if bool(cell.extended) == bool(extended)]


def _short(cell: GridCell) -> str:
    """A cell in few words, for the legend of a figure."""
    if cell.kind == "trained":
        return "trained, knows who answers" if cell.knows_users else "trained, does not know"
    return f"{cell.rater}, {cell.users}" if cell.rater.endswith("history") else cell.rater


TESTED: Final = 30
"""The fewest texts that two groups judged for an interval of their difference."""


@per_corpus
def explained(one: Evaluated) -> Rows:
    """Whether people who differ in a trait answer otherwise about the same texts, by the analysis of groups."""
    task = one.task
    if not task.traits:
        return
    analysed = groups(task.people.filter(question=task.question), traits=list(task.traits))
    for (trait,), part in analysed.partition_by("trait", as_dict=True, maintain_order=True).items():
        tested = part.filter(pl.col("p").is_not_null()).sort("p").head(1)
        row: dict[str, Any] = {"trait": trait, "users": part.filter(pl.col("row") != "missing")["raters"].sum()}
        if tested.is_empty():
            yield {**row, "reason": part["reason"].drop_nulls().first()}  # of two groups, each gives the same
            continue
        clearest = tested.row(0, named=True)
        p = clearest["p"] if clearest["p_trait"] is None else clearest["p_trait"]
        yield {**row, "group": clearest["group"], "gap": abs(clearest["estimate"]), "p": p}


@per_rater
def exaggerated(one: Evaluated, cell: GridCell) -> Rows:
    """The difference between two groups among people and in what is predicted for them, of raters that know users."""
    for trait in one.evaluations[cell].traits if cell.knows_users else ():
        yield from _passport(one, one.predictions[cell.rater, cell.variant], trait)


@per_corpus
def swapped(one: Evaluated) -> Rows:
    """The same where every text was put with every value of a trait, so that nothing else differs."""
    for rater, by_trait in one.predicted_from("values").items():
        for trait, frame in by_trait.items():
            yield from ({"rater": rater, **row} for row in _passport(one, frame, trait))


def _passport(one: Evaluated, frame: pl.DataFrame, trait: str) -> Rows:
    rows = perspective.passport(frame, one.task.people, trait, one.task.question, fewest=TESTED)
    return rows.with_columns(groups=pl.format("{} − {}", "first", "second")).iter_rows(named=True)


@per_corpus
def label_change(one: Evaluated) -> Rows:
    """How often labels differ between users of different trait values, in predictions and among people."""
    for rater, by_trait in one.predicted_from("trait").items():
        for trait, frame in by_trait.items():
            changes = perspective.label_change(frame, one.task.people, trait, one.task.question)
            mine, people = changes.iter_rows(named=True)
            row = {"rater": rater, "trait": trait, "between": mine["between"], "people": people["between"]}
            row |= {"changed": mine["texts"], "per_annotation": mine["annotations"]}
            yield {**row, "texts": mine["compared_texts"], "annotations": mine["compared_annotations"]}


@per_corpus
def prompt_change(one: Evaluated) -> Rows:
    """How often a model's label changes when nothing but the value of the trait in the prompt does."""
    for rater, by_trait in one.predicted_from("values").items():
        for trait, frame in by_trait.items():
            row = perspective.label_change(frame, one.task.people, trait, one.task.question).row(0, named=True)
            shown = {"between": row["between"], "changed": row["texts"], "texts": row["compared_texts"]}
            yield {"rater": rater, "trait": trait, **shown, "values": frame["rater"].n_unique()}


@per_corpus
def ablation(one: Evaluated) -> Rows:
    """Scores of the vote over every combination of traits."""
    for rater, by_trait in one.predicted_from("trait").items():
        people = one.asked if one.asked is not None and ":" in rater else one.task.split()
        pairs = people.test.select("item", "rater")
        predicted = {
            # No prediction where the trait of the user is not known.
            trait: pairs.join(frame, on=["item", "rater"], how="left")
            for trait, frame in by_trait.items()
        }
        ablated = perspective.ablation(predicted, people, seed=one.task.seed).drop("low", "high", "ties")
        for row in ablated.filter(pl.col("class") == one.task.label).drop("class").iter_rows(named=True):
            named = {"rater": rater, "panel": f"{one.task.name}: {rater}", "several": len(predicted) > 1}
            yield {**named, **row}


@per_rater
def soft(one: Evaluated, cell: GridCell) -> Rows:
    """Distances between predicted and given labels by trait value, where users of two values judged the same texts."""
    for trait in one.evaluations[cell].traits:
        with suppress(InputError):
            predicted = one.predictions[cell.rater, cell.variant]
            aligned = perspective.alignment(predicted, one.task.people, trait, one.task.question)
            yield from aligned.iter_rows(named=True)
