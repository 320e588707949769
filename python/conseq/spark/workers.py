"""What runs on the workers of a cluster: rows in, repaired rows and counts out.

Each class is one thing that a task does with the rows of its partition. It is pickled by its name, so that a worker uses
its own copy of this package; what was made ready once is kept for the next task of the same worker.
"""

from __future__ import annotations

import hashlib
import itertools
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from .. import _call, _files, _native
from ..errors import ConseqError, MissingPackageError

Made = TypeVar("Made")

#: What a task that counts gives back: counts, or what went wrong.
COUNTED = "state binary, error binary"
#: How many records are generated at a time.
AT_A_TIME = 5_000
#: What a worker keeps ready.
_KEPT = 4

_ready: dict[str, Any] = {}


def _once(parts: Iterable[bytes], make: Callable[[], Made]) -> Made:
    """What this worker made before of the same parts, or makes now."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    key = digest.hexdigest()
    if key not in _ready:
        while len(_ready) >= _KEPT:
            _ready.pop(next(iter(_ready)))
        _ready[key] = make()
    made: Made = _ready[key]
    return made


def _one_thread() -> _call.Call:
    """A task has one core, and nobody looks."""
    return _call.settings(1, False)


def check_version(of_driver: str) -> None:
    """Refuses to work with another version of this package than the driver has."""
    if of_driver != _native.VERSION:
        raise MissingPackageError(
            f"a worker has conseq {_native.VERSION}, and the driver has {of_driver}",
            f"install conseq=={of_driver} on every node of the cluster",
        )


@dataclass(frozen=True)
class Task:
    """What every task knows: the version that the driver has."""

    version: str = field(default=_native.VERSION, kw_only=True)

    def _counted(self, count: Callable[[], bytes]) -> Iterator[Any]:
        """The counts as a row. What is wrong with the records is one as well: Spark would try again, in vain."""
        import pyarrow

        state: bytes | None = None
        error: bytes | None = None
        try:
            check_version(self.version)
            state = count()
        except ConseqError as failed:
            error = pickle.dumps(failed)
        columns = {"state": [state], "error": [error]}
        schema = pyarrow.schema([("state", pyarrow.binary()), ("error", pyarrow.binary())])
        yield pyarrow.RecordBatch.from_pydict(columns, schema=schema)


@dataclass(frozen=True)
class Round(Task):
    """A round of a verb: what to find out, what is known of the cohorts, and what was counted before."""

    work: str
    outlines: tuple[bytes, ...]
    known: tuple[bytes, ...]
    of_synthetic: bool

    def job(self) -> _native.Job:
        """The work, with a plan that was proved once."""
        return _once([self.work.encode(), *self.outlines], lambda: _native.Job(self.work, list(self.outlines)))

    def add_up(self, counts: list[bytes]) -> bytes:
        """The sum of some counts."""
        return self.job().add_up(list(self.known), counts, _one_thread())


class Sum(Protocol):
    """What is counted, as far as counts of it can be added up."""

    def add_up(self, counts: list[bytes]) -> bytes:
        """The sum of some counts."""


@dataclass(frozen=True)
class Written:
    """What is counted of records that are generated."""

    def add_up(self, counts: list[bytes]) -> bytes:
        """The sum of some counts."""
        return _native.add_up_written(counts)


@dataclass(frozen=True)
class Count(Task):
    """Counts the records of a partition."""

    round: Round
    columns: dict[str, Any]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        first = next(batches, None)

        def count() -> bytes:
            known, of_synthetic = list(self.round.known), self.round.of_synthetic
            counting = self.round.job().counting(known, of_synthetic, self.columns, _one_thread())
            for batch in itertools.chain([first], batches):
                counting.push(batch)
            return counting.finish()[1]

        # A partition may have no rows.
        if first is not None:
            yield from self._counted(count)


@dataclass(frozen=True)
class CountFiles(Task):
    """Counts the records of some data files of a MEDS dataset, whose numbers are the rows of the partition."""

    round: Round
    path: str

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        numbers = list(_numbers(batches))

        def count() -> bytes:
            known, of_synthetic = list(self.round.known), self.round.of_synthetic
            return self.round.job().count_files(known, of_synthetic, (self.path, numbers), _one_thread())

        # Spark may make a task of no rows.
        if numbers:
            yield from self._counted(count)


@dataclass(frozen=True)
class AddUp(Task):
    """Adds up the counts of some partitions, one after the other. The first that went wrong goes on as it is."""

    of: Sum

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        rows = _counts(batches)
        first = next(rows, None)
        # There may be fewer counts than tasks.
        if first is not None:
            yield from self._counted(lambda: self._sum(itertools.chain([first], rows)))

    def _sum(self, rows: Iterable[tuple[bytes | None, bytes | None]]) -> bytes:
        total: bytes | None = None
        for state, error in rows:
            if error is not None:
                raise pickle.loads(error)
            if state is not None:
                total = state if total is None else self.of.add_up([total, state])
        return total or b""


def _counts(batches: Iterator[Any]) -> Iterator[tuple[bytes | None, bytes | None]]:
    """What was counted, or went wrong, row by row: a batch of counts may be large."""
    for batch in batches:
        states, errors = batch.column(0), batch.column(1)
        for row in range(batch.num_rows):
            yield states[row].as_py(), errors[row].as_py()


@dataclass(frozen=True)
class Probe(Task):
    """Finds out whether a worker has this package, of the version of the driver."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for _ in batches:
            yield from self._counted(lambda: b"")


