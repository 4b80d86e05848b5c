"""Dictionaries that place words on dimensions of content, and how a word is found in one.

A word is looked up in four stages, and every match says by which one it was found: as it is written; in another
spelling (hyphen, space or neither, British or American); as a lemma, by part of speech; by the head of a phrase. A
negation ("not friendly", "lack of ambition") is taken off first and turns the direction round.

Lemmas come from the tools of the extra `text`: English ones from `lemminflect`, German and Dutch ones from `HanTa`
(Wartena 2019). Where neither is installed there are no lemmas, and `available` says so, so that a report can.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from vantage.corpora.readers.files import read_table
from vantage.documents import Document
from vantage.errors import InputError

PartOfSpeech: TypeAlias = Literal["ADJ", "NOUN", "VERB", "ADV"]
Stage: TypeAlias = Literal["exact", "variant", "lemma", "head"]
STAGES: Final[tuple[Stage, ...]] = ("exact", "variant", "lemma", "head")
Lemmatize: TypeAlias = Callable[[str, Sequence[PartOfSpeech]], list[str]]

_HANTA: Final = {"de": "morphmodel_ger.pgz", "nl": "morphmodel_dutch.pgz"}
_TAGS: Final[dict[str, tuple[str, ...]]] = {"ADJ": ("ADJ",), "NOUN": ("NN", "NE"), "VERB": ("V",), "ADV": ("ADV",)}
_EDGES: Final = " \t\r\n.,;:!?\"'`*_()[]{}<>«»“”‘’–—-/\\|"
_NEGATION: Final = re.compile(
    r"(?:not|never|no|non|without|hardly|lack(?:ing)?(?:\sof|\sin)?|low(?:\sin)?|less|un)[\s-]+(?:very\s|really\s|so\s)?(?=\w)"
)
_WHOLE: Final = frozenset({"no nonsense", "no-nonsense", "non conformist", "non-conformist", "low key", "low-key"})
"""Words that begin like a negation and are none."""
_SPELLINGS: Final = (
    *(
        (r"our\b", "or"),
        (r"our(?=\w)", "or"),
        (r"or(?=\b|able|ed|ing|ful|ite)", "our"),
        (r"is(?=e|ing|ed|ation)", "iz"),
    ),
    *((r"iz(?=e|ing|ed|ation)", "is"), (r"ll(?=ed|ing|er)", "l"), (r"(?<=[aeiou])l(?=ed|ing|er)", "ll")),
    *((r"ae", "e"), (r"ogue\b", "og"), (r"ence\b", "ense"), (r"ense\b", "ence")),
)


def available(language: str = "en") -> bool:
    """Whether there is a lemmatizer for a language."""
    return find_spec("lemminflect" if language == "en" else "HanTa") is not None and language in ("en", *_HANTA)


def lemmas(word: str, parts: Sequence[PartOfSpeech] = ("ADJ", "NOUN", "VERB"), language: str = "en") -> list[str]:
    """The lemmas of a word as each part of speech, most likely first, without the word itself.

    >>> lemmas("criminals") == (["criminal"] if available() else [])
    True
    """
    if not available(language) or not word:
        return []
    forms = _english(word) if language == "en" else _tagged(word, language)
    ordered = [lemma for part in parts for lemma in forms.get(part, ())]
    return [lemma for lemma in dict.fromkeys(ordered) if lemma != word]


@cache
def _english(word: str) -> dict[str, tuple[str, ...]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_part = import_module("lemminflect").getAllLemmas(word)
    return {part: tuple(forms) for part, forms in by_part.items()}


@cache
def _tagged(word: str, language: str) -> dict[str, tuple[str, ...]]:
    tagger = _tagger(language)
    forms: dict[str, tuple[str, ...]] = {}
    # German nouns have a capital, and a keyword in lower case may be one.
    for form in (word, word.capitalize()):
        lemma, tag = tagger.analyze(form)
        for part, tags in _TAGS.items():
            if tag.startswith(tags):
                forms[part] = (*forms.get(part, ()), lemma.casefold())
    return forms


@cache
def _tagger(language: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module("HanTa.HanoverTagger").HanoverTagger(_HANTA[language])


@dataclass(frozen=True, slots=True)
class Entry:
    """A dimension that a word belongs to, and its direction: 1 high, −1 low, 0 neutral, null where none is given."""

    dimension: str
    direction: float | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A word as it was found: in which stage, under which entry, and whether a negation was taken off."""

    stage: Stage
    word: str
    entries: tuple[Entry, ...]
    negated: bool = False


