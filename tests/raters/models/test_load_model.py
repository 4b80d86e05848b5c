from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from vantage.raters.models import ModelError, checked, load_model
from vantage.raters.models.base import require


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("opnai:gpt", "no kind of model 'opnai'; did you mean 'openai'?"),
        ("embeded", "no kind of model 'embeded'; did you mean 'embedded'?"),
        ("model.gguf", "did you mean 'gguf:model.gguf'?"),
        ("zzz", "write one of anthropic:NAME, azure:DEPLOYMENT, bedrock:NAME, cohere:NAME"),
        ("", "no kind of model ''"),
        ("openai:", "is not complete; write openai:NAME."),
        ("gguf", "is not complete; write gguf:PATH."),
        ("embedded:x", "write embedded instead of embedded:x."),
    ],
)
def test_names_that_stand_for_no_model(spec: str, told: str) -> None:
    with pytest.raises(ModelError) as refused:
        load_model(spec)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("spec", "setting", "told"),
    [
        ("openai:gpt", "base_ulr", "An openai model has no setting 'base_ulr'; did you mean 'base_url'?"),
        ("gguf:x", "zzz", "available: window, threads, gpu_layers, parallel, exact."),
        ("recorded:x", "answer_in", "A recorded model has no setting 'answer_in'"),
    ],
)
def test_settings_that_a_model_does_not_have(spec: str, setting: str, told: str) -> None:
    with pytest.raises(ModelError) as refused:
        load_model(spec, **{setting: 1})
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("spec", "settings", "told"),
    [
        ("gguf:x", {"window": "wide"}, "'window' takes a whole number, not 'wide'"),
        ("gguf:x", {"threads": 0}, "'threads' is at least 1, not 0"),
        ("gguf:x", {"gpu_layers": -2}, "'gpu_layers' is at least -1, not -2"),
        ("gguf:x", {"exact": "perhaps"}, "'exact' takes true or false, not 'perhaps'"),
        ("gguf:x", {"threads": True}, "'threads' takes a whole number, not 'True'"),
        ("openai:x", {"concurrency": 0}, "'concurrency' is at least 1, not 0"),
        ("openai:x", {"concurrency": 1.5}, "'concurrency' takes a whole number, not '1.5'"),
        ("openai:x", {"timeout": 0}, "'timeout' is at least 1, not 0"),
    ],
)
def test_settings_of_another_type_or_range(spec: str, settings: dict[str, object], told: str) -> None:
    with pytest.raises(ModelError) as refused:
        load_model(spec, **settings)
    assert told in str(refused.value)


def test_settings_from_a_command_line_become_what_a_model_takes() -> None:
    def model(*, exact: bool = True, item: str = "item", timeout: float = 1.0, window: int | None = None) -> None: ...

    given = {"exact": "False", "item": 7, "timeout": 0.5, "window": None}
    assert checked("some", model, given) == {"exact": False, "item": "7", "timeout": 0.5, "window": None}


def test_nothing_heavy_is_imported_until_it_is_used() -> None:
    code = (
        "import sys, vantage.raters.models;"
        "print([m for m in ('openai', 'xllamacpp', 'torch', 'transformers', 'polars') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_package_whose_own_needs_are_missing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "needy_package.py").write_text("import not_here_at_all")
    (tmp_path / "broken_package.py").write_text("raise ImportError('libfoo.so: cannot open')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModelError, match="'needy_package' needs 'not_here_at_all'"):
        require("needy_package", "local")
    with pytest.raises(ModelError, match=r"cannot be loaded here \(libfoo\.so: cannot open\)"):
        require("broken_package", "local")