@dataclass(frozen=True)
class Repair(Task):
    """Repairs the records of a partition: their rows, and one more with what was counted."""

    round: Round
    columns: dict[str, Any]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        check_version(self.version)
        known, text = list(self.round.known), bool(self.columns["text_subjects"])
        counting = self.round.job().counting(known, False, self.columns, _one_thread())
        for batch in batches:
            for rows in counting.push(batch):
                yield from _event_rows(rows)
        last, state = counting.finish()
        for rows in last:
            yield from _event_rows(rows)
        yield _state_row(state, text)


@dataclass(frozen=True)
class RepairFiles(Task):
    """Repairs the records of some data files of a MEDS dataset."""

    round: Round
    path: str
    text_subjects: bool

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        check_version(self.version)
        numbers = list(_numbers(batches))
        if not numbers:
            return
        files = (self.path, numbers)
        repairing = self.round.job().repair_files(list(self.round.known), files, self.text_subjects, _one_thread())
        state: bytes | None = None
        while state is None:
            rows, state = repairing.next()
            if rows is not None:
                yield from _event_rows(rows)
        yield _state_row(state, self.text_subjects)


@dataclass(frozen=True)
class Generate(Task):
    """Generates the records whose numbers are the rows of a partition: their rows, and one more with what was counted."""

    model: dict[str, bytes] | str
    name: str
    rules: list[tuple[str, str]]
    settings: dict[str, Any]
    digest: bytes
    #: The digest of the model in a folder: any other is refused.
    model_digest: str | None = None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        check_version(self.version)
        generation = self.generation()
        for first, last in _ranges(batches):
            events, state = generation.write(first, last, _one_thread())
            for rows in events:
                yield from _event_rows(rows)
            yield _state_row(state, False)

    def generation(self) -> _native.Generation:
        """The model with its rules, proved once."""
        call = _one_thread()

        def make() -> _native.Generation:
            def load(path: str) -> _native.Model:
                return _native.Model.load(path, call, self.model_digest)

            native = load(self.model) if isinstance(self.model, str) else _files.unpacked(self.model, load)
            return _native.Generation(native.renamed(self.name), self.rules, self.settings, call)

        return _once([self.digest], make)


@dataclass(frozen=True)
class CountWritten(Task):
    """Generates records, and keeps what was counted alone."""

    generate: Generate

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        ranges = list(_ranges(batches))

        def count() -> bytes:
            generation, total = self.generate.generation(), b""
            for first, last in ranges:
                state = generation.write(first, last, _one_thread())[1]
                total = _native.add_up_written([total, state]) if total else state
            return total

        if ranges:
            yield from self._counted(count)


@dataclass(frozen=True)
class CountRows(Task):
    """Counts rows of OMOP tables: which concepts, results and values there are."""

    settings: dict[str, Any]

    def add_up(self, counts: list[bytes]) -> bytes:
        """The sum of some counts."""
        return _native.joined_sum(counts, True)

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        return self._counted(lambda: _native.joined_count(_tables(batches), self.settings))


@dataclass(frozen=True)
class TallyRows(Task):
    """Counts which codes the records of such rows have."""

    known: bytes

    def add_up(self, counts: list[bytes]) -> bytes:
        """The sum of some counts."""
        return _native.joined_sum(counts, False)

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        return self._counted(lambda: _joined(self.known).tally(_tables(batches)))


@dataclass(frozen=True)
class RecordsOfRows(Task):
    """Makes records of such rows."""

    known: bytes

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        check_version(self.version)
        records = _joined(self.known).records()
        for table in _tables(batches):
            for rows in records.push(table):
                yield from _event_rows(rows)
        for rows in records.finish():
            yield from _event_rows(rows)


def _joined(known: bytes) -> _native.Joined:
    return _once([b"joined", known], lambda: _native.Joined.from_bytes(known))


def _tables(batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow

    return (pyarrow.Table.from_batches([batch]) for batch in batches)


@dataclass(frozen=True)
class SampleKeys(Task):
    """A number for each id, by which some of them are taken."""

    seed: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        check_version(self.version)
        for batch in batches:
            subjects = batch.column(0)
            keys = _native.sample_keys(subjects.cast(pyarrow.string()).to_pylist(), self.seed)
            yield pyarrow.RecordBatch.from_arrays([subjects, pyarrow.array(keys, pyarrow.int64())], ["subject", "key"])


def event_columns(text_subjects: bool) -> str:
    """The columns of events, and one for what was counted."""
    subject = "string" if text_subjects else "long"
    return f"subject_id {subject}, time timestamp_ntz, code string, numeric_value float, visit_id long, state binary"


def _event_rows(rows: _native.Batches) -> Iterator[Any]:
    import pyarrow

    for batch in pyarrow.table(rows).replace_schema_metadata(None).to_batches():
        states = pyarrow.nulls(batch.num_rows, pyarrow.binary())
        names = [*batch.schema.names, "state"]
        yield pyarrow.RecordBatch.from_arrays([*batch.columns, states], names)


def _state_row(state: bytes, text_subjects: bool) -> Any:
    import pyarrow

    types = [
        pyarrow.string() if text_subjects else pyarrow.int64(),
        pyarrow.timestamp("us"),
        pyarrow.string(),
        pyarrow.float32(),
        pyarrow.int64(),
    ]
    names = ["subject_id", "time", "code", "numeric_value", "visit_id", "state"]
    columns = [*(pyarrow.nulls(1, kind) for kind in types), pyarrow.array([state], pyarrow.binary())]
    return pyarrow.RecordBatch.from_arrays(columns, names)


def _numbers(batches: Iterator[Any]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()


def _ranges(batches: Iterator[Any]) -> Iterator[tuple[int, int]]:
    """The numbers of a partition as ranges that are not too long."""
    first = last = None
    for number in _numbers(batches):
        if first is not None and last is not None:
            if number == last and last - first < AT_A_TIME:
                last += 1
                continue
            yield first, last
        first, last = number, number + 1
    if first is not None and last is not None:
        yield first, last
