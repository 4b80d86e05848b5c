"""Writes the figures in the results of the studies' pages from the studies' ledgers: `python -m tools.results`.

In docs/STUDY.md a figure stands between two comments, of which the first names a row of the ledger:
`<!-- = TABLE; NAME -->.98 (.96 to .99)<!-- -->`. A third part names another number of the row than the estimate with
its interval (that of the report, for all comparisons of a question at once), and a fourth its form, such as `%` or
`.3f`; where several sentences speak of a row, `NAME [VERDICT]` names the one. The released data are needed, and some
minutes.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from vantage.report import Claim, Report
from vantage.studies import run

DOCS: Final = Path(__file__).resolve().parents[1] / "docs"
RUNS: Final[dict[str, dict[str, Any]]] = {
    "wcsent": {"data": "wcsent", "stance": "semeval2016-stance", "encoder": "none", "probe": "none"},
    "appraisals": {"data": "appraisals"},
    "context": {"data": "social-cognition", "tasks": "sarcasm", "items": 1400, "first_person": False},
    "perseval": {"data": "lewidi", "encoder": "none"},
}
"""What each study is run with; the study of groups asks models, so that nothing of it is released."""
FIGURE: Final = re.compile(r"<!-- = (?P<key>[^>]+?) -->(?P<shown>.*?)<!-- -->")


def published_data() -> Path | None:
    """The folder of the released data, if it is there."""
    folder = Path(os.environ.get("VANTAGE_DATA", DOCS.parent.parent / "shared" / "data"))
    return folder if folder.is_dir() else None


@cache
def report(study: str, data: Path) -> Report:
    """The report of a study of released data."""
    given = {name: data / value if name in ("data", "stance") else value for name, value in RUNS[study].items()}
    return run(study, **{**given, **({"stance": str(given["stance"])} if "stance" in given else {})})


def ledger(study: str, data: Path) -> Sequence[Claim]:
    """The claims of a study of released data."""
    return report(study, data).result.ledger


def filled(page: str, claims: Iterable[Claim]) -> str:
    """The page with every figure as the ledger has it.

    >>> row = Claim("against:above", 0.98, 0.961, 0.99, name="trust", table="alpha", low_alone=0.97, high_alone=0.985)
    >>> filled("alpha <!-- = alpha; trust --><!-- -->, <!-- = alpha; trust; estimate; % -->97 %<!-- -->", [row])
    'alpha <!-- = alpha; trust -->.98 (.96 to .99)<!-- -->, <!-- = alpha; trust; estimate; % -->98 %<!-- -->'
    """
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for claim in claims:
        numbers = {name: getattr(claim, name) for name in Claim.__dataclass_fields__ if name != "numbers"}
        for key in (claim.name, f"{claim.name} [{claim.verdict}]"):
            known = rows.setdefault((claim.table, key), {})
            for name, value in {**numbers, **claim.numbers}.items():
                if value is not None and known.get(name) is None:
                    known[name] = value
    return FIGURE.sub(lambda match: f"<!-- = {match['key']} -->{_shown(match['key'], rows)}<!-- -->", page)


def _shown(key: str, rows: Mapping[tuple[str, str], Mapping[str, Any]]) -> str:
    table, name, *rest = (part.strip() for part in key.split(";"))
    column, form = (*rest, "", "")[:2]
    if (table, name) not in rows:
        known = "; ".join(sorted(other for place, other in rows if place == table))
        raise KeyError(f"the ledger has no row '{name}' of the table '{table}', which has: {known}")
    row = rows[table, name]
    if column:
        return _number(row[column], form)
    return f"{_number(row['estimate'], form)} ({_number(row['low'], form)} to {_number(row['high'], form)})"


def _number(value: Any, form: str) -> str:
    """A number with two digits behind the point and none before it where that is 0; words as they are."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return str(value)
    if form == "%":
        return f"{100 * value:.0f} %"
    text = f"{value:{form or ('d' if isinstance(value, int) else '.2f')}}"
    return re.sub(r"^(-?)0\.", r"\1.", text).replace("-", "−")


def main() -> None:
    """Fills the pages."""
    data = published_data()
    if data is None:
        sys.exit("There are no released data; name their folder in VANTAGE_DATA.")
    for study in RUNS:
        page = DOCS / f"{study}.md"
        page.write_text(filled(page.read_text("utf-8"), ledger(study, data)), "utf-8")


if __name__ == "__main__":
    main()
