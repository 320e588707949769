#!/usr/bin/env python3
"""What is claimed of the Python package, measured.

    python_package.py wheels FOLDER     sizes, tags and symbols of the wheels
    python_package.py sources FOLDER    the archive of sources builds, and what it gives runs
    python_package.py install FOLDER    the wheel in a fresh environment of every Python at hand
    python_package.py start FOLDER      how long `import conseq` takes beside `import json`
    python_package.py audit FOLDER      a million visits audited from a frame, beside the command line
    python_package.py copies FOLDER     what memory a table takes on its way in

`install` looks for Pythons in ~/.pyenv/versions and on the path. Exits 1 if something does not hold.
"""

import argparse
import json
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile

MOST_BYTES = 10 * 1000 * 1000
MOST_LATE = 0.100
STARTS = 20
#: What the C library of manylinux2014 has.
NEWEST_GLIBC = (2, 17)

SMOKE = """
import conseq as cq
cohort = cq.Cohort.simulate("inpatient", patients=200, seed=3)
rules = cohort.truth()
plan = rules.compile(cohort)
assert plan.proof["statements"] > 0 and not plan.audit(cohort).found
new = cq.Model.train(cohort, rules, generator="markov").sample(50)
assert len(new) == 50 and not plan.audit(new).found
print(len(rules))
"""


def fail(text):
    print(f"FAILED: {text}", file=sys.stderr)
    sys.exit(1)


def run(*command, **settings):
    return subprocess.run([str(word) for word in command], check=True, text=True, capture_output=True, **settings).stdout


def wheels_of(folder):
    found = sorted(pathlib.Path(folder).glob("conseq-*.whl"))
    if not found:
        fail(f"there is no wheel in {folder}")
    return found


def native(folder):
    """The wheel for this machine."""
    machine = platform.machine()
    return next(wheel for wheel in wheels_of(folder) if machine in wheel.name or "linux_" not in wheel.name)


