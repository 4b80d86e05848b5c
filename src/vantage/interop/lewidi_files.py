"""The data of the shared tasks on Learning With Disagreements: LeWiDi 2023 and 2025 (le-wi-di.github.io).

Every file is one JSON object from item id to item. In 2023 ids start again in every split, so that an item is
known as `<split>-<id>`, and annotators and annotations are two comma-separated lists in the same order. In
2025 ids run through all splits, annotations are an object from annotator to label, and a second file
describes the annotators. Hard and soft labels, as released, become columns of the items. In VariErrNLI an annotator may
choose several labels, so that each label is a question of its own. `edition` reads all data sets of a year.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.corpora.readers.files import find, read_json, released, text_of
from vantage.corpora.readers.release import release
from vantage.corpora.schema import CONVERSATION
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument
from vantage.scales import Scale, show_code

SPLITS: Final = ("train", "dev", "test")
MISSING: Final = frozenset({"", "nan", "DATA_EXPIRED", "CONSENT_REVOKED", "Prefer not to say"})
"""Values in the metadata that mean "not known"."""

Judgment = tuple[str, str, str, float, str | None]
"""Item, question, rater, value and rationale."""


@dataclass(frozen=True, slots=True)
class LewidiEntry:
    """One item of a file; it can say what is wrong with it, and where."""

    path: Path
    key: str
    data: Mapping[str, Any]
    what: str = "item"

    def fault(self, problem: str, *names: str) -> InputError:
        """The error for a problem with the item, or with the part that the names lead to."""
        inside = f", {' › '.join(names)}" if names else ""
        place = f"{self.path}, {self.what} '{self.key}'{inside}"
        return InputError(problem, file=place, remedy="compare the file with the released one")

    def value(self, *names: str) -> Any:
        """The value under a name, or under a path of names."""
        value: Any = self.data
        for depth, name in enumerate(names, 1):
            if not isinstance(value, Mapping) or name not in value:
                raise self.fault("this is missing", *names[:depth])
            value = value[name]
        return value

    def text(self, *names: str) -> str:
        """A value that has to be text."""
        value = self.value(*names)
        if not isinstance(value, str):
            raise self.fault(f"'{value}' is not text", *names)
        return value

    def number(self, *names: str) -> float:
        """A value that has to be a finite number, or the text of one."""
        value = self.value(*names)
        number = _float(value)
        if not math.isfinite(number):
            raise self.fault(f"'{value}' is not a number", *names)
        return number

    def whole(self, *names: str) -> int:
        """A value that has to be a whole number."""
        number = self.number(*names)
        if not number.is_integer() or abs(number) > 1e9:
            raise self.fault(f"'{self.value(*names)}' is not a small whole number", *names)
        return int(number)

    def soft_label(self, *spellings: str) -> float:
        """The released share of a label, under the first spelling of it that the file knows."""
        known = self.value("soft_label")
        spelling = next((s for s in spellings if isinstance(known, Mapping) and s in known), spellings[0])
        return self.number("soft_label", spelling)

    def item_2023(self) -> dict[str, Any]:
        """The columns that all data sets of 2023 share."""
        split = self.text("split")
        return {
            "item": f"{split}-{self.key}",
            "text": None,
            "split": split,
            "language": self.text("lang"),
            "hard_label": self.whole("hard_label"),
            "soft_label_1": self.soft_label("1"),
        }

    def texts_2025(self, *fields: str) -> dict[str, Any]:
        """The columns that both data sets of 2025 share, with the fields of their text."""
        shown = {name: self.text("text", name) for name in fields}
        return {"item": self.key, **shown, "split": self.text("split"), "language": self.text("lang")}

    def raters(self) -> list[str]:
        """The annotators of an item of 2023, in the order of their annotations."""
        raters = self.text("annotators").split(",")
        if not all(raters):
            raise self.fault("an annotator has no name", "annotators")
        return raters

    def listed(self, *names: str) -> list[str]:
        """A comma-separated list with one entry for each annotator."""
        values = self.text(*names).split(",")
        if len(values) != len(self.raters()):
            raise self.fault(f"there are {len(values)} values for {len(self.raters())} annotators", *names)
        return values

    def turns(self) -> list[dict[str, str]]:
        """The turns of a ConvAbuse conversation, whose text is itself a JSON object."""
        try:
            spoken = json.loads(self.text("text"))
        except (json.JSONDecodeError, RecursionError):
            raise self.fault("the conversation is not JSON", "text") from None
        inner = LewidiEntry(self.path, self.key, {"text": spoken})
        return [
            {"speaker": speaker, "text": inner.text("text", turn)}
            for turn, speaker in (("prev_agent", "Bot"), ("prev_user", "User"), ("agent", "Bot"), ("user", "User"))
        ]

    def judgments(
        self,
        item: str,
        scales: Mapping[str, Scale],
        answers: Mapping[str, Sequence[str]],
        spellings: Mapping[str, str] | None = None,
    ) -> Iterator[Judgment]:
        """Every annotator's answers; duplicate answers of an annotator are counted once."""
        spellings = spellings or {}
        raters = self.raters()
        for question, given in answers.items():
            known: dict[str, float] = {}
            for rater, answer in zip(raters, given, strict=True):
                code = self._code(spellings.get(answer, answer), rater, scales[question])
                if rater not in known:
                    yield item, question, rater, code, None
                elif known[rater] != code:
                    both = f"{show_code(known[rater])} and {show_code(code)}"
                    raise self.fault(f"annotator '{rater}' has two answers, {both}")
                known[rater] = code

    def judgments_2025(self, scales: Mapping[str, Scale]) -> Iterator[Judgment]:
        """Every annotator's answer to the one question of a data set of 2025, with its explanation, if there is one."""
        ((question, scale),) = scales.items()
        given = self._given()
        reasons = self._explanations(len(given))
        for (rater, answer), reason in zip(given.items(), reasons, strict=True):
            yield self.key, question, rater, self._code(answer, rater, scale), reason

    def judgments_of_labels(self, scales: Mapping[str, Scale]) -> Iterator[Judgment]:
        """Whether each annotator chose each label, several at a time; explanations go with the labels chosen."""
        item = f"{self.text('split')}-{self.key}"
        chosen = {rater: str(answer).split(",") for rater, answer in self._given().items()}
        reasons = iter(self._explanations(sum(map(len, chosen.values()))))
        for rater, labels in chosen.items():
            if unknown := next((label for label in labels if label not in scales or labels.count(label) > 1), None):
                raise self.fault(f"the label '{unknown}' of '{rater}' is none of {', '.join(scales)}, or there twice")
            why = dict(zip(labels, reasons, strict=False))
            for label in scales:
                yield item, label, rater, float(label in labels), why.get(label)

    def _given(self) -> Mapping[str, Any]:
        given = self.value("annotations")
        if not isinstance(given, Mapping):
            raise self.fault("this is not an object from annotator to label", "annotations")
        return given

    def _explanations(self, wanted: int) -> list[str | None]:
        info = self.data.get("other_info")
        known = info.get("explanations") if isinstance(info, Mapping) else None
        if known is None:
            return [None] * wanted
        if not isinstance(known, list) or len(known) != wanted:
            raise self.fault(f"there are not {wanted} of them", "other_info", "explanations")
        return [str(one).strip() or None for one in known]

    def _code(self, answer: object, rater: str, scale: Scale) -> float:
        code = _float(answer)
        if not scale.holds(code):
            raise self.fault(f"the label '{answer}' of '{rater}' is not on the scale {scale.describe()}")
        return code


