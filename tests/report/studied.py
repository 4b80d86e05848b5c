"""The reports of all studies, made from small invented data: what the layout is tried on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.studies.appraisals.release import write as write_appraisals
from tests.studies.context.pipeline.planted import Planted, planted_corpus
from tests.studies.context.pipeline.script_writer import ScriptWriter
from tests.studies.perseval.made import write as write_perseval
from tests.studies.stereomap.planted import recorded
from tests.studies.test_demo import answering
from tests.studies.wcsent.release import write as write_wcsent
from vantage.studies import Context, run
from vantage.studies.stereomap.groups import reference_groups


def appraisals(folder: Path, _: pytest.MonkeyPatch) -> dict[str, Any]:
    few = {"resamples": 5, "draws": 1, "topics": 2, "fits": 1, "folds": 2}
    return {"data": write_appraisals(folder / "release"), **few}


def context(folder: Path, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    known: dict[str, Any] = {"planted": Planted(), "writer": ScriptWriter()}
    patch.setattr("vantage.raters.chat.load_model", lambda spec, **_: known[spec])
    patch.setattr("vantage.raters.chat.check_model", lambda *_: {})
    planted_corpus(["clear", "clear", "ambiguous", "ambiguous"] * 2).write(folder / "data" / "sarcasm")
    few = {"tasks": "sarcasm", "items": 8, "persona_count": 5, "answers": "scoring", "runs": 1, "resamples": 20}
    few |= {"methods": "constant,length,direct,selective", "styles": "zero-shot", "controls": "label,blind"}
    return {"data": folder / "data", "models": ["planted"], "writer": "writer", "first_person": False, **few}


def demo(_: Path, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    patch.setattr(Context, "rate", answering(1.0))
    return {"asked": 40}


def perseval(folder: Path, _: pytest.MonkeyPatch) -> dict[str, Any]:
    return {"data": write_perseval(folder), "encoder": "none", "resamples": 20}


def stereomap(folder: Path, _: pytest.MonkeyPatch) -> dict[str, Any]:
    models: list[str] = []
    groups = reference_groups()[::2]
    for name in ("one", "two"):
        path = folder / f"{name}.parquet"
        recorded(path, groups=groups, runs=2, seed=len(models), refused={groups[0].id: 2}, unread={groups[1].id: 1})
        recorded(path, groups=groups, condition="no-reasoning", runs=2, seed=5 + len(models))
        models.append(f"recorded:{path}")
    few = {"runs": 2, "variants": "no-reasoning", "variant_runs": 2, "resamples": 10, "listed": 3, "k": 4}
    return {"models": models, "groups": ", ".join(group.group for group in groups), **few}


def wcsent(folder: Path, _: pytest.MonkeyPatch) -> dict[str, Any]:
    return {"data": write_wcsent(folder / "release"), "encoder": "none", "probe": "none"}


STUDIES: Final[dict[str, Callable[[Path, pytest.MonkeyPatch], dict[str, Any]]]] = {
    make.__name__: make for make in (appraisals, context, demo, perseval, stereomap, wcsent)
}


def studied(name: str, folder: Path) -> Path:
    """Runs a study on its small data; gives the path of its page."""
    with pytest.MonkeyPatch.context() as patch:
        options = STUDIES[name](folder, patch)
        run(name, out=folder / "report", **options)
    return folder / "report" / "report.html"
