"""The command line as a user sees it: standard output, standard error and the exit code."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from vantage.cli import main


class Done:
    """What a verb printed and how it ended."""

    def __init__(self, out: str, err: str, code: int) -> None:
        self.out, self.err, self.code = out, err, code

    @property
    def json(self) -> Any:
        """Standard output, which must be JSON and nothing else."""
        return json.loads(self.out)


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: object) -> Done:
    """Runs a verb in this process."""
    monkeypatch.setattr(sys, "argv", ["vantage", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    return Done(printed.out, printed.err, int(ended.value.code or 0))
