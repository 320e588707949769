"""What the largest and the oddest cohorts take: memory, and what the program says.

`python3 studies/limits.py PROGRAM [ROWS ...]` makes cohorts up, trains one epoch on each with the default
network, generates from it where it trained, and prints a row of a table for each. PROGRAM is the release
build of `consequence`. ROWS choose by name.
"""

import json
import os
import random
import sys
import tempfile


def records(count, codes, visits, codes_a_visit, seed):
    """Records whose codes are drawn by a power law, as JSON lines."""
    draw = random.Random(seed)
    weights = [1 / (at + 10) for at in range(codes)]
    pool = draw.choices(range(codes), weights, k=count * visits * codes_a_visit)
    at = 0
    for number in range(count):
        made = []
        for _ in range(draw.randint(1, 2 * visits - 1)):
            size = draw.randint(1, 2 * codes_a_visit - 1)
            made.append(sorted({f"C{pool[(at + k) % len(pool)]}" for k in range(size)}))
            at += size
        yield {"id": str(number), "static": [draw.choice(["SEX//F", "SEX//M"])], "visits": made}


def claims(name):
    """A cohort of the name, as lines."""
    if name == "9,384 codes, 30,000 records":
        return records(30_000, 9_384, 3, 8, 1)
    if name == "200,000 codes":
        # Every code at least once, so that all of them are in the vocabulary.
        spread = [
            {"id": f"s{at}", "static": [], "visits": [[f"C{code}" for code in range(at, at + 100)]]}
            for at in range(0, 200_000, 100)
        ]
        return spread
    if name == "one record":
        return records(1, 5, 2, 2, 1)
    if name == "records of one visit":
        return ({**one, "visits": one["visits"][:1]} for one in records(500, 50, 2, 3, 1))
    if name == "a code in every visit":
        return (
            {**one, "visits": [["EVERY", *visit] for visit in one["visits"]]}
            for one in records(500, 50, 2, 3, 1)
        )
    if name == "a code in none":
        return records(500, 50, 2, 3, 1)
    raise SystemExit(f"no cohort is called {name}")


NAMES = [
    "9,384 codes, 30,000 records",
    "200,000 codes",
    "one record",
    "records of one visit",
    "a code in every visit",
    "a code in none",
]


def run(arguments):
    """What a command says last, its exit status, its seconds, and the most memory it held, in MB."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(write, 2)
        os.dup2(write, 1)
        os.execv(arguments[0], arguments)
    os.close(write)
    with os.fdopen(read) as output:
        said = output.read()
    _, status, used = os.wait4(child, 0)
    return said, os.waitstatus_to_exitcode(status), used.ru_maxrss / 1024


def main():
    program = os.path.abspath(sys.argv[1])
    print("| cohort | train | most memory | generate |")
    print("|---|---|---|---|")
    for name in sys.argv[2:] or NAMES:
        with tempfile.TemporaryDirectory() as folder:
            cohort = os.path.join(folder, "cohort.jsonl")
            with open(cohort, "w") as file:
                for one in claims(name):
                    file.write(json.dumps(one) + "\n")
            model = os.path.join(folder, "model")
            train = [program, "train", cohort, "--out", model, "--epochs", "1"]
            if name == "a code in none":
                codes = os.path.join(folder, "codes.json")
                known = [f"C{at}" for at in range(60)] + ["NEVER"]
                with open(codes, "w") as file:
                    json.dump({"static": ["SEX//F", "SEX//M"], "encounter": known}, file)
                train += ["--vocabulary", codes]
            said, status, memory = run(train)
            error = [line for line in said.splitlines() if line.startswith(("error", "  = help"))]
            trained = " ".join(error) if status else "trains"
            generated = ""
            if status == 0:
                out = os.path.join(folder, "new.jsonl")
                said, status, _ = run([program, "generate", model, "--records", "500", "--out", out])
                generated = "500 records" if status == 0 else said.strip().splitlines()[-1]
            print(f"| {name} | {trained} | {memory:,.0f} MB | {generated} |", flush=True)


if __name__ == "__main__":
    main()
