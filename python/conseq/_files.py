"""What pickles hold of cohorts and models: the files that they are saved as."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Made = TypeVar("Made")


def packed(save: Callable[[str], object]) -> dict[str, bytes]:
    """The files that something writes to a folder, by their names."""
    import pathlib
    import tempfile

    with tempfile.TemporaryDirectory(prefix="conseq-") as scratch:
        folder = pathlib.Path(scratch, "saved")
        save(str(folder))
        files = [path for path in folder.rglob("*") if path.is_file()]
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def unpacked(files: dict[str, bytes], load: Callable[[str], Made]) -> Made:
    """What is read from those files again."""
    import pathlib
    import tempfile

    with tempfile.TemporaryDirectory(prefix="conseq-") as scratch:
        folder = pathlib.Path(scratch, "saved")
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return load(str(folder))
