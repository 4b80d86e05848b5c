"""The groups that are judged, and what is known of people: Fiske et al. (2002) and Cuddy et al. (2007)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora import About, Corpus
from vantage.corpora.readers.files import SUFFIXES, read_table, text_of
from vantage.documents import Document
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument
from vantage.measures import Dictionary


@dataclass(frozen=True, slots=True)
class SocialGroup:
    """A social group: the words in which it is asked about, and the other names that it goes by."""

    id: str
    group: str
    """As it stands in a question."""
    label: str = ""
    """A short name for figures; the group's own where there is none."""
    published: str = ""
    """The name in the published list."""
    aliases: tuple[str, ...] = ()
    theme: str = ""
    reference: str = ""
    """The cluster of Fiske et al. (2002) in which people place it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every name of the group, each once: for finding it, and for masking it in texts."""
        named = (self.group, self.label.strip('"'), self.published, *self.aliases)
        return tuple(dict.fromkeys(name for name in named if name))


COLUMNS: Final = tuple(part.name for part in fields(SocialGroup))
"""What a file of groups can say about each; only `group` is needed."""


@cache
def published_groups() -> tuple[SocialGroup, ...]:
    """The 98 groups of the published list, and one that only the human reference has.

    >>> len(published_groups()), published_groups()[5].group, published_groups()[5].published
    (99, 'blind people', 'Blinds')
    """
    return _checked(map(_group, Document.bundled(__package__, "groups.yaml").data["groups"]), "groups.yaml")


def reference_groups() -> tuple[SocialGroup, ...]:
    """The 24 groups whose place in the eyes of people is known (Fiske et al. 2002).

    >>> {group.reference for group in reference_groups()} == {"HC-LW", "LC-HW", "LC-LW", "HC-HW", "MC-MW"}
    True
    """
    return tuple(group for group in published_groups() if group.reference)


def read_groups(source: str | Path = "published") -> tuple[SocialGroup, ...]:
    """Groups by name: `published`, `reference`, names separated by commas, or a file.

    A file is a table (CSV, TSV, JSON Lines, JSON, Parquet) with a column `group` and any of `COLUMNS`, or a text file
    (`.txt`) with one group a line. A name in the published list keeps its wording and gets the other names and the
    reference.

    >>> [(group.id, group.reference) for group in read_groups("nurses, Rich people, ship's cooks")]
    [('nurses', ''), ('rich', 'HC-LW'), ('ship-s-cooks', '')]
    """
    text = str(source)
    if text in ("published", "reference"):
        return published_groups() if text == "published" else reference_groups()
    path = Path(source)
    if path.suffix.lower() in SUFFIXES and "," not in text:
        return _checked(map(_recognised, _read_file(path)), text)
    names = [name.strip() for name in text.split(",")]
    if not any(names):
        raise InputError("no groups are named", remedy='use published, reference, a file, or names: "nurses, lawyers"')
    return _checked((_recognised({"group": name}) for name in names if name), "the list of groups")


def groups_corpus(groups: Sequence[SocialGroup], instrument: Instrument, *, published_names: bool = False) -> Corpus:
    """A corpus of groups to be judged, in the words of the published list where that is wanted."""
    rows = [
        {
            "item": group.id,
            "group": group.published if published_names and group.published else group.group,
            "label": group.label or group.group,
            **{name: getattr(group, name) or None for name in ("published", "theme", "reference")},
            "names": "; ".join(group.names),
        }
        for group in groups
    ]
    about = About(
        name="stereomap",
        title="Social groups",
        language=instrument.language,
        notes=("Judgments report stereotypes that are held to exist in a society; they do not describe the groups.",),
    )
    names = ("item", "group", "label", "published", "theme", "reference", "names")
    return Corpus.of_items(pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String)), instrument, about)


