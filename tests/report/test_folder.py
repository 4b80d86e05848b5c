from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.report.reports import HOSTILE, report
from vantage.errors import InputError
from vantage.report import Figure, Report, Result, Section
from vantage.report.folder import MANIFEST, PAGE
from vantage.report.parts import dialogue
from vantage.report.record import Record


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_report_leaves_tables_figures_and_the_data_behind_them(tmp_path: Path) -> None:
    page = report().write(tmp_path / "out")
    assert page == tmp_path / "out" / PAGE
    tables = {f"tables/alpha.{suffix}" for suffix in ("parquet", "csv", "tex")}
    figures = {f"figures/alpha.{suffix}" for suffix in ("parquet", "csv", "svg")}
    assert set(files(tmp_path / "out")) == tables | figures | {PAGE, MANIFEST, "ledger.csv", "ledger.json"}
    assert pl.read_csv(tmp_path / "out" / "tables" / "alpha.csv")["question"].to_list() == ["plain", "skill"]


def test_pdfs_are_written_and_linked_where_they_are_asked_for(tmp_path: Path) -> None:
    page = report().write(tmp_path, pdf=True).read_text("utf-8")
    assert (tmp_path / "figures" / "alpha.pdf").read_bytes().startswith(b"%PDF")
    assert 'href="figures/alpha.pdf"' in page
    Report.read(tmp_path).write(tmp_path)
    assert not (tmp_path / "figures" / "alpha.pdf").exists(), "it might show other numbers"
    assert ".pdf" not in (tmp_path / PAGE).read_text("utf-8")


def test_phones_see_a_figure_of_their_own_unless_labels_leave_no_room(tmp_path: Path) -> None:
    frame = pl.DataFrame({"question": ["trust", "skill"], "estimate": [0.6, -0.2]})
    figure = Figure("short", "Short.", "", "points", frame, {"category": "question"})
    crowded = pl.DataFrame({"row": ["w" * 44] * 2, "column": ["a", "b"], "value": [0.1, 0.2]})
    heat = Figure("long", "Long.", "", "heat", crowded, {"row": "row", "column": "column", "value": "value"})
    path = Report(Record("try", "Try"), Result([Section("Figures", [], [figure, heat])])).write(tmp_path / "out")
    page = path.read_text("utf-8")
    assert "figure-short-narrow" in page
    assert "figure-long-narrow" not in page
    assert "narrow" not in (tmp_path / "out" / "figures" / "short.svg").read_text("utf-8")


def test_what_is_stored_draws_the_same_report(tmp_path: Path) -> None:
    report(HOSTILE).write(tmp_path / "out")
    before = files(tmp_path / "out")
    Report.read(tmp_path / "out").write(tmp_path / "out")
    assert files(tmp_path / "out") == before


def test_a_dialogue_is_stored_as_a_table(tmp_path: Path) -> None:
    talk = dialogue("talk", "Two talk.", [("Ann", HOSTILE), ("Ben", "Oh.")], "Really?")
    one = Report(Record("x", "y", state="complete"), Result([Section("s", [], [talk])]))
    one.write(tmp_path / "out")
    assert pl.read_parquet(tmp_path / "out" / "tables" / "talk.parquet")["speaker"].to_list() == ["Ann", "Ben", ""]
    assert r"Ben & Oh. & no" in (tmp_path / "out" / "tables" / "talk.tex").read_text()
    [table] = Report.read(tmp_path / "out").result.tables
    assert table.frame.equals(talk.frame)
    assert "Really?" in Report.read(tmp_path / "out")._repr_html_()


def test_formulas_are_defused_in_csv(tmp_path: Path) -> None:
    report("=cmd|'/c calc'!A1").write(tmp_path / "out")
    assert "\n'=cmd" in (tmp_path / "out" / "tables" / "alpha.csv").read_text()
    assert "\n'=cmd" in (tmp_path / "out" / "figures" / "alpha.csv").read_text()


def test_a_folder_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    report().write(tmp_path)
    data = json.loads((tmp_path / MANIFEST).read_text())
    (tmp_path / MANIFEST).write_text(json.dumps({**data, "format": 99, "written_by": "vantage 9.9"}))
    before = files(tmp_path)
    for act in (lambda: Report.read(tmp_path), lambda: report().write(tmp_path)):
        with pytest.raises(InputError, match=r"has format 99 \(written by vantage 9.9\).*update Vantage"):
            act()
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"format": "1"}', '{"format": 1}', '{"format": 1, "record": 3}']
)
def test_a_damaged_manifest_is_a_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(InputError, match=r"study\.json"):
        Report.read(tmp_path)


def test_missing_and_damaged_tables_are_named(tmp_path: Path) -> None:
    report().write(tmp_path)
    path = tmp_path / "tables" / "alpha.parquet"
    path.write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"alpha\.parquet: this cannot be read"):
        Report.read(tmp_path)
    path.unlink()
    with pytest.raises(InputError, match=r"alpha\.parquet: the file is missing"):
        Report.read(tmp_path)


def test_other_peoples_files_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match="files but no study"):
        report().write(tmp_path)
    with pytest.raises(InputError, match="a file, not a folder"):
        report().write(tmp_path / "thesis.tex")
    out = tmp_path / "out"
    report().write(out)
    (out / "tables" / "mine.docx").write_text("mine")
    with pytest.raises(InputError, match=r"other files in it, such as mine\.docx"):
        report().write(out)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such folder; make one with: vantage study"):
        Report.read(tmp_path / "nowhere")


def test_the_manifest_states_what_the_page_shows(tmp_path: Path) -> None:
    report().write(tmp_path)
    data = json.loads((tmp_path / MANIFEST).read_text())
    assert data["record"]["counts"] == {"plain": {"answered": 4, "refused": 2}}
    assert data["result"]["findings"][1]["text"] == "3 things"
    assert data["result"]["sections"][0]["parts"][0]["rows"] == 2


def test_a_struct_without_fields_can_be_stored(tmp_path: Path) -> None:
    from vantage import demo_corpus
    from vantage.measures import alpha
    from vantage.report import Section, Table

    table = Table("alpha", "c", alpha(demo_corpus(), by="question", ci="none"))
    Report(Record("x", "y", state="complete"), Result([Section("s", [], [table])])).write(tmp_path)
    assert Report.read(tmp_path).result.tables[0].frame["question"].len() == 3
