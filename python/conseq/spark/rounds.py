"""What the driver does: it has records counted, adds the counts up, and goes on until there is a report."""

from __future__ import annotations

import logging
import pickle
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from .. import _call, _native, errors
from ..errors import ConseqError, DataError, MissingPackageError
from .workers import COUNTED, AddUp, Probe, Round, Sum, Written

if TYPE_CHECKING:
    from .._native import Finished

logger = logging.getLogger("conseq")

#: How many counts are added up at a time; what is more than that is added up by workers first.
FAN_IN = 32
#: Partitions of rows that are brought together, where Spark does not say how many.
_USUAL_PARTITIONS = 200


class Source(Protocol):
    """Records that can be counted."""

    def outline(self) -> bytes:
        """What is known of them."""

    def count(self, round: Round) -> list[bytes]:
        """What was counted of each part."""


class Outcome(NamedTuple):
    """What came of a verb: the rounds that were counted, then either its report or the round that is wanted next.

    ``told`` is what workers need to know of ``known``: not all counts matter to those who count what comes after them.
    """

    work: str
    outlines: tuple[bytes, ...]
    known: tuple[bytes, ...]
    told: tuple[bytes, ...]
    wanted: str | None
    finished: Finished | None
    rules: str | None

    def round(self, of_synthetic: bool = False) -> Round:
        """The round that is wanted."""
        return Round(self.work, self.outlines, self.told, of_synthetic)


def run(work: str, sources: Sequence[Source], *, until: str | None = None) -> Outcome:
    """Counts round after round, until there is a report or a round of this name is wanted."""
    outlines = tuple(source.outline() for source in sources)
    job = _native.Job(work, list(outlines))
    call = _call.settings(None, False)
    known: tuple[bytes, ...] = ()
    told: tuple[bytes, ...] = ()
    _, wanted, finished, rules = job.merge([], [], call)
    while wanted is not None and wanted[1] != until:
        of_synthetic, name = wanted
        logger.info("counting: %s", name)
        states = sources[of_synthetic].count(Round(work, outlines, told, of_synthetic))
        if not states:
            # A frame without rows has no partitions either.
            raise DataError("the table has no events", "give a table with rows")
        sum, wanted, finished, rules = job.merge(list(known), states, call)
        if sum is not None:
            known, told = (*known, sum), (*told, _native.told(sum))
    return Outcome(work, outlines, known, told, wanted and wanted[1], finished, rules)


def finish(outcome: Outcome, states: list[bytes]) -> Finished:
    """The report, once the last round is counted."""
    job = _native.Job(outcome.work, list(outcome.outlines))
    finished = job.merge(list(outcome.known), states, _call.settings(None, False))[2]
    if finished is None:
        raise DataError("more is to be counted", "count it")
    return finished


def collect(counts: Any, of: Sum, parts: int) -> list[bytes]:
    """The counts of all partitions, some of them added up where there are many.

    :param of: what was counted
    :param parts: how many counts there are, at most
    """
    while parts > FAN_IN:
        parts = -(-parts // FAN_IN)
        counts = counts.repartition(parts).mapInArrow(AddUp(of), COUNTED)
    states = []
    for row in collected(counts):
        if row["error"] is not None:
            error = pickle.loads(bytes(row["error"]))
            raise error if isinstance(error, ConseqError) else DataError(str(error))
        states.append(bytes(row["state"]))
    return states


def check_workers(spark: Any) -> None:
    """Has a worker say whether it can do its work: whoever writes rows later would be told in Spark's words alone."""
    collect(spark.range(0, 1, 1, 1).mapInArrow(Probe(), COUNTED), Written(), 1)


def setting(spark: Any, name: str, usual: str) -> str:
    """A setting of Spark. Platforms may refuse to tell it; then it is what it usually is."""
    try:
        return str(spark.conf.get(name, usual))
    except Exception as refused:  # Each platform has its own error.
        logger.debug("the setting %s is not told: %s", name, refused)
        return usual


def shuffle_partitions(spark: Any) -> int:
    """Into how many partitions rows are brought, where nothing else is asked for."""
    said = setting(spark, "spark.sql.shuffle.partitions", "")
    # Some platforms say `auto`.
    return int(said) if said.isdecimal() else _USUAL_PARTITIONS


def collected(frame: Any) -> list[Any]:
    """The rows of a DataFrame. What a worker lacks is said in our words."""
    rows: list[Any] = explained(frame.collect)
    return rows


def explained(act: Callable[[], Any]) -> Any:
    """Does what makes Spark work. What a worker lacks is said in our words."""
    from pyspark.errors import PySparkException

    try:
        return act()
    except PySparkException as failed:
        raise _understood(failed) from failed
    except Exception as failed:  # Java's, which older versions of PySpark hand on as they are.
        understood = _understood(failed)
        if understood is failed:
            raise
        raise understood from failed


def _understood(failed: Exception) -> Exception:
    """What a worker said in our words, or lacks; anything else as it is."""
    said = str(failed)
    missing = re.search(r"No module named '(conseq|pyarrow)[.']", said)
    if missing is not None:
        return MissingPackageError(
            f"a worker of the cluster has no {missing[1]}",
            f"install conseq[spark]=={_native.VERSION} on every node, and let PYSPARK_PYTHON (spark.pyspark.python) be the "
            "Python that has it",
        )
    ours = re.search(r"conseq\.errors\.(\w+): (.+(?:\n  --> .+)*)(?:\n  = help: (.+))?", said)
    kind = getattr(errors, ours[1], None) if ours else None
    if ours is None or not (isinstance(kind, type) and issubclass(kind, ConseqError)):
        return failed
    return kind(ours[2], ours[3])
