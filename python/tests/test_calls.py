"""Long calls: threads, progress, Ctrl-C and forks."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

import conseq as cq

RULES = "rule a: A => B  rule b: B => not C  rule c: C in previous => C"


def orders(_=None):
    return cq.Rules.parse(RULES).compile().order


def test_what_is_given_does_not_depend_on_the_threads():
    rules = cq.Rules.parse(RULES)
    assert rules.compile(threads=1).order == rules.compile(threads=3).order == rules.compile().order


@pytest.mark.parametrize("threads", [-1, 5000, 1.5, "2", True])
def test_threads_that_make_no_sense_are_refused(threads):
    with pytest.raises(cq.InputError, match="threads"):
        cq.Rules.parse(RULES).compile(threads=threads)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_works():
    before = orders()
    with multiprocessing.get_context("fork").Pool(2) as children:
        assert children.map_async(orders, range(4)).get(timeout=60) == [before] * 4


def test_a_spawned_child_is_given_plans():
    plan = cq.Rules.parse(RULES).compile()
    with multiprocessing.get_context("spawn").Pool(1) as children:
        assert children.apply_async(order_of, (plan,)).get(timeout=60) == plan.order


def order_of(plan):
    return plan.order


def test_several_threads_of_python_call_at_once():
    found = []
    threads = [threading.Thread(target=lambda: found.append(orders())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert found == [orders()] * 8


def test_progress_is_told_to_tqdm(monkeypatch):
    import types

    told = []

    class Bar:
        n = 0

        def __init__(self, **settings):
            told.append(settings["desc"])

        def update(self, steps):
            self.n += steps

        def close(self):
            told.append("closed")

    fake = types.ModuleType("tqdm.auto")
    fake.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", fake)
    cq.Rules.parse(RULES).compile(progress=True)
    assert told == ["compiling and proving", "closed"]
    told.clear()
    cq.Rules.parse(RULES).compile(progress=False)
    assert told == []


def test_ctrl_c_ends_a_call_soon():
    """Many rules that depend on each other take far longer to prove than anybody waits."""
    program = textwrap.dedent(
        """
        import sys, time, conseq as cq
        rules = cq.Rules.parse("".join(
            f"rule r{i}-{j}: A{i} and A{j} => A{(i * j + 7) % 400} or A{(i + 3 * j) % 400}\\n"
            for i in range(400) for j in range(i)))
        print("ready", flush=True)
        began = time.monotonic()
        try:
            rules.compile()
        except KeyboardInterrupt:
            print("stopped", flush=True)
        """
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "ready\n"
        try:
            child.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            pass
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=60)[0] == "stopped\n"
        assert child.returncode == 0
    finally:
        child.kill()