def _read_file(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, every key known and every row with a group."""
    if path.suffix.lower() == ".txt":
        lines = [line.strip() for line in text_of(path).splitlines()]
        return [{"group": line} for line in lines if line and line.casefold() != "group"]
    table = read_table(path)
    for column in table.frame.columns:
        if column not in COLUMNS:
            remedy = nearest(column, COLUMNS)
            raise InputError("a group has no such column", file=path, column=column, remedy=remedy)
    if "group" not in table.frame.columns:
        raise InputError("there is no column 'group'", file=path, remedy="put the groups' names into it")
    rows = table.frame.to_dicts()
    for number, row in enumerate(rows):
        if not str(row["group"] or "").strip():
            raise InputError("the group has no name", file=path, row=number + table.first_row, column="group")
    return rows


def _group(row: Mapping[str, Any]) -> SocialGroup:
    fields = {key: str(value).strip() for key, value in row.items() if value is not None and key != "aliases"}
    aliases = row.get("aliases") or ()
    named = [str(name).strip() for name in (aliases.split(";") if isinstance(aliases, str) else aliases)]
    id_ = re.sub(r"\W+", "-", fields["group"].casefold()).strip("-") or "group"
    return SocialGroup(**{"id": id_, **fields}, aliases=tuple(filter(None, named)))


def _recognised(row: Mapping[str, Any]) -> SocialGroup:
    """A group as it was given, with what the published list knows of it."""
    group = _group(row)
    for known in published_groups():
        if group.group.casefold() in {known.id, *(name.casefold() for name in known.names)}:
            same = {name: getattr(group, name) or getattr(known, name) for name in ("published", "theme", "reference")}
            label = group.label or ("" if group.group != known.group else known.label)
            aliases = tuple(dict.fromkeys([*group.aliases, *known.names]))
            return replace(group, id=str(row.get("id") or known.id), label=label, aliases=aliases, **same)
    return group


def _checked(groups: Iterable[SocialGroup], place: str) -> tuple[SocialGroup, ...]:
    """The groups, unless one of them occurs twice."""
    checked, seen = tuple(groups), dict[str, int]()
    for number, group in enumerate(checked, 1):
        for name in (group.group.casefold(), f"id {group.id}"):
            if name in seen:
                problem = f"the group '{group.group}' occurs twice (entries {seen[name]} and {number})"
                raise InputError(problem, file=place, remedy="keep one of them")
            seen[name] = number
    if not checked:
        raise InputError("there are no groups", file=place, remedy="name at least one")
    return checked


@dataclass(frozen=True, slots=True)
class HumanCluster:
    """A cluster of groups as people see them: its means, and whether competence differed from warmth."""

    id: str
    title: str
    competence: float
    warmth: float
    relation: str
    """`>`, `<`, or `=` where the difference was not significant at .001."""

    @property
    def difference(self) -> float:
        """Competence minus warmth."""
        return self.competence - self.warmth


@cache
def human_clusters() -> dict[str, HumanCluster]:
    """The clusters of Fiske et al. (2002), by id. Means of single groups are not published.

    >>> human_clusters()["HC-LW"].competence, human_clusters()["HC-LW"].relation
    (4.29, '>')
    """
    means = Document.bundled(__package__, "reference.yaml").data["clusters"]["means"]
    return {id_: HumanCluster(id_, **values) for id_, values in means.items()}


@cache
def human_correlations() -> pl.DataFrame:
    """The correlations of Cuddy et al. (2007) as printed, those in doubt marked with what they should rather be.

    >>> human_correlations().filter("doubtful").select("first", "second", "printed", "otherwise").rows()
    [('competence', 'passive-facilitation', -0.77, 0.77)]
    """
    reference = Document.bundled(__package__, "reference.yaml").data["correlations"]
    printed = [
        (first, second, value)
        for first, values in reference["printed"].items()
        for second, value in zip(reference["columns"], values, strict=True)
    ]
    frame = pl.DataFrame(printed, schema=["first", "second", "printed"], orient="row")
    doubts = pl.DataFrame(reference["doubtful"])
    joined = frame.join(doubts, on=["first", "second"], how="left", maintain_order="left")
    return joined.with_columns(pl.col("why").is_not_null().alias("doubtful"))


@cache
def seed_dictionary() -> Dictionary:
    """The small open dictionary that comes with the study.

    >>> seed_dictionary().find("hard-working").entries[0].dimension
    'Assertiveness'
    """
    document = Document.bundled(__package__, "seed_dictionary.yaml")
    return Dictionary.of(document.data, document.file)
