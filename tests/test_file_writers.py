"""Which modules write files: a closed list, so that no table of people leaves beside the writer that guards it.

What others may get of a corpus goes through `corpora.writers` (traits that single people out, texts with `show: no`,
formulas in cells). Whoever writes another file says here what is in it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from tests.trees import SOURCE, nodes, one_worker

pytestmark = one_worker
WRITES: Final = frozenset(
    {
        *("write_text", "write_bytes", "write_csv", "write_parquet", "write_ipc", "write_ndjson", "write_json"),
        *("write_excel", "write_delta", "write_avro", "write_clipboard", "write_database", "sink_parquet", "sink_csv"),
        *("sink_ipc", "sink_ndjson", "savefig", "save_file", "savez", "savez_compressed", "to_csv", "to_excel"),
    }
)
ALLOWED: Final = {
    "cli/output.py": "a figure of a measure, of numbers that are printed too",
    "cli/plan.py": "the settings of a plan",
    "cli/train.py": "measures of a trained rater",
    "collect/export.py": "checks beside the corpus of the study's researchers, and ids that only the owner may read",
    "corpora/corpus.py": "the corpus folder itself, which holds everything",
    "corpora/readers/files.py": "a cleaned copy of what is read, thrown away",
    "corpora/readers/table.py": "a copy for reading, thrown away",
    "corpora/reading.py": "an unpacked archive, thrown away",
    "corpora/writers/cells.py": "the one place where cells become CSV, with formulas defused",
    "corpora/writers/place.py": "the one writer of exports, after `guard` and `shown`",
    "interop/benchmark.py": "a benchmark, after `guard` and `shown`",
    "interop/croissant.py": "the description beside an export",
    "interop/huggingface.py": "the description beside an export",
    "interop/submissions.py": "distributions that a model predicts",
    "raters/trained/encoder.py": "weights",
    "raters/trained/held_out.py": "answers to held-out texts, which fingerprints name, and predictions",
    "raters/trained/linear.py": "weights",
    "raters/trained/network.py": "weights",
    "raters/trained/probe.py": "weights and states of a model",
    "raters/trained/saved.py": "what a trained rater was made of",
    "report/card.py": "a picture, of a corpus after `shown`",
    "report/folder.py": "a report, of a corpus after `shown`",
    "report/style.py": "a figure",
    "runs/export.py": "calls of models for other engines",
    "runs/finished.py": "calls of models",
    "runs/source.py": "calls of models",
    "scaffold/new_study.py": "a new study file",
    "scaffold/writing.py": "a new instrument or study",
    "view/exporting.py": "the explorer as a file, after `guard` and `shown`",
}


@cache
def writing() -> dict[str, frozenset[str]]:
    """The modules that write files, with the calls by which they do."""
    known = {str(path.relative_to(SOURCE)): frozenset(writes(path)) for path in sorted(SOURCE.rglob("*.py"))}
    return {name: calls for name, calls in known.items() if calls}


def writes(path: Path) -> Iterator[str]:
    """The calls of a module that write a file."""
    for node in nodes(path):
        if isinstance(node, ast.Attribute) and node.attr in WRITES:
            yield node.attr
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        texts = [one.value for one in [*node.args, *(k.value for k in node.keywords)] if isinstance(one, ast.Constant)]
        modes = [text for text in texts if isinstance(text, str) and text[:1] in {"w", "a", "x"} and len(text) <= 3]
        of_csv = "rite" in name and ast.unparse(node.func).startswith("csv.")
        if of_csv or (name in {"open", "fdopen", "ZipFile"} and modes):
            yield name


def test_no_other_module_writes_files() -> None:
    assert {*writing()} - {*ALLOWED} == set(), "write through vantage.corpora.writers, or say here what is in the file"
    assert {*ALLOWED} - {*writing()} == set(), "these no longer write"


def test_cells_become_csv_in_one_place() -> None:
    """Elsewhere nobody would defuse formulas."""
    makes = {"write_csv", "sink_csv", "to_csv", "write_excel", "to_excel", "writer", "DictWriter"}
    assert [name for name, calls in writing().items() if makes & calls] == [
        "corpora/writers/cells.py",
        "runs/export.py",  # streams, after `safe` of the same module
    ]
