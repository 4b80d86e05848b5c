"""The groups that are judged: the published list, the 24 with a human reference, and lists of one's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora import About, Corpus
from vantage.corpora.readers.files import SUFFIXES, read_table, text_of
from vantage.documents import Document
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument

COLUMNS: Final = ("group", "id", "label", "published", "aliases", "theme", "reference")
"""What may be told of a group, in a file of one's own as in the bundled one; only `group` is needed."""


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
    def shown(self) -> str:
        """The name in tables and figures."""
        return self.label or self.group

    @property
    def names(self) -> tuple[str, ...]:
        """Every name of the group, each once: for finding it, and for masking it in texts."""
        named = (self.group, self.label.strip('"'), self.published, *self.aliases)
        return tuple(dict.fromkeys(name for name in named if name))


@cache
def published_groups() -> tuple[SocialGroup, ...]:
    """The 98 groups of the published list, and one more that stands in the human reference only.

    >>> len(published_groups()), published_groups()[5].group, published_groups()[5].published
    (99, 'blind people', 'Blinds')
    """
    rows = Document.bundled(__package__, "groups.yaml").data["groups"]
    return _checked((_group(row) for row in rows), "groups.yaml")


def reference_groups() -> tuple[SocialGroup, ...]:
    """The 24 groups whose place in the eyes of people is known (Fiske et al. 2002).

    >>> {group.reference for group in reference_groups()} == {"HC-LW", "LC-HW", "LC-LW", "HC-HW", "MC-MW"}
    True
    """
    return tuple(group for group in published_groups() if group.reference)


def read_groups(source: str | Path = "published") -> tuple[SocialGroup, ...]:
    """Groups by name: `published`, `reference`, names separated by commas, or a file.

    A file is a table (CSV, TSV, JSON Lines, JSON, Parquet) with a column `group` and any of `COLUMNS`, a YAML file
    as the bundled one, or a text file (`.txt`) with one group a line. A group whose name the published list knows is
    taken to be that group: it keeps the words in which it was given, and gets the other names and the reference.

    >>> [(group.id, group.reference) for group in read_groups("nurses, Rich people, ship's cooks")]
    [('nurses', ''), ('rich', 'HC-LW'), ('ship-s-cooks', '')]
    """
    text = str(source)
    if text in ("published", "reference"):
        return published_groups() if text == "published" else reference_groups()
    path = Path(source)
    suffix = path.suffix.lower()
    if suffix in (*SUFFIXES, ".yaml", ".yml") and "," not in text:
        return _checked(map(_recognised, _read_file(path, suffix)), text)
    names = [name.strip() for name in text.split(",")]
    if not any(names):
        raise InputError("no groups are named", remedy='use published, reference, a file, or names: "nurses, lawyers"')
    return _checked((_recognised({"group": name}) for name in names if name), "the list of groups")


def groups_corpus(groups: Sequence[SocialGroup], instrument: Instrument, *, published_names: bool = False) -> Corpus:
    """A corpus of groups to be judged.

    Args:
        groups: The groups.
        instrument: What will be asked.
        published_names: Whether to ask in the words of the published list where a group has one.
    """
    asked = [group.published if published_names and group.published else group.group for group in groups]
    items = pl.DataFrame(
        {
            "item": [group.id for group in groups],
            "group": asked,
            "label": [group.shown for group in groups],
            "published": [group.published or None for group in groups],
            "theme": [group.theme or None for group in groups],
            "reference": [group.reference or None for group in groups],
            "names": ["; ".join(group.names) for group in groups],
        },
        schema_overrides=dict.fromkeys(("published", "theme", "reference"), pl.String),
    )
    nobody = pl.DataFrame(schema={"rater": pl.String})
    nothing = pl.DataFrame(schema={"item": pl.String, "question": pl.String, "rater": pl.String, "value": pl.Float64})
    about = About(
        name="stereomap",
        title="Social groups",
        language=instrument.language,
        notes=("Judgments report stereotypes that are held to exist in a society; they do not describe the groups.",),
    )
    return Corpus(items, nobody, nothing, instrument, about)


def _read_file(path: Path, suffix: str) -> list[dict[str, Any]]:
    """The rows of a file, every key known and every row with a group."""
    first = 1
    if suffix in (".yaml", ".yml"):
        data = Document.read(path).data
        rows = data.get("groups") if isinstance(data, Mapping) else None
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            raise InputError("the file has no list 'groups'", file=path, remedy="write groups: [{group: …}, …]")
        columns = list(dict.fromkeys(str(key) for row in rows for key in row))
    elif suffix == ".txt":
        lines = [line.strip() for line in text_of(path).splitlines()]
        rows, columns = [{"group": line} for line in lines if line and line.casefold() != "group"], ["group"]
    else:
        table = read_table(path)
        rows, columns, first = table.frame.to_dicts(), table.frame.columns, table.first_row
    for column in columns:
        if column not in COLUMNS:
            remedy = nearest(column, COLUMNS)
            raise InputError("a group has no such column", file=path, column=column, remedy=remedy)
    if "group" not in columns:
        raise InputError("there is no column 'group'", file=path, remedy="put the groups' names into it")
    for number, row in enumerate(rows):
        if not str(row.get("group") or "").strip():
            raise InputError("the group has no name", file=path, row=number + first, column="group")
    return [dict(row) for row in rows]


def _group(row: Mapping[str, Any]) -> SocialGroup:
    told = {key: str(value).strip() for key, value in row.items() if value is not None and key != "aliases"}
    aliases = row.get("aliases") or ()
    named = aliases.split(";") if isinstance(aliases, str) else aliases
    told.setdefault("id", slug(told["group"]))
    return SocialGroup(**told, aliases=tuple(str(name).strip() for name in named if str(name).strip()))


def _recognised(row: Mapping[str, Any]) -> SocialGroup:
    """A group as it was given, with what the published list knows of it."""
    group = _group(row)
    known = next((other for other in published_groups() if _matches(group, other)), None)
    if known is None:
        return group
    return replace(
        group,
        id=str(row.get("id") or known.id),
        label=group.label or ("" if group.group != known.group else known.label),
        published=group.published or known.published,
        aliases=tuple(dict.fromkeys([*group.aliases, *known.names])),
        theme=group.theme or known.theme,
        reference=group.reference or known.reference,
    )


def _matches(group: SocialGroup, other: SocialGroup) -> bool:
    return group.group.casefold() in {other.id, *(name.casefold() for name in other.names)}


def _checked(groups: Iterable[SocialGroup], place: str) -> tuple[SocialGroup, ...]:
    """The groups, unless one of them occurs twice."""
    found: list[SocialGroup] = []
    seen: dict[str, int] = {}
    for number, group in enumerate(groups, 1):
        for name in (group.group.casefold(), f"id {group.id}"):
            if name in seen:
                raise InputError(
                    f"the group '{group.group}' occurs twice (entries {seen[name]} and {number})",
                    file=place,
                    remedy="keep one of them",
                )
            seen[name] = number
        found.append(group)
    if not found:
        raise InputError("there are no groups", file=place, remedy="name at least one")
    return tuple(found)


def slug(name: str) -> str:
    """An id from a name.

    >>> slug("Ship's cooks")
    'ship-s-cooks'
    """
    return re.sub(r"\W+", "-", name.casefold()).strip("-") or "group"
