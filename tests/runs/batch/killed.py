"""`python -m tests.runs.batch.killed URL STORE PROTOCOL ITEMS`: a run through batches, for a test that ends it."""

from __future__ import annotations

import sys

from tests.runs.conftest import corpus
from vantage import ChatRater
from vantage.runs import RunOptions, RunPlan, RunStore, run
from vantage.runs.batch import engine


def main() -> None:
    url, path, protocol, items = sys.argv[1:5]
    engine.FIRST_POLL = engine.LONGEST_POLL = 0.02  # type: ignore[misc]
    rater = ChatRater("openai:tester", settings={"base_url": url, "timeout": 60.0})
    plan = RunPlan.of(corpus(int(items)), rater, "warmth-competence", questions=["trust"])
    with RunStore(path) as store:
        run(plan, store, RunOptions(engine="batch", batch_protocol=protocol))


if __name__ == "__main__":
    main()
