"""A log for Inspect's viewer, in Inspect's own environment: `python inspect_log.py SAMPLES FILE.eval`."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

from inspect_ai.log import (  # type: ignore[import-not-found]
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalSample,
    EvalSpec,
    write_eval_log,
)
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput  # type: ignore[import-not-found]
from inspect_ai.scorer import Score  # type: ignore[import-not-found]

count, path = int(sys.argv[1]), sys.argv[2]
samples = []
for number in range(count):
    text = f"the quick brown fox number {number} jumps over a lazy dog while many people look on"
    messages = [ChatMessageUser(content=text), ChatMessageAssistant(content="5")]
    output, scores = ModelOutput.from_content("mock", "5"), {"match": Score(value="C", answer="5")}
    samples.append(
        EvalSample(id=number, epoch=1, input=text, target="5", messages=messages, output=output, scores=scores)
    )
spec = EvalSpec(
    created=datetime.now(UTC).isoformat(),
    task="bench",
    dataset=EvalDataset(name="bench", samples=count),
    model="mock/mock",
    config=EvalConfig(),
)
write_eval_log(EvalLog(status="success", eval=spec, samples=samples), path)
