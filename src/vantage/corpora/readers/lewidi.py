"""The data of the shared tasks on Learning With Disagreements: LeWiDi 2023 and 2025 (le-wi-di.github.io).

Every file is one JSON object from item id to item. In 2023 ids start again in every split, so that an item is
known as `<split>-<id>`, and annotators and annotations are two comma-separated lists in the same order. In
2025 ids run through all splits, annotations are an object from annotator to label, and a second file
describes the annotators. Hard and soft labels, as released, become columns of the items.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, get_args

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.corpora.readers.lewidi_entries import Judgment, LewidiEntry, raters_of, read_entries, with_traits
from vantage.corpora.readers.release import release
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument
from vantage.scales import Scale

Groups = Literal["lewidi", "hub"]

NO_TURN: Final = "_"
"""What ConvAbuse writes for a turn that does not exist."""
CONVERSATION: Final = pl.List(pl.Struct({"speaker": pl.String, "text": pl.String}))
KINDS_OF_ABUSE: Final = {
    name.replace("_", "-").replace(".", "-"): ("other_info", "other_annotations", name)
    for name in (
        "ableist", "homophobic", "intellectual", "racist", "sexist", "sex_harassment", "transphobic",
        "target.generalised", "target.individual", "target.system", "explicit", "implicit",
    )
}  # fmt: skip
"""Questions on the kind of abuse and where the release has the answers."""
MP_TRAITS: Final = {
    name: name.removesuffix(" simplified").replace(" ", "_").lower()
    for name in (
        "Age", "Gender", "Ethnicity simplified", "Country of birth", "Country of residence", "Nationality",
        "Student status", "Employment status",
    )
}  # fmt: skip


def hs_brexit(path: Path, groups: Groups = "lewidi") -> Corpus:
    """Reads HS-Brexit: three questions about 1,120 tweets, all answered by the same six annotators.

    `groups` says which names the two groups of annotators get: those of the shared task's files, or those of
    the version on the Hugging Face hub, which are swapped.
    """
    if groups not in get_args(Groups):
        raise InputError(f"there are no group names '{groups}'", remedy=nearest(str(groups), get_args(Groups)))
    entries = read_entries(path, "HS-Brexit")
    other = ("other_info", "other annotations")
    answers = {
        "hate-speech": ("annotations",),
        "aggressiveness": (*other, "aggressive language detection"),
        "offensiveness": (*other, "offensive language detection"),
    }
    items, judgments = _read(entries, [Instrument.load("hate-speech")], _tweet, answers, {"No": "0"})
    group_of: dict[str, str] = {}
    for entry in entries:
        for rater, group in zip(entry.raters(), entry.listed("other_info", "annotators group"), strict=True):
            name = entry.text("other_info", group).removesuffix(" group")
            if group_of.setdefault(rater, name) != name:
                raise entry.fault(f"annotator '{rater}' is in two groups")
    if groups == "hub":
        swapped = {"target": "control", "control": "target"}
        group_of = {rater: swapped.get(group, group) for rater, group in group_of.items()}
    raters = raters_of(judgments).with_columns(
        pl.col("rater").replace_strict(group_of, return_dtype=pl.String).alias("group")
    )
    return release("hs-brexit", items, raters, judgments, Instrument.load("hate-speech"), groups=groups)


def md_agreement(path: Path) -> Corpus:
    """Reads MD-Agreement: whether tweets of three domains are offensive, five annotators out of 819 each."""
    asked = Instrument.load("offensiveness")

    def item(entry: LewidiEntry) -> dict[str, Any]:
        return {**_tweet(entry), "domain": entry.text("other_info", "domain")}

    answers = {asked.questions[0].id: ("annotations",)}
    items, judgments = _read(read_entries(path, "MD-Agreement"), [asked], item, answers)
    return release("md-agreement", items, raters_of(judgments), judgments, asked)


def convabuse(path: Path) -> Corpus:
    """Reads ConvAbuse: how abusive users are towards two chatbots, with twelve labels on kind and target."""
    severity = Instrument.load("conversation-abuse")
    title = "ConvAbuse: kind, target and directness of the abuse"
    kinds = Instrument.of_questions("convabuse-kinds", title, dict.fromkeys(KINDS_OF_ABUSE, Scale.labels("no", "yes")))

    def item(entry: LewidiEntry) -> dict[str, Any]:
        turns = entry.turns()
        said = [turn for turn in turns if turn["text"] != NO_TURN]
        return {
            **entry.item_2023(),
            "text": said[-1]["text"] if said and said[-1] is turns[-1] else None,
            "conversation": said,
            "bot": entry.text("other_info", "bot"),
            "conversation_ids": entry.text("other_info", "conversation_id(s)").split(","),
        }

    answers = {severity.questions[0].id: ("annotations",), **KINDS_OF_ABUSE}
    items, judgments = _read(read_entries(path, "ConvAbuse"), [severity, kinds], item, answers)
    return release("convabuse", items, raters_of(judgments), judgments, (severity, kinds))


def multipico(path: Path, language: str | None = None) -> Corpus:
    """Reads MP (MultiPICo): whether a reply to a post is ironic, in nine languages; `language` keeps one."""
    entries = read_entries(path, "MP")
    known = sorted({entry.text("lang") for entry in entries})
    if language is not None and language not in known:
        problem = f"there are no items in the language '{language}'"
        raise InputError(problem, file=path, remedy=f"available: {', '.join(known)}")

    def item(entry: LewidiEntry) -> dict[str, Any]:
        return {
            "item": entry.key,
            "post": entry.text("text", "post"),
            "reply": entry.text("text", "reply"),
            "split": entry.text("split"),
            "language": entry.text("lang"),
            "language_variety": entry.text("other_info", "language_variety"),
            "source": entry.text("other_info", "source"),
            "level": entry.whole("other_info", "level"),
            # The development file writes its labels as 0.0 and 1.0, the test file as 0 and 1.
            "soft_label_1": entry.soft_label("1", "1.0"),
        }

    asked = Instrument.load("irony")
    items, judgments = _read([e for e in entries if language in (None, e.text("lang"))], [asked], item)
    raters = with_traits(raters_of(judgments), path, "MP", MP_TRAITS)
    name = "mp" if language is None else f"mp-{language}"
    return release("mp", items, raters, judgments, asked, name=name, language=language or ", ".join(known))


def csc(path: Path) -> Corpus:
    """Reads CSC: how sarcastic a response is in its context, from 1 to 6."""
    asked = Instrument.load("sarcasm-rating")

    def item(entry: LewidiEntry) -> dict[str, Any]:
        return {
            "item": entry.key,
            "context": entry.text("text", "context"),
            "response": entry.text("text", "response"),
            "split": entry.text("split"),
            "language": entry.text("lang"),
            "context_speaker": entry.text("other_info", "context+speaker"),
            **{f"soft_label_{step}": entry.soft_label(f"{step}") for step in range(1, 7)},
        }

    items, judgments = _read(read_entries(path, "CSC"), [asked], item)
    raters = with_traits(raters_of(judgments), path, "CSC", {"Age": "age", "Gender": "gender"})
    return release("csc", items, raters, judgments, asked)


def _tweet(entry: LewidiEntry) -> dict[str, Any]:
    return {**entry.item_2023(), "text": entry.text("text")}


def _read(
    entries: Sequence[LewidiEntry],
    instruments: Sequence[Instrument],
    item: Callable[[LewidiEntry], dict[str, Any]],
    answers: Mapping[str, Sequence[str]] | None = None,
    spellings: Mapping[str, str] | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The items and the judgments.

    Args:
        entries: The items of the files.
        instruments: What was asked.
        item: The columns of an item.
        answers: For files of 2023, from questions to where an item has the annotators' answers.
        spellings: Answers that are written in another way.
    """
    scales = {question.id: question.scale for instrument in instruments for question in instrument.questions}
    items: list[dict[str, Any]] = []
    judgments: list[Judgment] = []
    for entry in entries:
        items.append(item(entry))
        if answers is None:
            judgments += entry.judgments_2025(scales)
        else:
            given = {question: entry.listed(*place) for question, place in answers.items()}
            judgments += entry.judgments(items[-1]["item"], scales, given, spellings)
    types: dict[str, Any] = {"conversation": CONVERSATION, "text": pl.String}
    types = {name: dtype for name, dtype in types.items() if name in items[0]}
    columns = {"item": pl.String, "question": pl.String, "rater": pl.String, "value": pl.Float64}
    return (
        pl.DataFrame(items, schema_overrides=types, infer_schema_length=None),
        pl.DataFrame(judgments, schema=columns, orient="row"),
    )
