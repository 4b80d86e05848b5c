"""The groups that are judged, and what is known of people: Fiske et al. (2002) and Cuddy et al. (2007)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import About, Corpus
from vantage.corpora.readers.files import SUFFIXES, read_table, text_of
from vantage.documents import Document
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument
from vantage.measures.texts.dictionary import Dictionary

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
    about = About(
        name="stereomap",
        title="Social groups",
        language=instrument.language,
        notes=("Judgments report stereotypes that are held to exist in a society; they do not describe the groups.",),
    )
    return Corpus.of_items(items, instrument, about)


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
    fields = {key: str(value).strip() for key, value in row.items() if value is not None and key != "aliases"}
    aliases = row.get("aliases") or ()
    named = aliases.split(";") if isinstance(aliases, str) else aliases
    fields.setdefault("id", slug(fields["group"]))
    return SocialGroup(**fields, aliases=tuple(str(name).strip() for name in named if str(name).strip()))


def _recognised(row: Mapping[str, Any]) -> SocialGroup:
    """A group as it was given, with what the published list knows of it."""
    group = _group(row)
    known = next((other for other in published_groups() if _matches(group, other)), None)
    if known is None:
        return group
    same = {name: getattr(group, name) or getattr(known, name) for name in ("published", "theme", "reference")}
    label = group.label or ("" if group.group != known.group else known.label)
    aliases = tuple(dict.fromkeys([*group.aliases, *known.names]))
    return replace(group, id=str(row.get("id") or known.id), label=label, aliases=aliases, **same)


def _matches(group: SocialGroup, other: SocialGroup) -> bool:
    return group.group.casefold() in {other.id, *(name.casefold() for name in other.names)}


def _checked(groups: Iterable[SocialGroup], place: str) -> tuple[SocialGroup, ...]:
    """The groups, unless one of them occurs twice."""
    checked: list[SocialGroup] = []
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
        checked.append(group)
    if not checked:
        raise InputError("there are no groups", file=place, remedy="name at least one")
    return tuple(checked)


def slug(name: str) -> str:
    """An id from a name.

    >>> slug("Ship's cooks")
    'ship-s-cooks'
    """
    return re.sub(r"\W+", "-", name.casefold()).strip("-") or "group"


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
def _reference() -> Mapping[str, Any]:
    data: Mapping[str, Any] = Document.bundled(__package__, "reference.yaml").data
    return data


def human_clusters() -> dict[str, HumanCluster]:
    """The clusters of Fiske et al. (2002), by id. Means of single groups are not published.

    >>> human_clusters()["HC-LW"].competence, human_clusters()["HC-LW"].relation
    (4.29, '>')
    """
    means = _reference()["clusters"]["means"]
    return {id_: HumanCluster(id_, **values) for id_, values in means.items()}


def human_correlations() -> pl.DataFrame:
    """The correlations of Cuddy et al. (2007) as printed, those in doubt marked with what they should rather be.

    >>> human_correlations().filter("doubtful").select("first", "second", "printed", "otherwise").rows()
    [('competence', 'passive-facilitation', -0.77, 0.77)]
    """
    reference = _reference()["correlations"]
    printed = [
        (first, second, value)
        for first, values in reference["printed"].items()
        for second, value in zip(reference["columns"], values, strict=True)
    ]
    frame = pl.DataFrame(printed, schema=["first", "second", "printed"], orient="row")
    doubts = pl.DataFrame(reference["doubtful"])
    joined = frame.join(doubts, on=["first", "second"], how="left", maintain_order="left")
    return joined.with_columns(pl.col("why").is_not_null().alias("doubtful"))


def published_models() -> pl.DataFrame:
    """How the models of Jeoung et al. (2023) compare with people, from the clusters printed in their table 2.

    The groups that a model refused are left out. `order` is Spearman's rho between people's competence minus warmth of
    each cluster and the mean of the printed centroids of its groups.

    >>> published_models().select("model", "groups", pl.col("estimate").round(2)).rows()
    [('DAVINCI', 24, 0.23), ('GPT-3.5', 24, 0.2), ('BARD', 22, 0.54)]
    """
    from vantage.measures.relations.correlations import coefficient
    from vantage.measures.texts.cluster_stability import adjusted_rand

    human = {group.id: group.reference for group in reference_groups()}
    rows = []
    for model, clusters in _reference()["models"]["clusters"].items():
        place = {group: (n, one) for n, one in enumerate(clusters) for group in one["groups"]}
        apart = {group: one["competence"] - one["warmth"] for group, (_, one) in place.items()}
        means = {
            id_: np.mean([value for group, value in apart.items() if human[group] == id_]) for id_ in human_clusters()
        }
        people = np.array([human_clusters()[id_].difference for id_ in means])
        rows.append(
            {
                "model": model,
                "groups": len(place),
                "estimate": adjusted_rand([n for n, _ in place.values()], [human[group] for group in place]),
                "order": coefficient(people, np.array([*means.values()]), "spearman"),
            }
        )
    return pl.DataFrame(rows)


@cache
def seed_dictionary() -> Dictionary:
    """The small open dictionary that comes with the study.

    >>> seed_dictionary().find("hard-working").entries[0].dimension
    'Assertiveness'
    """
    document = Document.bundled(__package__, "seed_dictionary.yaml")
    return Dictionary.of(document.data, document.file)
