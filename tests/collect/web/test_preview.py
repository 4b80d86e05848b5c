"""A preview shows the study as participants see it, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collect.web.studies import PASSWORD, QUIZ, TRAITS, Visitor, study_service
from vantage.collect.web.preview import discard_preview, preview_file


@pytest.mark.parametrize("prefix", ["", "/study"])
def test_a_preview_takes_no_seat_and_leaves_no_data(tmp_path: Path, prefix: str) -> None:
    service = study_service(
        tmp_path,
        items=[{"post": "a", "reply": "b"}],
        raters=1,
        traits=TRAITS,
        quiz=QUIZ,
        recruitment={"via": "prolific", "completion_code": "C1"},
    )
    service.researchers.set_password(PASSWORD)
    boss = Visitor(service, prefix=prefix)
    boss.get(f"{prefix}/admin/login")
    boss.send(f"{prefix}/admin/login", {"password": PASSWORD})
    boss.get(f"{prefix}/admin/invitations")
    link = boss.text.partition(f"http://study.example{prefix}/preview/")[2].partition('"')[0]
    before = service.database.sql.read(lambda c: c.exec_driver_sql("SELECT count(*) FROM events").scalar())
    stranger = Visitor(service, prefix=prefix)
    stranger.get(f"{prefix}/preview/")
    assert stranger.status == 403
    for _ in range(2):
        # Twice, though the study wants one rater: the link starts anew.
        ann, home = boss, f"{prefix}/preview"
        ann.get(f"{home}/{link}")
        assert "This is a preview" in ann.text
        assert ann.send(f"{home}/consent", {"agreed": "yes"}) == f"{home}/traits"
        ann.send(f"{home}/traits", {"t0": "30"})
        ann.send(f"{home}/guidelines")
        assert ann.send(f"{home}/quiz", {"t0": "1", "t1": "0"}) == f"{home}/item/1"
        ann.answer()
        assert ann.send(f"{home}/review") == f"{home}/end"
        assert ann.get(f"{home}/admin") == f"{home}/admin"
        assert ann.status == 404
    assert service.researchers.overview().participants == {}
    assert service.researchers.overview().arms[0].free == 1
    assert service.database.sql.read(lambda c: c.exec_driver_sql("SELECT count(*) FROM events").scalar()) == before
    assert preview_file(service).exists()
    discard_preview(service)
    assert not list(preview_file(service).parent.glob(f"{preview_file(service).name}*"))
