"""Which versions are at work, for reports of trouble."""

from __future__ import annotations

import sys

_OPTIONAL = ["pyarrow", "pandas", "polars", "duckdb", "torch", "pyspark", "tqdm"]


def versions() -> dict[str, str | None]:
    """The versions of this package, of Python, and of the packages that it works with; ``None``: not installed."""
    import platform
    from importlib import metadata

    from . import _native

    found: dict[str, str | None] = {
        "conseq": _native.VERSION,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    for name in _OPTIONAL:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def show_versions() -> None:
    """Prints which versions are at work, for reports of trouble.

    >>> import conseq as cq
    >>> cq.show_versions()  # doctest: +ELLIPSIS
    conseq    ...
    python    ...
    """
    for name, version in versions().items():
        sys.stdout.write(f"{name:<9} {version or 'not installed'}\n")
