"""The report on contexts counts what was kept, dropped and rejected, and shows some of them."""

from __future__ import annotations

import pytest

from tests.context.conftest import statements
from tests.context.script_writer import CONVERSATION, ScriptWriter
from vantage import Corpus, Instrument
from vantage.context.controls import attached, attached_steps
from vantage.context.generation import generate
from vantage.report.parts import Result
from vantage.studies.context.contexts_part import contexts_sections


def once(step: str, said: str, number: int) -> str | None:
    """No conversation at the first try for one statement; otherwise a conversation that is another at each try."""
    if step != "conversation":
        return None
    return "<b>nothing</b>" if "love" in said and number == 0 else f"{CONVERSATION}\nPerson A: Mile {number}."


@pytest.fixture(scope="module")
def whole() -> Corpus:
    sarcasm = Instrument.load("sarcasm")
    grades = ScriptWriter("verifier", lambda step, _, number: "2" if step == "redundancy" and number == 0 else None)
    made = [generate(statements(), sarcasm, ScriptWriter(replies=once), grades, control=c) for c in ("label", "blind")]
    return attached(statements(), sarcasm, *made)[0]


def test_everything_is_counted(whole: Corpus) -> None:
    sections, findings = contexts_sections(whole, attached_steps(whole))
    tables = {table.name: table.frame for table in Result(sections).tables}
    overview = tables["contexts"].filter(control="label").row(0, named=True)
    assert (overview["statements"], overview["kept"], overview["share"]) == (4, 3, 0.75)
    assert overview["first_try"] == 0
    assert overview["differs"] == pytest.approx(1 / 3)
    assert tables["contexts"].filter(control="blind")["differs"].to_list() == [None]
    assert findings[0].text.startswith("3 of 4 statements got a context that passed all checks, for ")
    rejected = {(row[0], row[1], row[2]): row[3] for row in tables["contexts-rejected"].rows()}
    assert rejected["label", "conversation", "the conversation is empty"] == 1
    assert rejected["label", "verification", "redundancy is 2, below 4"] == 3
    graded = tables["contexts-verified"].filter(control="label", question="redundancy")
    assert dict(graded.select("status", "mean").iter_rows()) == {"passed": 5.0, "rejected": 2.0}
    assert "label-alignment" not in tables["contexts-verified"].filter(control="blind")["question"]
    shown = tables["contexts-examples"].filter(control="label").row(0, named=True)
    assert "Person B: I just love waiting. | Person B: And the bus?" in shown["conversation"]
    assert "Written by writer, checked by verifier." in sections[0].text


def test_no_contexts_no_section(whole: Corpus) -> None:
    assert contexts_sections(statements(), {}) == ([], [])


def test_a_corpus_in_which_nothing_was_kept_is_told_plainly() -> None:
    sarcasm = Instrument.load("sarcasm")
    made = generate(statements(), sarcasm, ScriptWriter(replies=lambda *_: ""), ScriptWriter("v"), attempts=1)
    corpus, _ = attached(statements(), sarcasm, made)
    sections, findings = contexts_sections(corpus, attached_steps(corpus))
    overview = next(table for table in Result(sections).tables if table.name == "contexts").frame
    assert overview.select("kept", "first_try", "differs").row(0) == (0, None, None)
    assert findings[0].text.startswith("0 of 4 statements")
