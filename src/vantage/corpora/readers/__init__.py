"""Readers: from published data sets and common formats to a `Corpus`.

A reader is a function `read(path, **options) -> Corpus`; `files` opens what it needs and tells what is wrong
with it. To add one, write the function in a module of its own and list it in `READERS`; one that needs more than
tables, such as reading what a model wrote, lives in `interop` and is listed here by its full name. Modules are loaded
when a reader is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vantage.errors import InputError, nearest
from vantage.plugins import Plugins

if TYPE_CHECKING:
    from vantage.corpora import Corpus


@dataclass(frozen=True, slots=True)
class Reader:
    """What is known of a reader before it is loaded."""

    name: str
    title: str
    home: str
    """Where the original is published, or what software writes the format."""
    needs: str
    """What `path` has to be."""
    module: str = ""
    """Its module here, or the full name of one elsewhere."""
    function: str | Callable[..., Corpus] = "read"
    """The function that reads: its name in the module, or in a plugin the function itself."""
    options: dict[str, str] = field(default_factory=dict)
    """Options of the reader and what they mean."""

    def __call__(self, path: object, **options: object) -> Corpus:
        """Reads the data at a path; the reader `table` also takes a frame."""
        for name in options:
            if name not in self.options:
                raise InputError(
                    f"reader '{self.name}' has no option '{name}'", remedy=nearest(name, list(self.options))
                )
        if not (isinstance(path, str | Path) or self.name in ("table", "texts")):
            raise InputError(f"reader '{self.name}' reads files, not {type(path).__name__}", remedy="give a path")
        read = self.function
        if isinstance(read, str):
            module = import_module(self.module if "." in self.module else f"vantage.corpora.readers.{self.module}")
            read = getattr(module, read)
        corpus: Corpus = read(Path(path) if isinstance(path, str) else path, **options)
        return corpus


FILE: Final = {
    "encoding": "the encoding of a text file, where it is not UTF-8",
    "separator": "the separator of a CSV file, where it is not found by itself",
    "quotes": "literal where quotation marks are part of the text",
    "sheet": "the sheet of a spreadsheet with several",
}
"""How a file of one's own is opened."""