def look(wheel, folder):
    """Size, tag, what is in it, and the newest symbol of the C library that it asks for."""
    size = wheel.stat().st_size
    if size > MOST_BYTES:
        fail(f"{wheel.name} has {size:,} bytes")
    if "cp310-abi3" not in wheel.name:
        fail(f"{wheel.name} is not for every Python from 3.10 on")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        library = next(name for name in names if name.endswith(".abi3.so"))
        path = pathlib.Path(archive.extract(library, folder))
        metadata = archive.read(next(name for name in names if name.endswith("METADATA"))).decode()
    required = [line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra ==" not in line]
    if required:
        fail(f"{wheel.name} requires {required}")
    for wanted in ("conseq/__init__.py", "conseq/_native.pyi", "conseq/py.typed"):
        if wanted not in names:
            fail(f"{wheel.name} lacks {wanted}")
    # The names of versions are in the table of strings, whatever machine the library is for.
    versions = {tuple(map(int, found.split(b"."))) for found in re.findall(rb"GLIBC_(\d+\.\d+(?:\.\d+)?)\0", path.read_bytes())}
    newest = max(versions, default=(0,))
    if newest > NEWEST_GLIBC and "manylinux2014" in wheel.name:
        fail(f"{wheel.name} asks for a C library of version {newest}")
    if b"PyInit__native\0" not in path.read_bytes():
        fail(f"{wheel.name} has no PyInit__native")
    kind = path.read_bytes()[18:20]
    machine = {b"\x3e\x00": "x86_64", b"\xb7\x00": "aarch64"}.get(kind, "another machine")
    if machine not in wheel.name:
        fail(f"{wheel.name} is for {machine}")
    run_here = "run here" if machine == platform.machine() else "built and looked at, not run here"
    print(f"{wheel.name}: {size / 1e6:.2f} MB, for {machine} ({run_here}), newest symbol GLIBC_{'.'.join(map(str, newest))}")


def wheels(folder):
    for wheel in wheels_of(folder):
        with tempfile.TemporaryDirectory() as scratch:
            look(wheel, scratch)
    archive = archive_of(folder)
    print(f"{archive.name}: {archive.stat().st_size / 1e6:.2f} MB")


def archive_of(folder):
    found = sorted(pathlib.Path(folder).glob("conseq-*.tar.gz"))
    if len(found) != 1:
        fail(f"{len(found)} archives of sources are in {folder}")
    return found[0]


def sources(folder):
    """A wheel from the archive alone, by pip in a fresh environment and far from this repository."""
    archive = archive_of(folder).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        run(sys.executable, "-m", "venv", f"{scratch}/builder")
        began = time.perf_counter()
        builder = pathlib.Path(scratch, "builder/bin/python")
        made = subprocess.run(
            [builder, "-m", "pip", "wheel", "--no-deps", "--disable-pip-version-check", "--wheel-dir", scratch, archive],
            text=True, capture_output=True, cwd=scratch,
        )
        if made.returncode != 0:
            fail(f"{archive.name} does not build:\n{made.stdout}{made.stderr}")
        took = time.perf_counter() - began
        wheel = wheels_of(scratch)[0]
        fresh = environment(sys.executable, wheel, f"{scratch}/fresh")
        rules = run(fresh, "-c", SMOKE, cwd=scratch).strip()
        size = wheel.stat().st_size
    print(f"{archive.name}: built in {took:.0f} s into {wheel.name} of {size / 1e6:.2f} MB, {rules} rules kept")


def pythons():
    found = {}
    places = [*pathlib.Path.home().glob(".pyenv/versions/*/bin/python3"), *map(pathlib.Path, filter(None, [shutil.which("python3")]))]
    for path in places:
        try:
            version = run(path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
        except (OSError, subprocess.CalledProcessError):
            continue
        if tuple(map(int, version.split("."))) >= (3, 10):
            found.setdefault(version, path)
    return dict(sorted(found.items(), key=lambda item: tuple(map(int, item[0].split(".")))))


def environment(python, wheel, folder):
    run(python, "-m", "venv", folder)
    fresh = pathlib.Path(folder, "bin/python")
    run(fresh, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", wheel)
    return fresh


def install(folder):
    wheel = native(folder)
    for version, python in pythons().items():
        with tempfile.TemporaryDirectory() as scratch:
            fresh = environment(python, wheel, scratch)
            rules = run(fresh, "-c", SMOKE).strip()
            told = run(pathlib.Path(scratch, "bin/conseq"), "--version").strip()
        print(f"Python {version}: installed without any other package, {rules} rules kept, {told}")


def start(folder):
    with tempfile.TemporaryDirectory() as scratch:
        fresh = environment(sys.executable, native(folder), scratch)
        timed = "import time; began = time.perf_counter(); import {0}; print(time.perf_counter() - began)"
        medians = {}
        for name in ("json", "conseq"):
            took = [float(run(fresh, "-c", timed.format(name))) for _ in range(STARTS + 1)]
            medians[name] = statistics.median(took[1:])
    late = medians["conseq"] - medians["json"]
    print(json.dumps({name: round(1000 * took, 1) for name, took in medians.items()}), "ms, medians of", STARTS)
    if late > MOST_LATE:
        fail(f"import conseq takes {1000 * late:.0f} ms more than import json")


FROM_FRAME = """
import sys, time
import conseq as cq, {imports}
rules = cq.Rules.load(sys.argv[1] + "/truth.rules")
frame = {read}
began = time.perf_counter()
{convert}
converted = time.perf_counter()
report = cq.audit(frame, rules, no_own_rules=True, allow_unknown=True)
print(converted - began, time.perf_counter() - converted, report.encounters, report.valid_records)
"""
#: What is imported, how a frame is read, and what only turns it into Arrow's form.
READERS = {
    "polars": ("polars", "polars.read_parquet(sys.argv[1] + '/data/*.parquet')", ""),
    "pyarrow": ("pyarrow.dataset", "pyarrow.dataset.dataset(sys.argv[1] + '/data').to_table()", ""),
    "pandas": ("pandas, pyarrow", "pandas.read_parquet(sys.argv[1] + '/data')", "pyarrow.Table.from_pandas(frame)"),
    "pandas, dtype_backend=pyarrow": (
        "pandas, pyarrow",
        "pandas.read_parquet(sys.argv[1] + '/data', dtype_backend='pyarrow')",
        "pyarrow.Table.from_pandas(frame)",
    ),
}
#: How much longer than the command line an audit from a frame may take, Arrow's own conversion aside.
MOST_SLOWER = 1.2
ROUNDS = 5


def audit(folder):
    """The time from a frame in memory to the report, beside that of the command line from files; in turn, so that
    whatever else the machine does falls on all of them."""
    with tempfile.TemporaryDirectory() as scratch:
        fresh = environment(sys.executable, native(folder), f"{scratch}/env")
        run(fresh, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "polars", "pyarrow", "pandas")
        program, cohort = pathlib.Path(scratch, "env/bin/conseq"), f"{scratch}/cohort"
        run(program, "simulate", "inpatient", "--patients", "820k", "--out", cohort)
        command = [program, "audit", cohort, "--rules", f"{cohort}/truth.rules", "--no-own-rules", "--json"]
        theirs, mine = [], {name: [] for name in READERS}
        for _ in range(ROUNDS):
            began = time.perf_counter()
            told = json.loads(run(*command))
            theirs.append(time.perf_counter() - began)
            for name, (imports, read, convert) in READERS.items():
                text = FROM_FRAME.format(imports=imports, read=read, convert=convert)
                converted, took, encounters, valid = run(fresh, "-c", text, cohort).split()
                if (int(encounters), int(valid)) != (told["encounters"], told["valid_records"]):
                    fail(f"an audit from {name} finds something else than the command line")
                mine[name].append((float(converted) if convert else 0.0, float(took)))
        limit = MOST_SLOWER * statistics.median(theirs)
        print(f"command line: {told['encounters']:,} encounters, {statistics.median(theirs):.2f} s from files")
        slow = []
        for name, took in mine.items():
            converted, whole = (statistics.median(column) for column in zip(*took))
            rest = whole - converted
            aside = f", of it {converted:.2f} s Arrow's own conversion" if READERS[name][2] else ""
            print(f"{name}: {whole:.2f} s from a frame{aside} ({rest / statistics.median(theirs):.2f} times)")
            if rest > limit:
                slow.append(name)
        if slow:
            fail(f"an audit takes more than {limit:.2f} s from {'; '.join(slow)}")


COPIED = """
import resource, sys
import numpy, {library}
import conseq as cq
from conseq import _sources
rows = 20_000_000
columns = dict(subject_id=numpy.zeros(rows, "int64"), time=numpy.zeros(rows, "datetime64[us]"), large=numpy.ones(rows))
frame = {make}
few = frame.{head}
cq.Cohort.from_table(few)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
stream = _sources._in_chunks(frame).__arrow_c_stream__()
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) * 1024, rows * 24)
"""
POLARS = "polars.DataFrame(columns).with_columns(code=polars.col('subject_id').cast(polars.String))"
TABLES = {
    "polars": (POLARS, "head(10)"),
    "polars, in chunks": (f"(half := {POLARS}[:rows // 2], polars.concat([half, half], rechunk=False))[1]", "head(10)"),
    "pyarrow": ("pyarrow.table({**columns, 'code': pyarrow.repeat('A', rows)})", "slice(0, 10)"),
}


def copies(folder):
    """What memory grows by when a table is handed over; a copy would take as much again."""
    with tempfile.TemporaryDirectory() as scratch:
        fresh = environment(sys.executable, native(folder), scratch)
        run(fresh, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "polars", "pyarrow", "numpy")
        for name, (make, head) in TABLES.items():
            text = COPIED.format(library=name.split(",")[0], make=make, head=head)
            grown, whole = map(int, run(fresh, "-c", text).split())
            print(f"{name}: {grown / 1e6:.0f} MB for a table of {whole / 1e6:.0f} MB")
            if grown > whole / 4:
                fail(f"a table of {name} is copied")


CLAIMS = {"wheels": wheels, "sources": sources, "install": install, "start": start, "audit": audit, "copies": copies}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=CLAIMS)
    parser.add_argument("folder")
    given = parser.parse_args()
    CLAIMS[given.what](given.folder)


if __name__ == "__main__":
    main()
