"""Tasks of other evaluation tools: folders that run there as they stand, with the prompts of a Vantage run in a style.

    inspect eval FOLDER/task.py --model PROVIDER/NAME

An Inspect task has `task.py`, `dataset.jsonl` and `instrument.json`. Its log carries the instrument and the items, so
that `vantage corpora import inspect` makes judgments of it without being told anything else.

    lm_eval run --tasks NAME --include_path FOLDER --model hf --model_args pretrained=MODEL --apply_chat_template

Tasks of the lm-evaluation-harness are a YAML file per question, the documents and the scores. The style `scoring`
becomes `multiple_choice` (the probability of every answer is compared), every other one `generate_until`. The text of
items stands in the documents and is never read as a template.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, Final, Unpack

import yaml

from vantage._version import __version__
from vantage.corpora import Corpus
from vantage.corpora.writers.cells import json_text
from vantage.corpora.writers.place import put_files
from vantage.documents import dump
from vantage.errors import InputError
from vantage.instruments import Question
from vantage.interop.asked import Asked, AskedWith, Sheet, plain_name
from vantage.raters.answers import choices

REFUSED: Final = ("two-step", "together", "voice")
"""Parts of styles that neither tool has a place for."""
METRICS: Final = ("answered", "majority", "share")


def inspect_task(corpus: Corpus, path: Path, *, overwrite: bool = False, **chosen: Unpack[AskedWith]) -> Path:
    """Writes the folder of an Inspect task."""
    sheet = Sheet.of(corpus, **chosen, refused=("scoring", *REFUSED), tool="an Inspect task")
    samples = "".join(f"{json_text(_sample(sheet, asked))}\n" for asked in sheet.asked())
    if not samples:
        raise InputError("the corpus has no items to ask about", remedy="export a corpus with items")

    files = {
        "task.py": _code(sheet),
        "dataset.jsonl": samples,
        "instrument.json": f"{json_text(_metadata(sheet), indent=1)}\n",
    }
    return put_files(path, files, ours=(*files, "__pycache__/*"), overwrite=overwrite)


def _code(sheet: Sheet) -> str:
    # Only a plain name and a number are filled in: no word of an item or an instrument becomes code.
    code = Template(_template("inspect_task.py")).substitute(
        name=plain_name(sheet.instrument.id), version=int(sheet.instrument.version)
    )
    return code + _template("read_answer.py")


def _metadata(sheet: Sheet) -> dict[str, Any]:
    return {
        "written_by": f"vantage {__version__}",
        "style": sheet.style.name,
        "condition": sheet.condition,
        # As YAML, since JSON would turn the numbers that are keys into text.
        "instrument": dump(dict(sheet.instrument.document)),
    }


def _sample(sheet: Sheet, asked: Asked) -> dict[str, Any]:
    item, question = str(asked.item["item"]), asked.question.id
    return {
        "id": f"{item} · {question}",
        "input": [{"role": message.role, "content": message.content} for message in asked.messages],
        # Inspect wants a target; the scores look at how many people gave each answer instead.
        "target": asked.most or "",
        "metadata": {
            "item": item,
            "question": question,
            **asked.form,
            "people": dict(asked.people),
            "shown": sheet.shown(asked.item),
        },
    }


class _Function(str):
    """A function of `people.py`, by its name."""


class _Dumper(yaml.SafeDumper):
    """Writes `!function` for functions, as the harness reads it."""


_Dumper.add_representer(
    _Function, lambda dumper, function: dumper.represent_scalar("!function", f"people.{function!s}")
)


def lm_eval_tasks(corpus: Corpus, path: Path, *, overwrite: bool = False, **chosen: Unpack[AskedWith]) -> Path:
    """Writes the folder of the tasks for the harness."""
    sheet = Sheet.of(corpus, **chosen, refused=REFUSED, tool="the harness")
    if corpus.items.is_empty():
        raise InputError("the corpus has no items to ask about", remedy="export a corpus with items")
    files: dict[str, str] = {"people.py": _template("lm_eval_people.py") + _template("read_answer.py")}
    group = plain_name(sheet.instrument.id)
    tasks = []
    for one in sheet.questions:
        asked = list(sheet.asked(one))
        name = f"{group}_{plain_name(one.id)}"
        tasks.append(name)
        files[f"{name}.jsonl"] = "".join(f"{json_text(_document(entry))}\n" for entry in asked)
        files[f"{name}.yaml"] = _yaml(_task(sheet, one, name, asked))
    if len(tasks) > 1:
        files[f"{group}.yaml"] = _yaml({"group": group, "task": tasks, "metadata": {"version": _version(sheet)}})
    return put_files(path, files, ours=("*.yaml", "*.jsonl", "people.py", "__pycache__/*"), overwrite=overwrite)


def _task(sheet: Sheet, question: Question, name: str, asked: Sequence[Asked]) -> dict[str, Any]:
    scoring = sheet.style.scoring
    words = [choice.word for choice in choices(question.scale)]
    if scoring and not words:
        raise InputError(f"question '{question.id}' has no options to compare", remedy="use a style other than scoring")
    task: dict[str, Any] = {
        "task": name,
        "custom_dataset": _Function("load"),
        "dataset_kwargs": {"file": f"{name}.jsonl"},
        "test_split": "test",
        "output_type": "multiple_choice" if scoring else "generate_until",
        # Names of columns, whose content is taken as it is.
        "description": "system",
        "doc_to_text": "prompt",
        "doc_to_target": "target",
        **({"doc_to_choice": words} if scoring else {}),
        "process_results": _Function("compared" if scoring else "generated"),
        "metric_list": [{"metric": m, "aggregation": "mean", "higher_is_better": True} for m in METRICS],
        "num_fewshot": 0,
        "metadata": {"version": _version(sheet)},
    }
    if not scoring:
        task["generation_kwargs"] = {"until": [], "do_sample": False, "temperature": 0.0, "max_gen_toks": 512}
    if sheet.style.shots:
        task |= {
            "num_fewshot": sheet.style.shots,
            "fewshot_config": {"sampler": "first_n", "samples": _shots(question, asked)},
        }
    return task


def _document(asked: Asked) -> dict[str, Any]:
    return {
        "item": str(asked.item["item"]),
        "question": asked.question.id,
        "system": asked.messages[0].content,
        "prompt": asked.messages[-1].content,
        "target": asked.most[0] if asked.most else "",
        **asked.form,
        "counts": [asked.people.get(word, 0) for word in asked.form["words"]],
    }


def _shots(question: Question, asked: Sequence[Asked]) -> list[dict[str, Any]]:
    """The worked examples, which the harness shows in the same order before every item."""
    prefixes = {entry.messages[1:-1] for entry in asked}
    if len(prefixes) > 1:
        problem = (
            f"an item is itself a worked example of question '{question.id}', so that others would be shown with it"
        )
        raise InputError(problem, remedy="leave few-shot out, or export the other items")
    turns = prefixes.pop()
    pairs = zip(turns[::2], turns[1::2], strict=True)
    return [{"prompt": user.content, "target": answer.content} for user, answer in pairs]


def _version(sheet: Sheet) -> float:
    return float(sheet.instrument.version)


def _yaml(data: dict[str, Any]) -> str:
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
    return text


def _template(name: str) -> str:
    """A file that is written as it is, or nearly so."""
    return (resources.files("vantage.interop") / "templates" / f"{name}.txt").read_text("utf-8")