READERS: dict[str, Reader] = {
    reader.name: reader
    for reader in (
        Reader(
            "table",
            "Any table with one judgment per row, or one column per rater, item or question",
            "your own CSV, Excel, SPSS, Stata, SAS, R, Parquet, JSON Lines; Qualtrics, Google Forms",
            "a file (or a frame, from Python)",
            "table",
            options={
                "map": "which column holds what: item, rater, value, text, question, rationale, condition, sample …",
                "question": "the question that was asked, where no column says it",
                "traits": "columns that describe the rater",
                "instrument": "the instrument whose scales the values are on (a name or a file)",
                "wide": "columns hold values: of a rater each (true), or what they are: rater, item or question",
                "values": "the columns of a wide table that hold values, such as Q*",
                "duplicates": "what to do with duplicate judgments: first, last or mean",
                "empty": "what an empty value means: skip, or a status such as not_mentioned",
                "missing": "codes that mean that there is no answer, such as -99 or NA",
                "valid": "codes that are answers although they look like such codes",
                "decimal": "the decimal mark: . or ,",
                "order": "the words of the scale from the lowest to the highest",
                "strip": "whether spaces around ids mean nothing",
                "case": "whether upper and lower case of ids matters: keep or fold",
                **FILE,
            },
        ),
        Reader(
            "texts",
            "Texts alone, one per row, that nobody has judged yet",
            "your own files, as for table",
            "a file (or a frame, from Python)",
            "texts",
            options={
                "map": "which column holds what: text, item, target …",
                "instrument": "what is to be asked of the texts (a name or a file)",
                **FILE,
            },
        ),
        Reader(
            "wcsent",
            "W&C-Sent: trust, sociability and competence of targets in sentences",
            "github.com/nedjmaou/W_C_Sent",
            "the folder with the released CSV files",
            "wcsent",
        ),
        Reader(
            "hs-brexit",
            "HS-Brexit: hate speech in tweets, six annotators of two groups",
            "le-wi-di.github.io (LeWiDi 2023)",
            "the folder with HS-Brexit_{train,dev,test}.json, or one of these files",
            "lewidi",
            "hs_brexit",
            {"groups": "names of the two annotator groups: lewidi (the shared task's) or hub (swapped)"},
        ),
        Reader(
            "md-agreement",
            "MD-Agreement: offensive tweets of three domains, 819 annotators",
            "le-wi-di.github.io (LeWiDi 2023)",
            "the folder with MD-Agreement_{train,dev,test}.json, or one of these files",
            "lewidi",
            "md_agreement",
        ),
        Reader(
            "convabuse",
            "ConvAbuse: abuse of conversational agents, eight annotators",
            "le-wi-di.github.io (LeWiDi 2023)",
            "the folder with ConvAbuse_{train,dev,test}.json, or one of these files",
            "lewidi",
            "convabuse",
        ),
        Reader(
            "mp",
            "MultiPICo: irony in post and reply, nine languages, annotators with demographics",
            "le-wi-di.github.io (LeWiDi 2025)",
            "the folder with MP_{train,dev,test}.json and MP_annotators_meta.json",
            "lewidi",
            "multipico",
            {"language": "keep one language only, such as en"},
        ),
        Reader(
            "csc",
            "CSC: sarcasm of responses in context, 1 to 6, annotators with age and gender",
            "le-wi-di.github.io (LeWiDi 2025)",
            "the folder with CSC_{train,dev,test}.json and CSC_annotators_meta.json",
            "lewidi",
            "csc",
        ),
        Reader(
            "appraisals",
            "CovidET-Appraisals: 24 appraisals with rationales, two annotators, recorded model answers",
            "github.com/honglizhan/CovidET-Appraisals-Public",
            "the folder with CovidET-Appraisals.csv",
            "appraisals",
            options={"replies": "which recorded model answers to add: raw (default), cleaned (as released) or none"},
        ),
        Reader(
            "rationale-evaluation",
            "CovidET-Appraisals: people's judgments of the annotators' and models' rationales",
            "github.com/honglizhan/CovidET-Appraisals-Public",
            "the folder with TURKERS-EVAL_…_models.csv, the one above it, or one of these files",
            "appraisals",
            "human_evaluation",
        ),
        Reader(
            "isarcasm",
            "iSarcasmEval: the authors' own labels and the votes of five readers",
            "github.com/iabufarha/iSarcasmEval",
            "the folder with train/, test/ and third-party/",
            "isarcasm",
        ),
        Reader(
            "tydip",
            "TyDiP (English): politeness of requests, one standardised score each",
            "github.com/Genius1237/TyDiP",
            "the folder with all/ and binary/",
            "tydip",
        ),
        Reader(
            "goemotions",
            "GoEmotions: emotions of comments, and the sentiment that they have",
            "github.com/google-research/google-research/tree/master/goemotions",
            "the folder with emotions.txt, sentiment_mapping.json and dev.tsv",
            "goemotions",
        ),
        Reader(
            "tweeteval",
            "TweetEval: tweets with one label each (sentiment, stance, irony …)",
            "github.com/cardiffnlp/tweeteval",
            "the folder of a task, with mapping.txt and test_text.txt",
            "tweeteval",
        ),
        Reader(
            "dices",
            "DICES-350 and DICES-990: safety of conversations with a chatbot, raters with demographics",
            "github.com/google-research-datasets/dices-dataset",
            "diverse_safety_adversarial_dialog_350.csv or …_990.csv, or the folder with both",
            "dices",
            options={"part": "350 or 990, where the folder has both"},
        ),
        Reader(
            "measuring-hate-speech",
            "Measuring Hate Speech: ten items per comment, annotators with demographics",
            "huggingface.co/datasets/ucberkeley-dlab/measuring-hate-speech",
            "the Parquet or CSV file",
            "measuring_hate_speech",
            options={"targets": "which marks for target groups to read: groups (default), all or none"},
        ),
        Reader(
            "epic",
            "EPIC: irony in post and reply, annotators with demographics",
            "huggingface.co/datasets/Multilingual-Perspectivist-NLU/EPIC",
            "the Parquet or CSV file",
            "epic",
        ),
        Reader(
            "response-bias",
            "BiasMonkey: language models' answers to survey questions in two forms each",
            "github.com/lindiatjuatja/BiasMonkey",
            "the folder with prompts/ and one folder per model",
            "response_bias",
        ),
        Reader(
            "label-studio",
            "Label Studio: the JSON export of a project",
            "labelstud.io",
            "the exported JSON file",
            "label_studio",
            options={"instrument": "the instrument whose scales the answers are on (a name or a file)"},
        ),
        Reader(
            "potato",
            "Potato: the annotation output folder",
            "github.com/davidjurgens/potato",
            "the folder with the annotation output",
            "potato",
            options={"instrument": "the instrument whose scales the answers are on (a name or a file)"},
        ),
        Reader(
            "inspect",
            "Inspect: the replies of models in evaluation logs",
            "inspect.aisi.org.uk",
            "a .eval or .json log, or a folder of logs",
            "vantage.interop.inspect_log",
            options={
                "instrument": "what was asked, where the task is not one that Vantage wrote (a name or a file)",
                "question": "which of its questions was asked, where it has several and the samples do not say it",
                "condition": "the circumstances under which the judgments are to stand",
            },
        ),
    )
}


def _accepted(name: str, reader: Any) -> Reader:
    if not isinstance(reader, Reader):
        raise TypeError("is not a vantage.corpora.readers.Reader")
    if reader.name != name:
        raise ValueError(f"is a reader with another name, '{reader.name}'")
    return reader


PLUGINS: Plugins[Reader] = Plugins("readers", "reader", lambda: READERS, _accepted)
"""Readers of other packages: `Reader` objects."""


def load(reader: str, path: object, **options: object) -> Corpus:
    """Reads data in a known format: `vantage.load("wcsent", folder)`, or a frame: `vantage.load("table", frame)`."""
    function = READERS.get(reader) or PLUGINS.find(reader)
    return function(path, **options)
