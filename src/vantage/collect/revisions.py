"""Revisions of a study that has started: what an edit changes, and which values no answer depends on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vantage.collect.study import AnnotationStudy
from vantage.errors import InputError

FIXED: Final = ("questions", "conditions", "double", "order", "gold", "presentation", "rules", "evidence", "flow")
"""Keys of a study file that answers depend on."""
OPEN: Final = frozenset(
    {"text", "title", "intro", "ask", "explain", "end", "minutes", "page_minutes", "raters", "batch"}
)
"""Keys within these that may change all the same."""
NAMED: Final = frozenset({"where", "accept"})
"""Keys below which names are those of columns and questions."""
WORDS: Final = frozenset(
    {"version", "title", "description", "sources", "guidelines", "examples", "warning", "consent", "aggregates"}
)
"""Keys of an instrument that may change; of a question only its title and its guidelines may."""
UNSEEN: Final = frozenset({"wordings", "reversed"})
"""Keys of an instrument that only a presentation shows."""


@dataclass(frozen=True, slots=True)
class StudyChange:
    """A value of a study file, or of one of its instruments, that an edit changes; null where there is none."""

    path: tuple[str, ...]
    before: Any
    after: Any

    @property
    def name(self) -> str:
        """Where it is, in one word."""
        return ".".join(part for part in self.path if part)

    def __str__(self) -> str:
        return f"{self.name}:\n  - {shown(self.before)}\n  + {shown(self.after)}"


def shown(value: Any) -> str:
    """A value as text."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def plan_of(study: AnnotationStudy) -> dict[str, Any]:
    """The study file as plain data, without the locations of corpus and database."""
    plan: dict[str, Any] = study.plan.model_dump(mode="json", by_alias=True, exclude={"corpus", "database"})
    return plan


def changes(before: AnnotationStudy, after: AnnotationStudy) -> list[StudyChange]:
    """What an edit changes."""
    old, new = _values(before), _values(after)
    return [
        StudyChange(path, old.get(path), new.get(path))
        for path in dict.fromkeys([*old, *new])
        if old.get(path) != new.get(path)
    ]


def _values(study: AnnotationStudy) -> dict[tuple[str, ...], Any]:
    instruments = {name: dict(one.document) for name, one in study.instruments.items()}
    # The names of instruments do not matter where their contents are the same.
    plan = {key: value for key, value in plan_of(study).items() if key not in ("instrument", "parameters")}
    return dict(_leaves(json.loads(json.dumps({**plan, "instrument": instruments}))))


def _leaves(part: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(part, Mapping | list):
        for key, value in part.items() if isinstance(part, Mapping) else enumerate(part):
            yield from _leaves(value, *path, str(key))
    elif part not in (None, ""):
        yield path, part


def check_changes(
    before: AnnotationStudy, after: AnnotationStudy, edits: Sequence[StudyChange], *, agreed: bool
) -> None:
    """Refuses edits that answers depend on; `agreed` says whether anybody has taken part."""
    presented = any(block.presentation for block in after.blocks)
    for edit in edits:
        if not _open(edit.path, presented=presented):
            problem = f"'{edit.name}' can no longer be changed, because answers may depend on it"
            raise InputError(problem, remedy="change it back, or give the study a new id")
    if agreed and (before.plan.withdrawal, after.plan.withdrawal) == ("delete", "keep"):
        raise InputError(
            "'withdrawal' can no longer be 'keep', because people have agreed to a study that deletes their answers",
            remedy="write withdrawal: delete",
        )
    _check_raters(plan_of(before), plan_of(after))


def _open(path: Sequence[str], *, presented: bool) -> bool:
    if path[0] == "instrument":
        _, _, part, *rest = path
        return (
            part in WORDS
            or (part == "questions" and len(rest) == 2 and rest[1] in ("title", "guidelines"))
            or (not presented and not UNSEEN.isdisjoint(path))
        )
    return path[0] not in FIXED or (not OPEN.isdisjoint(path) and NAMED.isdisjoint(path))


def _check_raters(known: Mapping[str, Any], plan: Mapping[str, Any]) -> None:
    """Refuses a number of raters that earlier assignments contradict; it may rise, an adaptive core may not."""
    now, before = plan["raters"], known["raters"]
    if isinstance(now, int) and isinstance(before, int):
        if now < before or (plan["double"] and now != before):
            remedy = f"write {before}" if plan["double"] else f"write at least {before}"
            raise InputError("'raters' can no longer be changed to this number", remedy=remedy)
    elif isinstance(now, int) or isinstance(before, int):
        raise InputError("A study that has started cannot begin or stop being adaptive", remedy="give it a new id")
    elif now["max"] < before["max"] or {**now, "max": 0} != {**before, "max": 0}:
        remedy = f"write {before['min']}, {before['max']} or more, '{before['until']}' and the same 'balance'"
        raise InputError("Only 'max' of an adaptive 'raters' may change, and only upwards", remedy=remedy)
