from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Vantage


def test_the_bundled_instruments_are_listed(vantage: Vantage) -> None:
    rows = vantage("instruments", "--json").json
    names = [row["instrument"] for row in rows]
    assert "warmth-competence" in names
    assert "appraisals" in names
    assert "warmth-competence" in vantage("instruments").out


def test_an_instrument_is_shown_as_a_rater_reads_it(vantage: Vantage) -> None:
    shown = vantage("instruments", "show", "warmth-competence").out
    for part in (
        "GUIDELINES",
        "How trustworthy does the sentence make {target} look?",
        "very untrustworthy",
        "WORKED EXAMPLES",
    ):
        assert part in shown
    assert "SCORES" in vantage("instruments", "show", "stereotype-content:short").out
    rows = vantage("instruments", "show", "sarcasm", "--json").json
    assert rows[0]["opt_outs"].keys() == {"ambiguous"}


def test_an_unknown_instrument_ends_with_one_sentence(vantage: Vantage) -> None:
    done = vantage("instruments", "show", "warmth")
    assert done.code == 2
    assert done.err.startswith("vantage: there is no instrument 'warmth'")
    assert done.err.count("\n") == 1


def test_checking_reports_every_problem(vantage: Vantage, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "id: mine\nversion: 1\ntitle: M\ndescription: d\nguidelines: g\nfields: [{name: text, title: T}]\n"
        "scales: {s: {level: ordinal, from: 1, to: 5}}\n"
        "questions:\n- {id: a, title: A, ask: A, scale: s}\n- {id: a, title: B, ask: B, scale: t}\n",
        encoding="utf-8",
    )
    done = vantage("instruments", "check", path)
    assert done.code == 2
    assert "2 problems" in done.err
    assert "line 10, questions[2]: the question 'a' is already defined at line 9" in done.err
    assert len(vantage("instruments", "check", path, "--json").json) == 2
    path.write_text(path.read_text().replace("id: a, title: B", "id: b, title: B").replace("scale: t", "scale: s"))
    done = vantage("instruments", "check", path)
    assert (done.code, "2 questions, no problems" in done.out) == (0, True)


def test_the_json_schema_is_printed(vantage: Vantage) -> None:
    assert json.loads(vantage("instruments", "schema").out)["title"] == "Vantage instrument"
