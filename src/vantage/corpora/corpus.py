"""The corpus: items, raters with their traits, and every judgment beside the rater who made it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

import polars as pl
import polars.selectors as cs

from vantage._lazy import provided
from vantage.corpora import schema, storage
from vantage.corpora.design import SamplingDesign
from vantage.corpora.merging import merge_instruments, questions_of, shared_raters, stacked, union, with_traits
from vantage.corpora.storage import About, manifest, read_manifest
from vantage.corpora.traits import TraitScale, declared_scales, scales_of
from vantage.corpora.weighting import Target, raked
from vantage.documents import Document
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument, Question

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)
T = TypeVar("T")
SHOWN: Final = 5
"""How many items a notebook shows."""


class Corpus:
    """Items, raters and judgments: three checked Polars tables.

    >>> import polars as pl
    >>> from vantage import Corpus, Instrument, Scale
    >>> corpus = Corpus(
    ...     items=pl.DataFrame({"item": ["a", "b"], "text": ["Nice try.", "Thank you."]}),
    ...     raters=pl.DataFrame({"rater": ["ann", "bob"], "age": [31, 52]}),
    ...     judgments=pl.DataFrame({"item": ["a", "a", "b"], "question": "polite",
    ...                             "rater": ["ann", "bob", "ann"], "value": [0, 1, 1]}),
    ...     instruments=Instrument.of_questions("mine", "Politeness", {"polite": Scale.labels("no", "yes")}))
    >>> corpus
    Corpus(corpus: 2 items, 2 raters, 3 judgments, questions polite)
    >>> corpus.judgments["status"].to_list()
    ['answered', 'answered', 'answered']

    Every construction is checked: values off the scale, unknown questions, raters or items, and duplicate
    keys raise an `InputError`. Judgments given as a lazy frame are read when they are first used.
    """

    def __init__(
        self,
        items: pl.DataFrame,
        raters: pl.DataFrame,
        judgments: pl.DataFrame | pl.LazyFrame,
        instruments: Instrument | Iterable[Instrument],
        about: About | None = None,
        *,
        place: schema.Place = schema.in_table,
        referenced: bool = False,
    ) -> None:
        self.instruments = (instruments,) if isinstance(instruments, Instrument) else tuple(instruments)
        self.about = about or About()
        self.folder: Path | None = None
        self.scratch: object = None
        """What must live as long as lazy judgments: the temporary folder in which they are."""
        self.questions: tuple[Question, ...] = questions_of(self.instruments)
        items, raters = schema.conform("items", items), schema.conform("raters", _with_kind(raters))
        if isinstance(judgments, pl.DataFrame):
            judgments = schema.conform("judgments", with_defaults(judgments))
        faults = schema.faults(items, raters, judgments, self.questions, place=place, referenced=referenced)
        if fault := next(faults, None):
            raise fault
        self._tables = {"items": items, "raters": raters}
        self._streamed = judgments if isinstance(judgments, pl.LazyFrame) else None
        if isinstance(judgments, pl.DataFrame):
            self._tables["judgments"] = judgments

    @classmethod
    def of_items(
        cls, items: pl.DataFrame, instruments: Instrument | Iterable[Instrument] = (), about: About | None = None
    ) -> Corpus:
        """Items that nobody has judged yet."""
        judgments = {**dict.fromkeys(("item", "question", "rater"), pl.String), "value": pl.Float64}
        return cls(items, pl.DataFrame(schema={"rater": pl.String}), pl.DataFrame(schema=judgments), instruments, about)

    @classmethod
    def read(cls, folder: str | Path) -> Corpus:
        """Opens a corpus folder.

        The tables are read, and checked, when they are first used: opening costs the same for a thousand
        judgments and for a hundred million.
        """
        folder = Path(folder)
        if folder.is_file():
            remedy = f"to import a table, run: vantage corpora preview {folder}"
            raise InputError("this is a file, not a corpus folder", file=folder, remedy=remedy)
        if not storage.is_corpus(folder):
            problem = "there is no such folder" if not folder.exists() else "the folder has no corpus.yaml"
            raise InputError(problem, file=folder, remedy="make one with: vantage corpora import")
        storage.finish(folder)
        corpus = cls.__new__(cls)
        corpus.instruments, corpus.about = read_manifest(Document.read(storage.file(folder, storage.MANIFEST)))
        corpus.questions = questions_of(corpus.instruments)
        corpus.folder = folder
        corpus._tables, corpus._streamed = {}, None
        for name in schema.TABLES:
            corpus._check_types(name)
        return corpus

    def write(self, folder: str | Path) -> Path:
        """Writes the corpus folder; a crash leaves the old corpus or the new one, never a mixture."""
        folder = Path(folder)
        if self._streamed is None:
            _ = self.judgments  # they are checked before anything is replaced

        def prepare(empty: Path) -> None:
            for name in schema.TABLES:
                plain = self.scan(name).with_columns(cs.enum().cast(pl.String), cs.categorical().cast(pl.String))
                plain.sink_parquet(empty / f"{name}.parquet", compression="zstd")
            (empty / storage.MANIFEST).write_text(manifest(self.about, self.instruments), encoding="utf-8")

        storage.write(folder, prepare)
        return folder

    @property
    def items(self) -> pl.DataFrame:
        """What is judged: one row per item, its text and whatever else is known of it."""
        return self._table("items")

    @property
    def raters(self) -> pl.DataFrame:
        """Who judges: one row per rater, its kind and one column per trait."""
        return self._table("raters")

    @property
    def judgments(self) -> pl.DataFrame:
        """One row per rater's answer to one question about one item."""
        return self._table("judgments")

    def check(self) -> None:
        """Raises the first fault of a corpus on disk, streaming its judgments."""
        if "judgments" in self._tables or self._streamed is not None:
            return
        if fault := next(schema.faults(self.items, self.raters, self.scan(), self.questions, place=self._place), None):
            raise fault

    @property
    def sizes(self) -> dict[str, int]:
        """How many items, raters and judgments there are, without reading them."""
        return {name: self.scan(name).select(pl.len()).collect().item() for name in schema.TABLES}

    @property
    def traits(self) -> list[str]:
        """The names of the raters' traits."""
        known = {*schema.RATERS, *self.about.weights}
        return [column for column in self._columns("raters") if column not in known]

    @property
    def design(self) -> SamplingDesign:
        """Which items and which raters were drawn together: what numbers generalise to (see `with_design`)."""
        return SamplingDesign(self.about.item_sources or None, self.about.rater_groups or None)

    def with_design(self, *, sources: str | None = None, groups: str | None = None) -> Corpus:
        """The corpus with its sampling design declared: columns of items and raters that tell what was drawn together.

        >>> from vantage import demo_corpus
        >>> demo_corpus().with_design(groups="gender").design
        SamplingDesign(sources=None, groups='gender')
        """
        design = SamplingDesign(sources, groups).checked(self.items, self.raters)
        made = self._with()
        made.about = replace(self.about, item_sources=design.sources or "", rater_groups=design.groups or "")
        return made

    @property
    def trait_scales(self) -> Mapping[str, TraitScale]:
        """The scale of every trait, as declared or as its values tell.

        >>> from vantage import demo_corpus
        >>> {trait: scale.level for trait, scale in demo_corpus().trait_scales.items()}
        {'age': 'numeric', 'gender': 'nominal'}
        """
        return scales_of(self.raters, self.traits, self.about.traits)

    def with_trait_scales(self, scales: Mapping[str, object] | None = None, /, **named: object) -> Corpus:
        """The corpus with scales declared for traits: a level, or the values of an ordered one from low to high.

        >>> from vantage import demo_corpus
        >>> demo_corpus().with_trait_scales(age="ordered").trait_scales["age"].level
        'ordered'
        """
        declared = declared_scales(self.raters, self.traits, {**(scales or {}), **named})
        made = self._with()
        made.about = replace(self.about, traits={**self.about.traits, **declared})
        return made

    def with_weights(
        self, name: str, target: object, *, bounds: Sequence[float] | None = None, base: str | None = None
    ) -> Corpus:
        """The corpus with a weight for each person, so that they stand for a target (see `vantage.corpora.weighting`).

        `target` is a file, or shares of the values of traits. `bounds` keep weights, whose mean is 1, between two
        numbers; `base` names weights to start from. Measures take them as `weights=name`.

        >>> from vantage import demo_corpus
        >>> people = {"gender": {"woman": 0.5, "man": 0.45, "nonbinary": 0.05}}
        >>> record = demo_corpus().with_weights("census", people).about.weights["census"]
        >>> record.raters, round(record.effective, 1)
        (9, 8.6)
        """
        taken = [column for table in schema.TABLES for column in self._columns(table)]
        if (name in taken and name not in self.about.weights) or "." in name or not name.strip():
            raise InputError(f"weights cannot be called '{name}'", remedy="choose a name that no column has")
        raters, record = raked(self.raters, name, Target.of(target), bounds, base)
        made = self._with(raters=raters)
        made.about = replace(self.about, weights={**self.about.weights, name: record})
        return made

    def scan(self, table: str = "judgments") -> pl.LazyFrame:
        """A table as a lazy frame, streamed from disk without checks; for more rows than fit into memory."""
        if table not in schema.TABLES:
            raise InputError(f"there is no table '{table}'", remedy=nearest(table, list(schema.TABLES)))
        if table in self._tables:
            return self._tables[table].lazy()
        if self.folder is None:
            assert self._streamed is not None  # noqa: S101
            return self._streamed
        return pl.scan_parquet(self._file(table))

    def question(self, id: str) -> Question:  # noqa: A002
        """The question with this id."""
        for question in self.questions:
            if question.id == id:
                return question
        known = [question.id for question in self.questions]
        raise InputError(f"the corpus has no question '{id}'", remedy=nearest(id, known))

    def with_columns_of(self, columns: Sequence[str]) -> pl.DataFrame:
        """The judgments with columns of items and raters joined to them.

        A name that both tables have is taken from the items; say `rater.NAME` for the raters' one.
        """
        joined = self.judgments
        for wanted, (table, key, column) in self._sources(columns).items():
            if table != "judgments":
                side = self._table(table).select(key, pl.col(column).alias(wanted))
                joined = joined.join(side, on=key, how="left")
        return joined

    def values_of(self, column: str) -> list[str]:
        """The different values of a column of any of the three tables, as `filter` compares them, sorted."""
        ((table, _, name),) = self._sources([column]).values()
        table = {"item": "items", "rater": "raters"}.get(column, table)
        values = self.scan(table).select(pl.col(name).unique().drop_nulls()).collect().to_series().sort()
        texts = values.cast(pl.String)
        return (texts.str.strip_suffix(".0") if values.dtype.is_float() else texts).to_list()

    def filter(self, *predicates: pl.Expr, **equals: object) -> Corpus:
        """The corpus of what fits: predicates over columns of any of the three tables, or `column=value`.

        A list of values means any of them, and a name that ends in `!` leaves them out (`**{"rater!": "ann"}`). Items
        and raters that lose all their judgments go too; those that had none stay.

        >>> from vantage import Corpus, demo_corpus
        >>> demo_corpus().filter(question="trust", kind="person").judgments["question"].unique().to_list()
        ['trust']
        """
        conditions = [*predicates, *(self._equals(column, value) for column, value in equals.items())]
        items, raters, judgments = self.items, self.raters, self.judgments
        rows = pl.int_range(len(judgments), dtype=pl.UInt32, eager=True)
        for condition in conditions:
            names = condition.meta.root_names()
            sources = self._sources(names)
            tables = {table for table, _, _ in sources.values()}
            # The judgments have the ids too, but they name items and raters, judged or not.
            if set(names) == {"item"} or (tables == {"items"} and not any("." in name for name in names)):
                items = items.filter(condition)
            elif set(names) == {"rater"} or (tables == {"raters"} and not any("." in name for name in names)):
                raters = raters.filter(condition)
            else:
                kept = self.with_columns_of(names).with_row_index("__row").filter(condition)["__row"]
                rows = rows.filter(rows.is_in(kept.implode()))
        if len(rows) < len(judgments):
            judgments = judgments[rows]
        for name, left, whole in (("item", items, self.items), ("rater", raters, self.raters)):
            if len(left) < len(whole):
                judgments = judgments.filter(pl.col(name).is_in(left[name].implode()))
        before, after = self.judgments, judgments
        if len(after) < len(before):
            items = items.filter(_still_used("item", before, after))
            raters = raters.filter(_still_used("rater", before, after))
        # A part of what was checked needs no check.
        part = Corpus.__new__(Corpus)
        part.instruments, part.about, part.questions = self.instruments, self.about, self.questions
        part.folder, part.scratch, part._streamed = None, None, None
        part._tables = {"items": items, "raters": raters, "judgments": judgments}
        return part

    def _equals(self, column: str, value: object) -> pl.Expr:
        """Whether a column has a value, or one of several: numbers are compared as such, true and false in any case."""
        if column.endswith("!"):
            return ~self._equals(column[:-1], value).fill_null(value=False)
        ((table, _, name),) = self._sources([column]).values()
        dtype = self.scan(table).collect_schema()[name]
        wanted = list(value) if isinstance(value, list | tuple | set) else [value]
        words = pl.Series([str(one) for one in wanted], dtype=pl.String)
        if dtype.is_float():
            return pl.col(column).is_in(words.cast(dtype, strict=False).implode())
        if dtype.is_integer():
            words = words.str.strip_suffix(".0")
        elif dtype == pl.Boolean:
            words = words.str.to_lowercase()
        return pl.col(column).cast(pl.String).is_in(words.implode())

    def add(
        self,
        judgments: pl.DataFrame,
        raters: pl.DataFrame | None = None,
        instruments: Instrument | Iterable[Instrument] = (),
    ) -> Corpus:
        """The corpus with further judgments: of new raters, of a new instrument, or of the same ones."""
        added = (instruments,) if isinstance(instruments, Instrument) else tuple(instruments)
        extra = _with_kind(raters if raters is not None else self.raters.clear())
        return Corpus(
            items=self.items,
            raters=union("rater", [self.raters, schema.conform("raters", extra)]),
            judgments=stacked([self.judgments, schema.conform("judgments", with_defaults(judgments))]),
            instruments=merge_instruments([*self.instruments, *added]),
            about=self.about,
        )

    def merge(self, *others: Corpus) -> Corpus:
        """One corpus of several: items and raters with the same id must agree, no judgment may be there twice.

        The notes name people who are in more than one, since ids such as 1, 2, 3 may mean others in each.
        """
        corpora = (self, *others)
        about = self.about.joined(*(other.about for other in others))
        notes = shared_raters([corpus.people().judgments["rater"] for corpus in corpora])
        return Corpus(
            items=union("item", [corpus.items for corpus in corpora]),
            raters=union("rater", [corpus.raters for corpus in corpora]),
            judgments=stacked([corpus.judgments for corpus in corpora]),
            instruments=merge_instruments(instrument for corpus in corpora for instrument in corpus.instruments),
            about=replace(about, notes=(*about.notes, *notes)),
        )

    def join_traits(self, traits: pl.DataFrame, on: str = "rater") -> Corpus:
        """The corpus with further columns for its raters; those who are not in the table keep what was known."""
        return self._with(raters=with_traits(self.raters, traits, on))

    def check_scales(self, *instruments: Instrument) -> None:
        """Refuses instruments that have a question of the corpus on another scale, so that no answer could be kept."""
        questions_of(merge_instruments([*self.instruments, *instruments]))

    def check_asked(
        self,
        instrument: Instrument,
        questions: Sequence[str] = (),
        condition: str = "",
        items: pl.DataFrame | None = None,
    ) -> None:
        """Refuses, before anything is asked, what could not be kept or makes no sense.

        That is a question that the corpus has on another scale already, and items without what a question names. An
        instrument that was inferred from answers has no wording, of which a warning is given.
        """
        from vantage.corpora.item_fields import check_items

        self.check_scales(instrument)
        check_items(instrument, self.items if items is None else items, questions, condition)
        if instrument.inferred:
            ids = ", ".join(question.id for question in instrument.questions[:5])
            warnings.warn(
                f"instrument '{instrument.id}' has no wording: it was inferred from answers, so a model reads only the"
                f" names of its questions ({ids}); write an instrument file first",
                UserWarning,
                stacklevel=3,
            )

    def included(self) -> Corpus:
        """The corpus without raters who are marked as excluded (a column `excluded` of the raters)."""
        if "excluded" not in self.traits:
            return self
        return self.of_raters(self.raters.filter(~schema.is_excluded()))

    def people(self) -> Corpus:
        """The corpus of what people judged, without models, personas, trained raters and aggregates."""
        return self.of_raters(self.raters.filter(pl.col("kind").cast(pl.String).is_in(schema.PEOPLE)))

    def of_raters(self, raters: pl.DataFrame) -> Corpus:
        """The corpus of some of its raters; all items stay."""
        if len(raters) == len(self.raters):
            return self
        judgments = self.judgments.filter(pl.col("rater").is_in(raters["rater"].implode()))
        return self._with(raters=raters, judgments=judgments)

    def report(self, *, seed: int = 0) -> Any:
        """The report on the corpus: shown in a notebook, or written with `.write(FOLDER)`."""
        return provided("corpus.report")(self, seed=seed)

    def view(self, at: str = "") -> Any:
        """The explorer in a notebook, `at` an address such as "#/item?item=a"; `vantage view` opens it in a browser."""
        return provided("corpus.view")(self, at)

    @property
    def plot(self) -> Any:
        """Figures of the corpus: `corpus.plot.agreement(by="question")`, and `corpus.plot.wright("trust")`."""
        return provided("corpus.plot")(self)

    def with_texts(self) -> Corpus:
        """The corpus with a text for each item: where items have no such column, the fields that instruments show."""
        from vantage.corpora.item_fields import shown_fields

        text = shown_fields(self.items, self.instruments) if "text" not in self.items.columns else None
        return self if text is None else self._with(items=self.items.with_columns(text.alias("text")))

    def _with(self, **replaced: pl.DataFrame) -> Corpus:
        """The same corpus with some tables replaced."""
        items, raters, judgments = (replaced[name] if name in replaced else self._table(name) for name in schema.TABLES)
        return Corpus(items, raters, judgments, self.instruments, self.about)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Corpus):
            return NotImplemented
        tables = ((self._table(name), other._table(name)) for name in schema.TABLES)
        same = self.about == other.about and self.instruments == other.instruments
        return same and all(ours.equals(theirs) and ours.schema == theirs.schema for ours, theirs in tables)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        counts = ", ".join(f"{size:,} {name if size != 1 else name[:-1]}" for name, size in self.sizes.items())
        return f"Corpus({self.about.name}: {counts}, questions {', '.join(q.id for q in self.questions)})"

    def _repr_html_(self) -> str:
        from vantage.notebook import html

        parts = [html.line(note, faint=True) for note in self.about.notes[:SHOWN]]
        asked = [(q.id, q.ask, q.scale.describe()) for q in self.questions[: 4 * SHOWN]]
        parts.append(html.grid(("question", "asks", "scale"), asked))
        first = self.scan("items").head(SHOWN).collect()
        columns = [name for name, dtype in first.schema.items() if not dtype.is_nested()][: 2 * SHOWN]
        parts.append(html.grid(columns, first.select(columns).iter_rows()))
        return str(html.block(self.about.title or self.about.name, *parts, note=repr(self)))

    def _columns(self, table: str) -> list[str]:
        return self.scan(table).collect_schema().names()

    def _sources(self, columns: Iterable[str]) -> dict[str, tuple[str, str, str]]:
        """For every wanted column: its table, that table's key, and its name there."""
        keys = {"judgments": "", "items": "item", "raters": "rater"}
        sources: dict[str, tuple[str, str, str]] = {}
        for wanted in columns:
            prefix, _, column = wanted.rpartition(".")
            table = {"item": "items", "rater": "raters"}.get(prefix)
            if table and column in self._columns(table):
                sources[wanted] = (table, keys[table], column)
                continue
            holder = next((name for name in keys if wanted in self._columns(name)), None)
            if holder is None:
                known = list(dict.fromkeys(c for name in keys for c in self._columns(name)))
                raise InputError(f"the corpus has no column '{wanted}'", remedy=nearest(wanted, known))
            sources[wanted] = (holder, keys[holder], wanted)
        return sources

    def _table(self, name: str) -> pl.DataFrame:
        if name not in self._tables:
            self._load(name)
        return self._tables[name]

    def _load(self, name: str) -> None:
        """Reads one table; the judgments are checked against the other two, so these are read as well."""
        if self._streamed is not None:
            self._tables[name] = self._streamed.collect()
            return
        table = schema.conform(name, self._parquet(name, pl.read_parquet))
        if name == "judgments":
            fault = next(schema.faults(self.items, self.raters, table, self.questions, place=self._place), None)
            if fault:
                raise fault
        self._tables[name] = table

    def _file(self, name: str) -> Path:
        assert self.folder is not None  # noqa: S101
        return storage.file(self.folder, f"{name}.parquet")

    def _parquet(self, name: str, read: Callable[[Path], T]) -> T:
        """What is read from the file of a table, or why it cannot be read."""
        path = self._file(name)
        try:
            return read(path)
        except (pl.exceptions.PolarsError, OSError) as error:
            if not path.exists():
                raise InputError("the file is missing", file=path, remedy="import the data again") from None
            problem = f"this is not a readable Parquet file ({str(error).splitlines()[0]})"
            raise InputError(problem, file=path) from None

    def _place(self, name: str, index: int) -> dict[str, Any]:
        assert self.folder is not None  # noqa: S101
        return {"file": self.folder / f"{name}.parquet", "row": index + 1}

    def _check_types(self, name: str) -> None:
        """Compares the types in the file's footer with what the table must have, without reading a row."""
        types = self._parquet(name, pl.read_parquet_schema)
        place: dict[str, Any] = {"file": self._file(name), "remedy": "import the data again"}
        for column, dtype in schema.TABLES[name].items():
            wanted = pl.String if isinstance(dtype, pl.Enum | pl.Categorical) else dtype
            if column not in types:
                raise InputError(f"the {name} table has no column '{column}'", **place)
            if not _same_family(types[column], wanted):
                raise InputError(f"the column holds {types[column]}, not {wanted}", column=column, **place)