@dataclass(frozen=True)
class Dictionary:
    """Words with their dimensions.

    >>> small = Dictionary.of({"Sociability": {"high": ["friendly", "good natured"], "low": ["cold"]}})
    >>> small.find("Good-natured").stage, small.find("not friendly").entries[0].direction, small.find("tall")
    ('variant', -1.0, None)
    """

    name: str
    words: Mapping[str, tuple[Entry, ...]] = field(repr=False)
    notes: tuple[str, ...] = ()
    """What was set right while the file was read."""

    @classmethod
    def of(cls, dimensions: Mapping[str, Any], name: str = "dictionary") -> Dictionary:
        """A dictionary from lists of words by dimension and direction (`high`, `low`, `neutral`), or plain lists."""
        signs = {"high": 1.0, "low": -1.0, "neutral": 0.0}
        rows: list[tuple[str, str, float | None]] = []
        for dimension, sides_of in dimensions.items():
            sides = sides_of if isinstance(sides_of, Mapping) else {None: sides_of}
            for side, words in sides.items():
                if side is not None and side not in signs:
                    raise InputError(
                        f"dimension '{dimension}' has a side '{side}'", file=name, remedy="use high, low or neutral"
                    )
                if not isinstance(words, Sequence) or isinstance(words, str):
                    raise InputError(f"dimension '{dimension}' has no list of words", file=name)
                rows += [(str(word), str(dimension), None if side is None else signs[side]) for word in words]
        return cls._made(name, rows, [])

    @classmethod
    def read(cls, path: str | Path) -> Dictionary:
        """A dictionary from a file.

        Either a table with the columns `word`, `dimension` and `direction` (1, 0, −1 or empty), one row per word
        and dimension; or a table as the Stereotype Content Dictionary is published, with `original word` and the
        columns `NAME dictionary` (0 or 1) and `NAME direction`; or a YAML file of lists (see `of`).
        """
        path = Path(path)
        if path.suffix.lower() in (".yaml", ".yml"):
            data = Document.read(path).data
            if not isinstance(data, Mapping):
                raise InputError("the file is not a mapping of dimensions to words", file=path)
            return cls.of({str(key): value for key, value in data.items()}, path.name)
        table = read_table(path)
        columns = table.frame.columns
        if "word" in columns:
            table.require("word", "dimension", "direction")
            cells = table.frame.select("word", "dimension", "direction").iter_rows()
            entries = [(word, dimension, _sign(direction, path)) for word, dimension, direction in cells]
            return cls._made(path.name, [(str(w), str(d), sign) for w, d, sign in entries if w and d], [])
        members = [name for name in columns if name.endswith(" dictionary")]
        if "original word" not in columns or not members:
            raise InputError(
                "there is neither a column 'word' nor the pair 'original word' and 'NAME dictionary'",
                file=path,
                remedy="name the columns word, dimension and direction",
            )
        return cls._published(path, table.frame.to_dicts(), [name.removesuffix(" dictionary") for name in members])

    @classmethod
    def _published(cls, path: Path, table: Iterable[Mapping[str, Any]], dimensions: Sequence[str]) -> Dictionary:
        """The wide form; what contradicts itself is set right and noted."""
        rows: list[tuple[str, str, float | None]] = []
        faults: list[str] = []
        for row in table:
            word = str(row["original word"] or "")
            for dimension in dimensions:
                member = str(row[f"{dimension} dictionary"]).strip()
                direction = _sign(row.get(f"{dimension} direction"), path)
                if member not in ("0", "1", "0.0", "1.0"):
                    faults.append(f"membership {member} in {dimension}")
                elif member.startswith("1"):
                    missing = direction is None and f"{dimension} direction" in row
                    faults += [f"no direction in {dimension}"] if missing else []
                    rows.append((word, dimension, direction))
                elif direction is not None:
                    faults.append(f"a direction in {dimension} without membership")
        return cls._made(path.name, rows, faults)

    @classmethod
    def _made(cls, name: str, rows: Iterable[tuple[str, str, float | None]], faults: Sequence[str]) -> Dictionary:
        """Entries by word in lower case; where two spellings of a word contradict each other, no direction is kept."""
        directions: dict[str, dict[str, float | None]] = {}
        conflicts = 0
        for word, dimension, direction in rows:
            sides = directions.setdefault(plain(word), {})
            if dimension in sides and sides[dimension] != direction:
                conflicts += 1
                sides[dimension] = None
            else:
                sides[dimension] = direction
        directions.pop("", None)
        if not directions:
            raise InputError("the dictionary has no words", file=name, remedy="check the file")
        notes = [f"{len(faults)} defective cells were read as not given ({faults[0]}, …)."] if faults else []
        if conflicts:
            notes.append(f"{conflicts} words have two directions; they count without one.")
        entries = {word: tuple(Entry(d, s) for d, s in sides.items()) for word, sides in directions.items()}
        return cls(name, entries, tuple(notes))

    @cached_property
    def dimensions(self) -> tuple[str, ...]:
        """The dimensions, in the order in which they occur."""
        return tuple(dict.fromkeys(entry.dimension for entries in self.words.values() for entry in entries))

    @cached_property
    def directed(self) -> frozenset[str]:
        """The dimensions in which some word is high or low; the others say nothing of direction."""
        return frozenset(entry.dimension for entries in self.words.values() for entry in entries if entry.direction)

    def base_rates(self) -> dict[str, tuple[float, float | None]]:
        """Per dimension: the share of the dictionary's words and their mean direction, as blind drawing would give."""
        rates: dict[str, tuple[float, float | None]] = {}
        for dimension in self.dimensions:
            entries = [e for listed in self.words.values() for e in listed if e.dimension == dimension]
            signs = [entry.direction for entry in entries if entry.direction is not None]
            mean = sum(signs) / len(signs) if signs and dimension in self.directed else None
            rates[dimension] = (len(entries) / len(self.words), mean)
        return rates

    def find(
        self,
        word: str,
        *,
        parts: Sequence[PartOfSpeech] = ("ADJ", "NOUN", "VERB"),
        lemmatize: Lemmatize = lemmas,
    ) -> Match | None:
        """A word's entries, by the first stage that finds any; null when none does.

        `parts` are the parts of speech to try as lemmas, most likely first.
        """
        asked = plain(word)
        negation = None if asked in _WHOLE or asked in self.words else _NEGATION.match(asked)
        match = self._find(asked[negation.end() :] if negation else asked, parts, lemmatize)
        if match is None or negation is None:
            return match
        turned = tuple(Entry(e.dimension, None if e.direction is None else -e.direction) for e in match.entries)
        return Match(match.stage, match.word, turned, negated=True)

    def _find(self, word: str, parts: Sequence[PartOfSpeech], lemmatize: Lemmatize) -> Match | None:
        if word in self.words:
            return Match("exact", word, self.words[word])
        if lemma_of := self._spelt(word):
            return Match("variant", lemma_of, self.words[lemma_of])
        pieces = re.split(r"[\s-]+", word)
        before = word[: len(word) - len(pieces[-1])]
        for lemma in lemmatize(pieces[-1], parts):
            if lemma_of := self._spelt(before + lemma):
                return Match("lemma", lemma_of, self.words[lemma_of])
        if len(pieces) > 1:
            for form in (pieces[-1], *lemmatize(pieces[-1], parts)):
                if lemma_of := self._spelt(form):
                    return Match("head", lemma_of, self.words[lemma_of])
        return None

    def _spelt(self, word: str) -> str | None:
        """The entry that is this word, or the word in another spelling."""
        for form in spellings(word):
            if form in self.words:
                return form
            if (joined := _joined(form)) in self._joined_words:
                return self._joined_words[joined]
        return None

    @cached_property
    def _joined_words(self) -> dict[str, str]:
        """Entries by their letters alone; where several share them, the first in the alphabet."""
        joined: dict[str, str] = {}
        for word in sorted(self.words):
            joined.setdefault(_joined(word), word)
        return joined


def plain(word: str) -> str:
    """A word in lower case, without marks around it and with single spaces.

    >>> plain(" **Hard-Working**. ")
    'hard-working'
    """
    return " ".join(word.casefold().replace("’", "'").strip(_EDGES).split())


def spellings(word: str) -> Iterator[str]:
    """The word, and it in other common spellings, British for American and the reverse.

    >>> list(spellings("honourable"))
    ['honourable', 'honorable']
    """
    seen = {word}
    yield word
    for pattern, other in _SPELLINGS:
        form = re.sub(pattern, other, word)
        if form not in seen:
            seen.add(form)
            yield form


def _joined(word: str) -> str:
    return re.sub(r"[\s'-]+", "", word)


def _sign(cell: Any, path: Path) -> float | None:
    if cell is None or str(cell).strip() in ("", "NA", "NaN", "nan"):
        return None
    try:
        value = float(cell)
    except ValueError:
        value = float("nan")
    if value not in (-1.0, 0.0, 1.0):
        raise InputError(f"the direction '{cell}' is not 1, 0 or -1", file=path, column="direction")
    return value
