"""The data of the shared tasks on Learning With Disagreements: LeWiDi 2023 and 2025 (le-wi-di.github.io).

Every file is one JSON object from item id to item. In 2023 ids start again in every split, so that an item is
known as `<split>-<id>`, and annotators and annotations are two comma-separated lists in the same order. In
2025 ids run through all splits, annotations are an object from annotator to label, and a second file
describes the annotators. Hard and soft labels, as released, become columns of the items.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal, get_args

import polars as pl

from vantage.corpora.corpus import About, Corpus
from vantage.corpora.readers.lewidi_entries import (
    Judgment,
    as_items,
    as_judgments,
    raters_of,
    read_entries,
    with_traits,
)
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument
from vantage.scales import Scale

Groups = Literal["lewidi", "hub"]

NO_TURN: Final = "_"
"""What ConvAbuse writes for a turn that does not exist."""
CONVERSATION: Final = pl.List(pl.Struct({"speaker": pl.String, "text": pl.String}))
KINDS_OF_ABUSE: Final = {
    name.replace("_", "-").replace(".", "-"): name
    for name in (
        "ableist",
        "homophobic",
        "intellectual",
        "racist",
        "sexist",
        "sex_harassment",
        "transphobic",
        "target.generalised",
        "target.individual",
        "target.system",
        "explicit",
        "implicit",
    )
}
"""Questions on the kind of abuse and what the release calls them."""

_LICENCE = "not stated in the shared task's repository"
_OFFENSIVE = "Texts contain offensive and hateful language."
_LABELS = "hard_label is the released majority, ties broken at random; soft_label_1 has two decimals."


def hs_brexit(path: Path, groups: Groups = "lewidi") -> Corpus:
    """Reads HS-Brexit: three questions about 1,120 tweets, all answered by the same six annotators.

    `groups` says which names the two groups of annotators get: those of the shared task's files, or those of
    the version on the Hugging Face hub, which are swapped.
    """
    if groups not in get_args(Groups):
        raise InputError(f"there are no group names '{groups}'", remedy=nearest(str(groups), get_args(Groups)))
    instrument = Instrument.load("hate-speech")
    items: list[dict[str, Any]] = []
    judgments: list[Judgment] = []
    group_of: dict[str, str] = {}
    for entry in read_entries(path, "HS-Brexit"):
        item = entry.item_2023()
        other = ("other_info", "other annotations")
        answers = {
            "hate-speech": entry.listed("annotations"),
            "aggressiveness": entry.listed(*other, "aggressive language detection"),
            "offensiveness": entry.listed(*other, "offensive language detection"),
        }
        items.append({**item, "text": entry.text("text")})
        judgments += entry.judgments(item["item"], instrument, answers, {"No": "0"})
        for rater, group in zip(entry.raters(), entry.listed("other_info", "annotators group"), strict=True):
            name = entry.text("other_info", group).removesuffix(" group")
            if group_of.setdefault(rater, name) != name:
                raise entry.fault(f"annotator '{rater}' is in two groups")
    if groups == "hub":
        swapped = {"target": "control", "control": "target"}
        group_of = {rater: swapped.get(group, group) for rater, group in group_of.items()}
    raters = raters_of(judgments)
    return Corpus(
        items=as_items(items),
        raters=raters.with_columns(pl.col("rater").replace_strict(group_of, return_dtype=pl.String).alias("group")),
        judgments=as_judgments(judgments),
        instruments=instrument,
        about=About(
            name="hs-brexit",
            title="HS-Brexit: hate speech in tweets about Brexit",
            source="le-wi-di.github.io (LeWiDi 2023)",
            licence=f"{_LICENCE}; the Hugging Face card silvia-casola/BREXIT says cc-by-sa-4.0",
            citation="Akhtar, Basile and Patti 2021, Whose opinions matter? Perspective-aware models to "
            "identify opinions of hate speech victims in abusive language detection",
            language="en",
            notes=(
                "The names of the two groups conflict: the shared task's files call annotators 1 to 3 the "
                "target group, the version on the Hugging Face hub calls them the control group. The labels "
                f"agree. Here the names are those of: {groups}.",
                "Three offensiveness labels of Ann2 are released as 'No' (train 426, train 604, test 8); "
                "they are read as 0.",
                _LABELS,
                _OFFENSIVE,
            ),
        ),
    )


def md_agreement(path: Path) -> Corpus:
    """Reads MD-Agreement: whether tweets of three domains are offensive, five annotators out of 819 each."""
    instrument = Instrument.load("offensiveness")
    items: list[dict[str, Any]] = []
    judgments: list[Judgment] = []
    for entry in read_entries(path, "MD-Agreement"):
        item = entry.item_2023()
        items.append({**item, "text": entry.text("text"), "domain": entry.text("other_info", "domain")})
        judgments += entry.judgments(
            item["item"], instrument, {instrument.questions[0].id: entry.listed("annotations")}
        )
    return Corpus(
        items=as_items(items),
        raters=raters_of(judgments),
        judgments=as_judgments(judgments),
        instruments=instrument,
        about=About(
            name="md-agreement",
            title="MD-Agreement: offensive language in tweets of three domains",
            source="le-wi-di.github.io (LeWiDi 2023)",
            licence=f"{_LICENCE}; dhfbk/annotators-agreement-dataset says non-commercial research only",
            citation="Leonardelli, Menini, Palmero Aprosio, Guerini and Tonelli 2021, Agreeing to disagree: "
            "annotating offensive language datasets with annotators' disagreement",
            language="en",
            notes=(
                "Test item 2038 lists annotator Ann448 twice, both times with label 0; one annotation is kept.",
                _LABELS,
                _OFFENSIVE,
            ),
        ),
    )


def convabuse(path: Path) -> Corpus:
    """Reads ConvAbuse: how abusive users are towards two chatbots, with twelve labels on kind and target."""
    severity = Instrument.load("conversation-abuse")
    kinds = Instrument.of_questions(
        "convabuse-kinds",
        "ConvAbuse: kind, target and directness of the abuse",
        {name: Scale.labels("no", "yes") for name in KINDS_OF_ABUSE},
    )
    items: list[dict[str, Any]] = []
    judgments: list[Judgment] = []
    for entry in read_entries(path, "ConvAbuse"):
        item = entry.item_2023()
        turns = entry.turns()
        said = [turn for turn in turns if turn["text"] != NO_TURN]
        items.append(
            {
                **item,
                "text": said[-1]["text"] if said and said[-1] is turns[-1] else None,
                "conversation": said,
                "bot": entry.text("other_info", "bot"),
                "conversation_ids": entry.text("other_info", "conversation_id(s)").split(","),
            }
        )
        abuse = {severity.questions[0].id: entry.listed("annotations")}
        judgments += entry.judgments(item["item"], severity, abuse)
        sub_labels = {
            question: entry.listed("other_info", "other_annotations", released)
            for question, released in KINDS_OF_ABUSE.items()
        }
        judgments += entry.judgments(item["item"], kinds, sub_labels)
    return Corpus(
        items=as_items(items, {"conversation": CONVERSATION, "text": pl.String}),
        raters=raters_of(judgments),
        judgments=as_judgments(judgments),
        instruments=(severity, kinds),
        about=About(
            name="convabuse",
            title="ConvAbuse: abuse in conversations with two chatbots",
            source="le-wi-di.github.io (LeWiDi 2023)",
            licence=f"{_LICENCE}, nor in amandacurry/convabuse",
            citation="Cercas Curry, Abercrombie and Rieser 2021, ConvAbuse: data, analysis, and benchmarks "
            "for nuanced abuse detection in conversational AI",
            language="en",
            notes=(
                "The severity 0 means that it is unclear whether a message is abusive; it is a step of the "
                "scale here, not an opt-out. Values below 0 count as abuse.",
                "The conversation ends with the judged message, which is also the text. Turns that do not "
                "exist (released as '_') are left out; train item 926 has none at all.",
                "1,050 items have two annotations only, though three or more are announced.",
                "Some conversation_ids have lost digits to a spreadsheet (2.91829E+15).",
                "hard_label 1 stands for abusive. " + _LABELS,
                _OFFENSIVE,
            ),
        ),
    )


def multipico(path: Path, language: str | None = None) -> Corpus:
    """Reads MP (MultiPICo): whether a reply to a post is ironic, in nine languages; `language` keeps one."""
    instrument = Instrument.load("irony")
    entries = read_entries(path, "MP")
    if language is not None:
        known = sorted({entry.text("lang") for entry in entries})
        entries = [entry for entry in entries if entry.text("lang") == language]
        if not entries:
            raise InputError(
                f"there are no items in the language '{language}'",
                file=path,
                remedy=f"available: {', '.join(known)}",
            )
    items: list[dict[str, Any]] = []
    judgments: list[Judgment] = []
    for entry in entries:
        items.append(
            {
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
        )
        judgments += entry.judgments_2025(instrument)
    return Corpus(
        items=as_items(items),
        raters=with_traits(
            raters_of(judgments),
            path,
            "MP",
            {
                "Age": "age",
                "Gender": "gender",
                "Ethnicity simplified": "ethnicity",
                "Country of birth": "country_of_birth",
                "Country of residence": "country_of_residence",
                "Nationality": "nationality",
                "Student status": "student_status",
                "Employment status": "employment_status",
            },
        ),
        judgments=as_judgments(judgments),
        instruments=instrument,
        about=About(
            name="mp" if language is None else f"mp-{language}",
            title="MultiPICo: irony in post and reply",
            source="le-wi-di.github.io (LeWiDi 2025)",
            licence=f"{_LICENCE}; the Hugging Face card Multilingual-Perspectivist-NLU/MultiPICo says cc-by-4.0",
            citation="Casola et al. 2024, MultiPICo: multilingual perspectivist irony corpus",
            language=language or ", ".join(sorted({item["language"] for item in items})),
            notes=(
                "Traits that the annotators did not give or that have expired are null.",
                "A few items have the same post and reply.",
                "The English part is part of EPIC.",
                "soft_label_1 is the released share of 'ironic', rounded.",
            ),
        ),
    )


def csc(path: Path) -> Corpus:
    """Reads CSC: how sarcastic a response is in its context, from 1 to 6."""
    instrument = Instrument.load("sarcasm-rating")
    items: list[dict[str, Any]] = []
    judgments: list[Judgment] = []
    for entry in read_entries(path, "CSC"):
        items.append(
            {
                "item": entry.key,
                "context": entry.text("text", "context"),
                "response": entry.text("text", "response"),
                "split": entry.text("split"),
                "language": entry.text("lang"),
                "context_speaker": entry.text("other_info", "context+speaker"),
                **{f"soft_label_{step}": entry.soft_label(f"{step}") for step in range(1, 7)},
            }
        )
        judgments += entry.judgments_2025(instrument)
    return Corpus(
        items=as_items(items),
        raters=with_traits(raters_of(judgments), path, "CSC", {"Age": "age", "Gender": "gender"}),
        judgments=as_judgments(judgments),
        instruments=instrument,
        about=About(
            name="csc",
            title="CSC: conversational sarcasm, responses rated in context",
            source="le-wi-di.github.io (LeWiDi 2025)",
            licence=f"{_LICENCE}; CoPsyN/CSC has the MIT licence",
            citation="Jang and Frassinelli 2024, Generalizable sarcasm detection is just around the corner, of course!",
            language="en",
            notes=(
                "The metadata have no entry for 32 annotators (Ann840 and up); their traits are null, as are "
                "those that have expired or whose consent was revoked.",
                "A few items have the same context and response.",
                "soft_label_1 to soft_label_6 are the released shares of the six steps, rounded.",
            ),
        ),
    )
