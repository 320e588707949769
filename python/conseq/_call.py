"""How long calls are made: threads, progress and messages."""

from __future__ import annotations

import logging
import sys
from typing import Any, NamedTuple

logger = logging.getLogger("conseq")


class Call(NamedTuple):
    """What the native half is told about a call."""

    threads: int | None
    watcher: Watcher


class Watcher:
    """Hears how far work has come. Called a few times a second, on the thread that waits."""

    def __init__(self, bars: Any) -> None:
        self._bars = bars
        self._bar: Any = None

    def begin(self, task: str, total: int | None) -> None:
        logger.debug("%s", task)
        self.finish()
        if self._bars is not None:
            self._bar = self._bars(desc=task, total=total, unit="", unit_scale=True, leave=False, delay=0.5)

    def move_to(self, position: int) -> None:
        if self._bar is not None and position > self._bar.n:
            self._bar.update(position - self._bar.n)

    def describe(self, text: str) -> None:
        if self._bar is not None:
            self._bar.set_description(text)

    def stage(self, text: str) -> None:
        logger.info("%s", text.rstrip())

    def note(self, text: str) -> None:
        level = logging.WARNING if text.startswith("warning") else logging.INFO
        logger.log(level, "%s", text.removeprefix("warning: ").rstrip())

    def finish(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def settings(threads: int | None, progress: bool | None) -> Call:
    """The settings of a call, as its caller gave them."""
    from .errors import InputError

    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or not 0 <= threads <= 4096):
        raise InputError(f"threads={threads!r} is no number of threads", "give 0 for one a core, or 1 to 4096")
    return Call(threads, Watcher(_bars(progress)))


def warn(warnings: list[str]) -> None:
    """Hands on what looked odd."""
    for text in warnings:
        logger.warning("%s", text.removeprefix("warning: ").rstrip())


def _bars(progress: bool | None) -> Any:
    """What makes progress bars: tqdm where it is installed and wanted."""
    if progress is False or (progress is None and not _is_watched()):
        return None
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        if progress:
            logger.info("tqdm is not installed, so there is no progress bar")
        return None
    return tqdm


def _is_watched() -> bool:
    """Whether a person is likely to look: at a terminal, or in a notebook."""
    if "ipykernel" in sys.modules:
        return True
    return sys.stderr is not None and sys.stderr.isatty()
