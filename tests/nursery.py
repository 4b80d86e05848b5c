"""Processes that are made to be killed, cheaply: one process imports, and forks a fresh one whenever it is asked to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from textwrap import indent

LOOP = """
import os, sys
{imports}

for _ in sys.stdin:
    child = os.fork()
    if not child:
        os.close(0)
{body}
        os._exit(0)
    print("started", child, flush=True)
    print("ended", os.waitpid(child, 0)[1], flush=True)
"""


class Nursery:
    """Children that run `body` after `imports`, one at a time; what they say on standard output is read by `line`."""

    def __init__(self, imports: str, body: str, *args: object) -> None:
        code = LOOP.format(imports=imports, body=indent(body.strip(), " " * 8))
        words = [sys.executable, "-c", code, *map(str, args)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.orders, self.answers = self.process.stdin, self.process.stdout
        self.early: list[str] = []

    def start(self) -> int:
        """The process number of a new child."""
        self.orders.write("another\n")
        self.orders.flush()
        while not (said := self.answers.readline()).startswith("started "):
            assert said, "the process that starts the others has ended"
            self.early.append(said)  # by a child that was quicker than its parent
        return int(said.split()[1])

    def line(self) -> str:
        """What was said next."""
        return (self.early.pop(0) if self.early else self.answers.readline()).strip()

    def kill(self, child: int) -> None:
        """Ends a child in the middle of whatever it does."""
        os.kill(child, signal.SIGKILL)
        while not (said := self.line()).startswith("ended"):
            assert said, "the process that starts the others has ended"

    def close(self) -> None:
        """No more children."""
        self.orders.close()
        self.process.wait()
        self.answers.close()