def with_defaults(judgments: Frame) -> Frame:
    """Judgments with the columns that can be left out: one condition, one sample, every row answered."""
    defaults = {
        "condition": pl.lit(""),
        "sample": pl.lit(0, dtype=pl.Int32),
        "status": pl.lit("answered", dtype=schema.STATUS),
        "rationale": pl.lit(None, dtype=pl.String),
    }
    columns = judgments.collect_schema().names()
    if "value" not in columns:
        raise InputError("the judgments table has no column 'value'", remedy=f"it has {', '.join(columns)}")
    return judgments.with_columns(value.alias(name) for name, value in defaults.items() if name not in columns)


def _with_kind(raters: pl.DataFrame) -> pl.DataFrame:
    """Raters without a kind count as persons."""
    person = pl.lit("person", dtype=schema.KIND).alias("kind")
    return raters if "kind" in raters.columns else raters.with_columns(person)


def _still_used(key: str, before: pl.DataFrame, after: pl.DataFrame) -> pl.Expr:
    lost = before[key].unique()
    lost = lost.filter(~lost.is_in(after[key].unique().implode()))
    return ~pl.col(key).is_in(lost.implode())


def _same_family(dtype: pl.DataType, wanted: Any) -> bool:
    if wanted == pl.String:
        return dtype in (pl.String, pl.Null) or isinstance(dtype, pl.Categorical | pl.Enum)
    if wanted == pl.Float64:
        return dtype.is_numeric() or dtype == pl.Null
    return dtype.is_integer()
