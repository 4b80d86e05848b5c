"""What Vantage would read from a table: guessed roles, the scale, doubts, and the command that imports it.

The preview reads the table as the import does. Each doubt that the reader raises is noted and settled as it suggests,
until the table is read or something is in the way that only the user can change.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.corpora.readers.columns import BOOKKEEPING, ROLES, fits
from vantage.corpora.readers.files import open_rows
from vantage.corpora.readers.table import read
from vantage.corpora.readers.table_file import ROW, Doubt, FileRows
from vantage.errors import InputError

NAMES: Final[Mapping[str, str]] = {
    "item": "item|(item|text|tweet|comment|post|doc|document|sentence|utterance|message|conversation|dialog(ue)?|"
    "review|headline|article|passage|story|statement|prompt|example|instance|stimulus)_?id|id|unit(_?id)?|stimulus",
    "rater": "rater(_?id)?|annotator(_?id)?|coder(_?id)?|judge(_?id)?|worker(_?id)?|participant(_?id)?|user(_?id)?|who"
    "|prolific_?(pid|id)|respondent(_?id)?|response_?id|subject(_?id)?|annotator_name|evaluator",
    "value": "value|rating|score|label|answer|response|annotation|stars|judge?ment|code|choice|vote",
    "text": "text|sentence|tweet|comment|post|content|document|message|utterance|body|review",
    "question": "question(_?id)?|dimension|aspect|attribute|task|construct|measure",
    "condition": "condition|treatment",
    "rationale": "rationale|reason|explanation|justification",
    "target": "target|about|entity",
    "kind": "kind",
    "sample": "(?-i:sample)",
    "status": "(?-i:status)",
}
"""How columns of each role are usually called; Status is what Qualtrics tells of a whole response."""
TRAITS: Final = re.compile(
    r"age|gender|sex|education|country|nationality|ethnicity|race|language|first_language|religion|income|occupation|"
    r"political.*|ideology|party|native_?speaker|region|group|excluded|how_old_are_you\??|(what_is_)?your_(age|gender|sex)\??",
    re.IGNORECASE,
)
GRID: Final = re.compile(r"\[.+\]$")
"""The end of a column of a grid of Google Forms: "How warm is it? [First text]"."""
SETTLED: Final = 12
"""After so many doubts the preview gives up."""
FLAGS: Final[Mapping[str, Mapping[Any, str]]] = {"strip": {True: "--strip", False: "--keep-spaces"}}


def preview(source: str | Path | Any, **given: Any) -> dict[str, Any]:
    """What would be read from a file or a frame, as plain data; options of the reader `table` may be given.

    >>> import polars as pl
    >>> table = pl.DataFrame({"id": ["a", "a"], "worker": ["x", "y"], "stars": ["4", "-99"], "age": [31, 52]})
    >>> result = preview(table)
    >>> result["columns"][2]["role"], result["command"].split(" --to")[0]
    ('value', 'vantage corpora import table --from FILE --map item=id,rater=worker,value=stars --traits age')
    """
    path = Path(source) if isinstance(source, str | Path) else None
    options = {name: value for name, value in given.items() if value not in (None, (), [], False)}
    doubts: list[dict[str, Any]] = []
    rows: FileRows | None = None
    profiles: dict[str, ColumnProfile] = {}
    corpus: Corpus | None = None
    problem = None
    while corpus is None and problem is None:
        try:
            if rows is None:
                rows = open_rows(
                    source, **{k: options[k] for k in ("encoding", "separator", "quotes", "sheet") if k in options}
                )
                profiles = profiled(rows)
                options = {**guessed(rows, profiles, options), **options}
            corpus = read(rows, **options)
        except Doubt as doubt:
            doubts.append({"doubt": str(doubt), "row": doubt.row, "column": doubt.column, "settle": doubt.settle})
            for name, settled in doubt.settle.items():
                if isinstance(settled, list):
                    options[name] = [*options.get(name, []), *settled]
                else:
                    options[name] = {**options.get(name, {}), **settled} if isinstance(settled, Mapping) else settled
            problem = str(doubt) if len(doubts) >= SETTLED else None
        except InputError as error:
            problem = str(error)
    sizes = corpus.sizes if corpus is not None else {}
    return {
        "file": str(path or "frame"),
        "rows": next((profile.rows for profile in profiles.values()), None),
        "columns": _columns(profiles, options),
        "questions": [
            {
                "question": q.id,
                "scale": q.scale.describe(),
                "answers": [o.name for o in q.scale.options] if len(q.scale.options) <= 11 else [],
            }
            for q in (corpus.questions if corpus is not None else ())
        ],
        **{table: sizes.get(table) for table in ("items", "raters", "judgments")},
        "doubts": doubts,
        "notes": list(corpus.about.notes) if corpus is not None else list(rows.notes) if rows is not None else [],
        "problem": problem,
        "command": command(path, options) if rows is not None else None,
    }


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """What a column holds."""

    rows: int
    different: int | None
    empty: int
    examples: list[str]
    answers: bool
    """Whether it may hold answers: mostly numbers, or few different words, each given about twice."""


def profiled(rows: FileRows) -> dict[str, ColumnProfile]:
    """What each column holds, in one pass."""
    flat = [name for name, dtype in rows.schema.items() if not dtype.is_nested()]
    written = [name for name in flat if rows.schema[name] == pl.String]
    queries = (
        rows.lazy.select(pl.col(flat).drop_nulls().hash().n_unique()),
        rows.lazy.select(pl.len().alias(ROW), pl.exclude(ROW).null_count()),
        rows.lazy.select(pl.col(written).cast(pl.Float64, strict=False).null_count()),
    )
    different, empty, words = (next(frame.iter_rows(named=True), {}) for frame in rows.collect(*queries))
    (head,) = rows.collect(rows.lazy.head(1000))
    profiles = {}
    for name, dtype in rows.schema.items():
        known = different.get(name)
        filled = empty[ROW] - empty[name]
        # A few words among numbers are doubts about answers, not a reason to pass over the column.
        number = dtype.is_numeric() or dtype == pl.Boolean or 2 * (words.get(name, empty[ROW]) - empty[name]) < filled
        profiles[name] = ColumnProfile(
            empty[ROW],
            known,
            empty[name],
            [str(value)[:40] for value in head[name].drop_nulls().unique(maintain_order=True).head(3).to_list()],
            bool(known) and (number or (name in written and (known or 0) <= min(11, filled // 2))),
        )
    return profiles


def guessed(rows: FileRows, profiles: Mapping[str, ColumnProfile], given: Mapping[str, Any]) -> dict[str, Any]:
    """The roles of columns by their names, and whether the table is a wide one."""
    columns = list(profiles)
    mapping: dict[str, str] = dict(given.get("map", {}))
    taken = {*mapping.values(), *given.get("traits", ())}
    mapping |= _named(profiles, given, mapping, taken)
    taken |= set(mapping.values())
    traits = [c for c in columns if c not in taken and TRAITS.fullmatch(_plain(c))]
    if (
        "text" in mapping
        and "item" not in mapping
        and (key := _key(rows, profiles, mapping["text"], taken | {*traits}))
    ):
        mapping["item"] = key
        taken.add(key)
    rest = [c for c in columns if c not in taken and c not in traits and c not in BOOKKEEPING]
    guesses: dict[str, Any] = {"map": mapping}
    if "value" not in mapping and not given.get("wide") and (spread := _spread(rows, profiles, mapping, rest)):
        guesses["wide"] = spread
        guesses["map"] = {r: c for r, c in mapping.items() if r not in (spread, "value")}
        answers = [c for c in rest if profiles[c].answers]
        grid = [c for c in rest if GRID.search(c)] if spread == "item" else []
        descriptions = {c: c for c in rest if c not in answers and c not in ROLES and "," not in c}
        if spread == "rater" and not given.get("values") and len(answers) + len(descriptions) == len(rest):
            guesses["map"] |= descriptions
        elif len(grid or answers) < len(rest) and not given.get("values"):
            # A comma would part the names in the command; as a pattern, a question mark fits it.
            guesses["values"] = ["*]"] if grid else [c.replace(",", "?") for c in answers]
    elif "value" not in mapping and not given.get("wide"):
        numeric = [c for c in rest if profiles[c].answers]
        if len(numeric) == 1:
            mapping["value"] = numeric[0]
    others = [column for column in rest if column != mapping.get("value")]
    if "rater" not in mapping and {"item", "value"} <= set(mapping) and len(others) == 1 and not guesses.get("wide"):
        mapping["rater"] = others[0]
    if traits and guesses.get("wide") != "rater":
        guesses["traits"] = traits
    return {name: value for name, value in guesses.items() if value}


def _named(
    profiles: Mapping[str, ColumnProfile], given: Mapping[str, Any], known: Mapping[str, str], taken: set[str]
) -> dict[str, str]:
    """The roles that columns have by their names, apart from those that are known."""
    mapping: dict[str, str] = {}
    for role, pattern in NAMES.items():
        used = {*taken, *mapping.values()}
        fitting = [c for c in profiles if c not in used and re.fullmatch(pattern, _plain(c), re.IGNORECASE)]
        if role not in known and fitting:
            mapping[role] = next((c for c in fitting if c.casefold() == role), fitting[0])
    both = {**known, **mapping}
    if {"item", "text", "rater", "value"} <= set(both) and "item" not in {*given.get("map", {}), *profiles}:
        item, text = (profiles[both[role]] for role in ("item", "text"))
        if item.different == item.rows and (text.different or 0) < text.rows:
            del mapping["item"]  # it numbers rows; equal texts are one item
    return mapping


def _key(rows: FileRows, profiles: Mapping[str, ColumnProfile], text: str, taken: set[str]) -> str | None:
    """The column that numbers the texts: each of its values goes with one text, and hardly a text has several."""
    texts = profiles[text].different or 0
    for column, profile in profiles.items():
        dtype = rows.schema[column]
        if column in taken or not (dtype.is_integer() or dtype == pl.String):
            continue
        if texts <= (profile.different or 0) < min(profile.rows, 1.2 * texts + 1) and not profile.empty:
            several = rows.lazy.group_by(column).agg(pl.col(text).n_unique()).select((pl.col(text) > 1).any())
            if not rows.collect(several)[0].item():
                return column
    return None


def _plain(column: str) -> str:
    """The name of a column as it is compared: "Rater ID" and "rater-id" are rater_ID and rater_id."""
    return re.sub(r"[\s.-]+", "_", column.strip())


def _spread(
    rows: FileRows, profiles: Mapping[str, ColumnProfile], mapping: Mapping[str, str], rest: list[str]
) -> str | None:
    """What the columns of a wide table are; null for a long one."""
    answers = [column for column in rest if profiles[column].answers]
    if rows.titles or "Timestamp" in profiles or all(GRID.search(c) for c in rest or [""]):
        return "item"
    if len(answers) < 2:
        return None
    if "rater" in mapping and ("item" in mapping or "text" in mapping):
        return "question"
    if "rater" in mapping:
        return "item"
    return "rater" if "item" in mapping or "text" in mapping else None


def _columns(profiles: Mapping[str, ColumnProfile], options: Mapping[str, Any]) -> list[dict[str, Any]]:
    roles = {column: role for role, column in options.get("map", {}).items()}
    roles |= dict.fromkeys(options.get("traits", ()), "trait")
    wide = options.get("wide")
    return [
        {
            "column": name,
            "role": roles.get(name) or ("value" if wide and _holds_values(name, options) else None),
            "different": profile.different,
            "empty": profile.empty,
            "examples": profile.examples,
        }
        for name, profile in profiles.items()
    ]


def _holds_values(column: str, options: Mapping[str, Any]) -> bool:
    values = options.get("values")
    return any(fits(column, name) for name in values) if values else column not in BOOKKEEPING


def command(path: Path | None, options: Mapping[str, Any]) -> str:
    """The command that imports a table with these options."""
    words = ["vantage", "corpora", "import", "table", "--from", str(path) if path is not None else "FILE"]
    for name, value in options.items():
        if name == "map":
            mapped = [f"{role}={column}" for role, column in value.items()]
            plain = all("," not in pair for pair in mapped)
            words += ["--map", ",".join(mapped)] if plain else [w for pair in mapped for w in ("--map", pair)]
        elif isinstance(value, Mapping):
            words += [f"--{name}", ",".join(f"{key}={one}" for key, one in value.items())]
        elif name in FLAGS:
            words.append(FLAGS[name][value])
        elif name == "wide":
            words += ["--wide"] if value is True or value == "rater" else ["--columns", value]
        elif isinstance(value, list | tuple):
            words += (
                [f"--{name}={','.join(map(str, value))}"]
                if str(value[0])[:1] == "-"
                else [f"--{name}", ",".join(value)]
            )
        else:
            words += [f"--{name}", str(value)]
    stem = path.name.split(".")[0] if path is not None else "corpus"
    return shlex.join([*words, "--to", stem or "corpus"])
