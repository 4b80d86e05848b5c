"""`python -m tests.runs.batch.killed MODEL URL STORE PROTOCOL ITEMS`: a run through batches, for tests that end it."""

from __future__ import annotations

import sys

from tests.runs.batch.provider import OWN
from tests.runs.conftest import corpus
from vantage import ChatRater
from vantage.runs import RunOptions, RunPlan, RunStore, run
from vantage.runs.batch import engine, protocols


def main() -> None:
    name, url, path, protocol, items = sys.argv[1:6]
    engine.FIRST_POLL = engine.LONGEST_POLL = 0.02  # type: ignore[misc]
    if protocol == "together":
        protocols.HOSTS["127.0.0.1"] = "together"
    rater = ChatRater(name, settings={"base_url": url, "timeout": 60.0, **OWN.get(protocol, {})})
    plan = RunPlan.of(corpus(int(items)), rater, "warmth-competence", questions=["trust"])
    with RunStore(path) as store:
        run(plan, store, RunOptions(engine="batch"))


if __name__ == "__main__":
    main()