def _float(value: Any) -> float:
    """A number, or not a number for what is none."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def read_entries(path: Path, stem: str) -> list[LewidiEntry]:
    """The items of one file, or of all splits in a folder."""
    names = [f"{stem}_{split}.json" for split in SPLITS]
    first = find(path, *names)
    files = [first] if path.is_file() else [f for n in names if (f := first.parent / n).is_file()]
    entries: list[LewidiEntry] = []
    seen: dict[tuple[object, str], Path] = {}
    for file in files:
        for key, value in _object(file, "item ids to items", filled=True).items():
            entry = LewidiEntry(file, key, value if isinstance(value, Mapping) else {})
            # Ids of 2025 run through all splits; others are unique together with the split only.
            name = ("" if stem in ("MP", "CSC", "Paraphrase") else entry.text("split"), key)
            if name in seen:
                raise entry.fault(f"the item is in {seen[name].name} as well")
            seen[name] = file
            entries.append(entry)
    return entries


def _object(file: Path, what: str, *, filled: bool = False) -> Mapping[str, Any]:
    data = read_json(file)
    if not isinstance(data, Mapping) or (filled and not data):
        raise InputError(f"the file is not an object from {what}", file=file, remedy="download the file again")
    return data


def raters_of(judgments: pl.DataFrame) -> pl.DataFrame:
    """The annotators in the order of their numbers."""
    names = judgments.select(pl.col("rater").unique())
    return names.sort(pl.col("rater").str.len_chars(), "rater")


def with_traits(
    raters: pl.DataFrame, path: Path, stem: str, columns: Mapping[str, str]
) -> tuple[pl.DataFrame, list[str]]:
    """The annotators with what the metadata say of them, and what had to be repaired in the file.

    MP leaves the prefix `Ann` out of its keys.
    """
    file = find(path.parent if path.is_file() else path, f"{stem}_annotators_meta.json")
    data, notes = _metadata(file)
    rows = []
    for rater in raters["rater"]:
        profile = data.get(rater, data.get(rater.removeprefix("Ann"), {}))
        traits = LewidiEntry(file, rater, profile if isinstance(profile, Mapping) else {}, "annotator")
        rows.append({name: _trait(traits, column) if profile else None for column, name in columns.items()})
    frame = pl.DataFrame(rows, schema={name: pl.Int64 if name == "age" else pl.String for name in columns.values()})
    return raters.hstack(frame), notes


def _metadata(file: Path) -> tuple[Mapping[str, Any], list[str]]:
    """The annotators of a file, which may have commas before closing brackets, as two released files do."""
    data = _object(file, "annotators to their traits")
    try:
        json.loads(text_of(file))
    except ValueError:
        return data, [f"{file.name} is not valid JSON: it has commas before closing brackets, which were ignored."]
    return data, []


def _trait(traits: LewidiEntry, column: str) -> str | int | None:
    value = str(traits.value(column))
    if value in MISSING:
        return None
    return traits.whole(column) if column == "Age" else value


Groups = Literal["lewidi", "hub"]

NO_TURN: Final = "_"
"""What ConvAbuse writes for a turn that does not exist."""
KINDS_OF_ABUSE: Final = {
    name.replace("_", "-").replace(".", "-"): ("other_info", "other_annotations", name)
    for name in (
        "ableist", "homophobic", "intellectual", "racist", "sexist", "sex_harassment", "transphobic",
        "target.generalised", "target.individual", "target.system", "explicit", "implicit",
    )
}  # fmt: skip
"""Questions on the kind of abuse and where the release has the answers."""
NLI_LABELS: Final = ("contradiction", "entailment", "neutral")
"""The labels of VariErrNLI in the order in which submissions list them."""
STUDENTS: Final = {name: name.lower() for name in ("Gender", "Age", "Nationality", "Education")}
"""What is known of the annotators of Paraphrase and VariErrNLI."""
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
            **entry.texts_2025("post", "reply"),
            "language_variety": entry.text("other_info", "language_variety"),
            "source": entry.text("other_info", "source"),
            "level": entry.whole("other_info", "level"),
            # The development file writes its labels as 0.0 and 1.0, the test file as 0 and 1.
            "soft_label_1": entry.soft_label("1", "1.0"),
        }

    asked = Instrument.load("irony")
    items, judgments = _read([e for e in entries if language in (None, e.text("lang"))], [asked], item)
    raters, repaired = with_traits(raters_of(judgments), path, "MP", MP_TRAITS)
    name = "mp" if language is None else f"mp-{language}"
    return release("mp", items, raters, judgments, asked, repaired, name=name, language=language or ", ".join(known))


def csc(path: Path) -> Corpus:
    """Reads CSC: how sarcastic a response is in its context, from 1 to 6."""
    asked = Instrument.load("sarcasm-rating")

    def item(entry: LewidiEntry) -> dict[str, Any]:
        return {
            **entry.texts_2025("context", "response"),
            "context_speaker": entry.text("other_info", "context+speaker"),
            **{f"soft_label_{step}": entry.soft_label(f"{step}") for step in range(1, 7)},
        }

    items, judgments = _read(read_entries(path, "CSC"), [asked], item)
    raters, repaired = with_traits(raters_of(judgments), path, "CSC", {"Age": "age", "Gender": "gender"})
    return release("csc", items, raters, judgments, asked, repaired)


def paraphrase(path: Path) -> Corpus:
    """Reads Paraphrase: how far two questions say the same, from -5 to 5, with the reasons of four annotators."""
    scale = Scale.points(-5, 5, anchors={-5: "completely different", 5: "exactly the same"})
    wording = "Do the two questions ask the same?"
    asked = _instrument("paraphrase", {"question_1": "Question 1", "question_2": "Question 2"}, scale, wording)

    def item(entry: LewidiEntry) -> dict[str, Any]:
        shown = entry.texts_2025("Question1", "Question2")
        soft = {f"soft_label_{step}": entry.soft_label(f"{step}") for step in range(-5, 6)}
        texts = {f"question_{n}": shown.pop(f"Question{n}") for n in (1, 2)}
        return {"item": shown.pop("item"), **texts, **shown, **soft}

    items, judgments = _read(read_entries(path, "Paraphrase"), [asked], item)
    raters, repaired = with_traits(raters_of(judgments), path, "Paraphrase", STUDENTS)
    return release("paraphrase", items, raters, judgments, asked, repaired)


def varierrnli(path: Path) -> Corpus:
    """Reads VariErrNLI: which of three labels fit a statement in its context, several at a time, with reasons."""
    wording = "Is this label right for the statement, given the context: {}?"
    shown = {"context": "Context", "statement": "Statement"}
    asked = _instrument("nli", shown, Scale.labels("no", "yes"), wording, *NLI_LABELS)

    def item(entry: LewidiEntry) -> dict[str, Any]:
        soft = {f"soft_label_{label}": entry.number("soft_label", label, "1") for label in NLI_LABELS}
        texts = entry.texts_2025("context", "statement")
        # Eight ids stand for one statement in training and for another one about the same context elsewhere.
        return {**texts, "item": f"{texts['split']}-{entry.key}", **soft}

    items, judgments = _read(read_entries(path, "VariErrNLI"), [asked], item, several=True)
    raters, repaired = with_traits(raters_of(judgments), path, "VariErrNLI", STUDENTS)
    return release("varierrnli", items, raters, judgments, asked, repaired)


def armis(path: Path) -> Corpus:
    """Reads ArMIS: whether Arabic tweets are misogynist, by three annotators of different views."""
    asked = _instrument("misogyny", {"text": "Tweet"}, Scale.labels("no", "yes"), "Is the tweet misogynist or sexist?")
    entries = read_entries(path, "ArMIS")
    items, judgments = _read(entries, [asked], _tweet, {"misogyny": ("annotations",)})
    views: dict[str, tuple[str, str]] = {}
    for entry in entries:
        for rater in entry.raters():
            view, _, gender = entry.text("other_info", rater).partition("_")
            if views.setdefault(rater, (view, gender)) != (view, gender):
                raise entry.fault(f"annotator '{rater}' is described in two ways")
    raters = raters_of(judgments).with_columns(
        pl.col("rater").replace_strict({r: v[place] for r, v in views.items()}, return_dtype=pl.String).alias(name)
        for place, name in enumerate(("view", "gender"))
    )
    return release("armis", items, raters, judgments, asked)


EDITIONS: Final[dict[str, dict[str, tuple[str, Callable[[Path], Corpus]]]]] = {
    "2023": {
        "HS-Brexit": ("hate-speech", hs_brexit),
        "MD-Agreement": ("offensive", md_agreement),
        "ConvAbuse": ("abuse", convabuse),
        "ArMIS": ("misogyny", armis),
    },
    "2025": {
        "MP": ("irony", multipico),
        "CSC": ("sarcasm-rating", csc),
        "Paraphrase": ("paraphrase", paraphrase),
        "VariErrNLI": ("", varierrnli),
    },
}
"""The data sets of each edition as the organisers spell them: the question of the task (empty: all), the reader."""


def edition(path: Path | str, *, expected: bool = True) -> dict[str, Corpus]:
    """All data sets of LeWiDi in a folder, one level further down too; their items have the official parts in `split`.

    Keys are the names of the data sets as the organisers spell them. Where none is there that is `expected`, it fails.
    """
    folder = released(path)
    if not folder.is_dir():
        remedy = "name the folder with the released files, or set VANTAGE_DATA to the folder that has it"
        raise InputError("there is no such folder", file=folder, remedy=remedy)
    known = {stem: read for tasks in EDITIONS.values() for stem, (_, read) in tasks.items()}
    names = {stem: [f"{depth}{stem}_{part}.json" for depth in ("", "*/") for part in SPLITS] for stem in known}
    files = {stem: next((file for name in names[stem] for file in folder.glob(name)), None) for stem in known}
    folders = {stem: file.parent for stem, file in files.items() if file is not None}
    if expected and not folders:
        raise InputError(
            "the folder has no data set of LeWiDi", file=folder, remedy=f"it needs one of {', '.join(known)}"
        )
    return {stem: known[stem](where) for stem, where in folders.items()}


def _instrument(id_: str, fields: Mapping[str, str], scale: Scale, wording: str, *labels: str) -> Instrument:
    """An instrument of one question, or of one for each of several labels, about the given fields of an item."""
    asked = {label: wording.format(label) for label in labels} or {id_: wording}
    bare = Instrument.of_questions(id_, id_, dict.fromkeys(asked, scale), asked)
    shown = [{"name": name, "title": title} for name, title in fields.items()]
    guidelines = "Read everything that is shown, then answer. People differ here; give your own reading."
    return Instrument.from_document({**bare.document, "fields": shown, "guidelines": guidelines}, file=id_)


def _tweet(entry: LewidiEntry) -> dict[str, Any]:
    return {**entry.item_2023(), "text": entry.text("text")}


def _read(
    entries: Sequence[LewidiEntry],
    instruments: Sequence[Instrument],
    item: Callable[[LewidiEntry], dict[str, Any]],
    answers: Mapping[str, Sequence[str]] | None = None,
    spellings: Mapping[str, str] | None = None,
    *,
    several: bool = False,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The items, whose columns `item` gives, and the judgments.

    For files of 2023, `answers` says where an item has the annotators' answers, and `spellings` how some are written.
    `several`: annotators choose any of the labels, each of which is a question.
    """
    scales = {question.id: question.scale for instrument in instruments for question in instrument.questions}
    items: list[dict[str, Any]] = []
    judgments: list[Judgment] = []
    for entry in entries:
        items.append(item(entry))
        if answers is None:
            judgments += entry.judgments_of_labels(scales) if several else entry.judgments_2025(scales)
        else:
            given = {question: entry.listed(*place) for question, place in answers.items()}
            judgments += entry.judgments(items[-1]["item"], scales, given, spellings)
    types: dict[str, Any] = {"conversation": CONVERSATION, "text": pl.String}
    types = {name: dtype for name, dtype in types.items() if name in items[0]}
    texts = dict.fromkeys(("item", "question", "rater"), pl.String)
    columns = {**texts, "value": pl.Float64, "rationale": pl.String}
    made = pl.DataFrame(items, schema_overrides=types, infer_schema_length=None)
    return made, pl.DataFrame(judgments, schema=columns, orient="row")
