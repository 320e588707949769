#!/usr/bin/env python3
"""Checks the licences of all dependencies, that none is there in two versions, and that our own crates
depend on each other downwards only, tests included.

Reads what `cargo metadata` says of the locked dependencies. Exits 1 with a line for each fault.
"""

import json
import re
import subprocess
import sys

# Licences that a program under MIT OR Apache-2.0 can be built with.
ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}

# Crates that may be there in several versions, and why.
SEVERAL_VERSIONS = {
    "bit-vec": "the SAT solver asks for 0.5, the property tests for a newer one; both are small",
    "getrandom": "arrow hashes with ahash, which asks for 0.3, and for 0.2 where it is built for the web",
    "hashbrown": "arrow asks for 0.17, safetensors for 0.16; neither is ours to choose",
    "r-efi": "comes with getrandom, for systems that this program is never built for",
    "syn": "arrow's half and zerocopy derive with 2, serde with a newer one; used at build time alone",
}

# Our crates, from the bottom up: one knows those of its own row and of the rows below.
ROWS = [
    ["record", "prng", "store", "feedback"],
    ["rules", "engine", "details", "tally"],
    ["tables", "enforce", "referee"],
    ["import"],
    ["model", "network"],
    ["mine", "simulate", "packs"],
    ["evaluate", "train", "sample"],
    ["report", "baselines"],
    ["pipeline"],
    ["consequence"],
    ["comparison"],
    ["cli"],
    ["python"],
]
ROOMS = {name: row for row, names in enumerate(ROWS) for name in names}

# What no crate is built with; tests may use the first.
FOR_TESTS = "testing"
APART = {FOR_TESTS, "fuzz", "studies", "benches"}


class Expression:
    """An SPDX expression, read by recursive descent: WITH binds tightest, then AND, then OR."""

    def __init__(self, text):
        # Older crates write `MIT/Apache-2.0` and mean OR.
        self.words = re.findall(r"[()]|[^\s()]+", text.replace("/", " OR "))
        self.position = 0

    def peek(self):
        return self.words[self.position] if self.position < len(self.words) else None

    def take(self):
        word = self.peek()
        if word is None:
            raise ValueError("it ends too early")
        self.position += 1
        return word

    def allowed(self):
        """Whether some choice of licences satisfies it; raises ValueError if it makes no sense."""
        verdict = self.either()
        if self.peek() is not None:
            raise ValueError(f"unexpected `{self.peek()}`")
        return verdict

    def either(self):
        verdict = self.both()
        while self.peek() == "OR":
            self.take()
            other = self.both()
            verdict = verdict or other
        return verdict

    def both(self):
        verdict = self.single()
        while self.peek() == "AND":
            self.take()
            other = self.single()
            verdict = verdict and other
        return verdict

    def single(self):
        word = self.take()
        if word == "(":
            verdict = self.either()
            if self.take() != ")":
                raise ValueError("a parenthesis is not closed")
            return verdict
        if word in (")", "AND", "OR", "WITH"):
            raise ValueError(f"unexpected `{word}`")
        if self.peek() == "WITH":
            self.take()
            word = f"{word} WITH {self.take()}"
        return word in ALLOWED


def licence_faults(packages):
    """A line for each package whose licence is missing, unreadable or not allowed."""
    for package in packages:
        name = f"{package['name']} {package['version']}"
        licence = package.get("license")
        if not licence:
            yield f"{name}: no licence is named"
            continue
        try:
            if not Expression(licence).allowed():
                yield f"{name}: `{licence}` is not among the allowed licences"
        except ValueError as fault:
            yield f"{name}: `{licence}` cannot be read: {fault}"


def version_faults(packages):
    """A line for each crate in several versions, and for each exception that has no use."""
    versions = {}
    for package in packages:
        versions.setdefault(package["name"], set()).add(package["version"])
    for name, found in sorted(versions.items()):
        if len(found) > 1 and name not in SEVERAL_VERSIONS:
            yield f"{name}: there in versions {', '.join(sorted(found))}"
    for name in sorted(SEVERAL_VERSIONS):
        if len(versions.get(name, ())) < 2:
            yield f"{name}: the exception for several versions is no longer needed"


def arrows(packages):
    """For each of our crates, those of ours that it is built with, and those that only its tests are."""
    short = {package["name"]: package["name"].removeprefix("consequence-") for package in packages}
    ours = {name for name in short if name.startswith("consequence")}
    graph = {}
    for package in packages:
        if package["name"] in ours:
            built, tested = graph.setdefault(short[package["name"]], (set(), set()))
            for dependency in package["dependencies"]:
                if dependency["name"] in ours:
                    kind = tested if dependency["kind"] == "dev" else built
                    kind.add(short[dependency["name"]])
    return graph


def arrow_faults(graph):
    """A line for each arrow that does not go down, and for a cycle of arrows, those of tests included."""
    for name, (built, tested) in sorted(graph.items()):
        if name not in ROOMS and name not in APART:
            yield f"{name}: it has no room in tools/check_dependencies.py"
        if name not in ROOMS:
            continue
        for other in sorted(built):
            if ROOMS.get(other, len(ROWS)) > ROOMS[name]:
                yield f"{name}: it is built with {other}, which is not below it"
        for other in sorted(tested & APART - {FOR_TESTS}):
            yield f"{name}: its tests are built with {other}"
    found = cycle({name: built | tested for name, (built, tested) in graph.items()})
    if found:
        yield f"a cycle of dependencies, those of tests included: {' -> '.join(found)}"


def cycle(graph):
    """A cycle of a graph, its first member again at its end; nothing if there is none."""
    done = set()

    def walk(name, path):
        if name in path:
            return path[path.index(name) :] + [name]
        if name in done:
            return []
        for other in sorted(graph.get(name, ())):
            found = walk(other, path + [name])
            if found:
                return found
        done.add(name)
        return []

    return next((found for name in sorted(graph) if (found := walk(name, []))), [])


def main():
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        print(f"cargo metadata failed:\n{answer.stderr}", file=sys.stderr)
        return 2
    packages = json.loads(answer.stdout)["packages"]
    faults = [
        *licence_faults(packages),
        *version_faults(packages),
        *arrow_faults(arrows(packages)),
    ]
    for fault in faults:
        print(fault, file=sys.stderr)
    if faults:
        return 1
    print(f"dependencies: {len(packages)} packages, licences allowed, no doubles, no arrow upwards")
    return 0


if __name__ == "__main__":
    sys.exit(main())
