"""The layer beside the rest of the package. Skipped as a whole, in one line, where PyTorch is missing."""

from __future__ import annotations

import copy
import pathlib
import pickle
import random
import re

import conseq as cq
import pytest

try:
    import torch
except ImportError:
    pytest.skip("PyTorch is not installed: conseq.torch was not tested", allow_module_level=True)

from conseq.torch import ConstraintLayer, uniforms
from conseq.torch._draws import CODE, RULE, _words, _words_of_host, philox
from conseq.torch.layer import FREE, OFF, ON, SOFT
from torch_worlds import World, compare_rulings, compare_written, host_decide, random_probabilities

ROOT = pathlib.Path(__file__).resolve().parents[2]


def layer_of(text: str, max_visits: int = 5, static: tuple[str, ...] = ()) -> ConstraintLayer:
    rules = cq.Rules.parse(text)
    return ConstraintLayer(rules.compile(max_visits=max_visits))


def parity(codes: int) -> str:
    """Rules that depend on each other too densely for clauses."""
    source = random.Random(1)
    rules = []
    for number in range(codes):
        one, two, three = source.sample(range(codes), 3)
        rules.append(f"rule r{number}: (E{one} <=> E{two}) <=> E{three}")
    return "\n".join(rules)


@pytest.fixture(scope="module")
def lifelong() -> ConstraintLayer:
    return layer_of("rule a: A => B  rule l: B in previous => B  rule x: C => not D  rule s: A and B => D with probability 0.25")


def column(layer: ConstraintLayer, name: str) -> int:
    return layer.codes.index(name)


def visits_of(layer: ConstraintLayer, *records: str) -> torch.Tensor:
    """Records as text: visits apart by bars, codes by blanks."""
    split = [[visit.split() for visit in record.split("|")] for record in records]
    visits = torch.zeros((len(split), max(map(len, split)), layer.width), dtype=torch.bool)
    for number, record in enumerate(split):
        for visit, codes in enumerate(record):
            for code in codes:
                visits[number, visit, column(layer, code)] = True
    return visits


def test_draws_are_the_published_ones() -> None:
    words = philox(tuple(torch.tensor([value]) for value in (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)), 0x299F31D0A4093822)
    assert [int(word) for word in words] == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


def test_a_draw_depends_on_its_key_alone() -> None:
    indices, records = torch.tensor([90, 2, 3]), torch.tensor([7, 1 << 40])
    drawn = uniforms(indices, seed=1 << 50, records=records, visits=torch.tensor([3, 4]))
    alone = uniforms(indices[1:2], seed=1 << 50, records=records[1:], visits=torch.tensor([4]))
    assert torch.equal(drawn[1:2, 1:], alone)
    assert bool(((drawn > 0) & (drawn < 1)).all()) and drawn.unique().numel() == 6


def test_draws_are_the_same_wherever_they_are_worked_out() -> None:
    records, visits = torch.tensor([0, 7, (1 << 48) - 1, 1 << 33]), torch.tensor([0, 3, 65_535, 9])
    for purpose in (CODE, RULE):
        for seed in (0, 1 << 63):
            given = (2, 40, seed, records, visits, purpose)
            assert torch.equal(_words(*given), _words_of_host(*given))


def test_random_plans_are_written_as_the_writer_writes_them() -> None:
    plans = waits = soft = 0
    for seed in range(130):
        plan = World(seed).plan()
        if plan is None:
            continue
        layer = ConstraintLayer(plan)
        compare_written(layer, seed)
        plans, waits, soft = plans + 1, waits + layer._waits, soft + (len(layer.drawing) > 0)
    assert plans > 100 and waits > 50 and soft > 15, (plans, waits, soft)


def test_clauses_that_keep_what_they_found_are_written_so_too() -> None:
    lasting = 0
    for seed in range(2_000):
        world = World(seed)
        if "=> not" not in world.text or "any of" not in world.text:
            continue
        plan = world.plan()
        layer = ConstraintLayer(plan) if plan is not None else None
        if layer is not None and any(wait.between is not None for level in layer.levels for wait in level.waits):
            compare_written(layer, seed, records=40)
            lasting += 1
            if lasting == 8:
                return
    raise AssertionError(f"only {lasting} such plans were found")


def test_rulings_are_those_of_the_reader() -> None:
    found = sum((compare_rulings(ConstraintLayer(plan), seed) for seed in range(130) if (plan := World(seed).plan())), start=_nothing())
    assert min(found[f"ruling {state}"] for state in (OFF, FREE, ON, SOFT)) > 100, found


def _nothing():
    from collections import Counter

    return Counter()


def test_rulings_by_hand(lifelong: ConstraintLayer) -> None:
    visits = visits_of(lifelong, " | A B C | B | END")
    ruling = lifelong.spread(lifelong.ruling(visits))
    state = {name: ruling[0, :, column(lifelong, name)].tolist() for name in lifelong.codes}
    assert state["A"] == [OFF, FREE, FREE, FREE]
    assert state["B"] == [OFF, ON, ON, ON]
    assert state["D"] == [OFF, OFF, FREE, FREE]
    assert state["END"] == [OFF, FREE, FREE, FREE]
    soft = lifelong.ruling(visits_of(lifelong, " | A B"))
    assert soft.soft_columns.tolist() == [column(lifelong, "D")]
    assert lifelong.spread(soft)[0, 1, column(lifelong, "D")] == SOFT and soft.probability[0, 1].tolist() == [0.25]


def test_the_loss_leaves_out_what_rules_decide(lifelong: ConstraintLayer) -> None:
    visits = visits_of(lifelong, " | A B C | B", " | A B")
    logits = torch.zeros(visits.shape, requires_grad=True)
    lengths = torch.tensor([3, 2])
    loss = lifelong.loss(logits, visits, lengths, reduction="none")
    free = lifelong.free(visits, lengths)
    assert torch.equal(loss > 0, free) and not free[1, 2].any()
    assert torch.allclose(loss[free], torch.log(torch.tensor(2.0)))
    real = torch.arange(3) < lengths[:, None]
    assert torch.equal(lifelong.loss(logits, visits, real), lifelong.loss(logits, visits, lengths))
    assert torch.allclose(lifelong.loss(logits, visits, real), torch.log(torch.tensor(2.0)))


@pytest.mark.parametrize("extreme", [0.0, 1e30, float("inf"), float("-inf")])
def test_gradients_are_finite_and_zero_where_rules_decide(lifelong: ConstraintLayer, extreme: float) -> None:
    visits = visits_of(lifelong, " | A B C | B")
    free = lifelong.free(visits)
    logits = torch.where(free, 0.5, torch.full(visits.shape, extreme)).requires_grad_()
    loss = lifelong.loss(logits, visits)
    loss.backward()
    assert bool(torch.isfinite(loss)) and bool(torch.isfinite(logits.grad).all())
    assert torch.equal(logits.grad != 0, free)
    logits.grad = None
    lifelong(logits, visits)[free].sum().backward()
    assert bool(torch.isfinite(logits.grad).all()) and torch.equal(logits.grad != 0, free)


def test_probabilities_after_rules(lifelong: ConstraintLayer) -> None:
    visits = visits_of(lifelong, " | A B | B")
    said = lifelong(torch.zeros(visits.shape), visits)
    at = {name: said[0, 1, column(lifelong, name)].item() for name in lifelong.codes}
    assert at == {"A": 0.5, "B": 1.0, "C": 0.5, "D": 0.25, "END": 0.5}
    assert not said[0, 0].any()


def test_autocast_and_low_precision(lifelong: ConstraintLayer) -> None:
    visits = visits_of(lifelong, " | A B C | B")
    logits = torch.randn(visits.shape, generator=torch.Generator().manual_seed(1)).bfloat16().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = lifelong.loss(logits, visits)
    assert loss.dtype == torch.float32
    assert torch.allclose(loss, lifelong.loss(logits.float(), visits.float()))
    halved = copy.deepcopy(lifelong).half()
    assert torch.equal(halved.ruling(visits).probability, lifelong.ruling(visits).probability)


def test_a_compiled_graph_gives_the_same() -> None:
    layer = layer_of("rule a: A => any of B, C, D  rule l: B in last 2 visits => not C  rule s: E with probability 0.3")
    visits = visits_of(layer, " | A B | B E | END", " | C | A D END")
    logits = torch.randn(visits.shape, generator=torch.Generator().manual_seed(2), requires_grad=True)
    loss = torch.compile(layer.loss, fullgraph=True, backend="aot_eager")
    (gradient,) = torch.autograd.grad(loss(logits, visits), logits)
    (expected,) = torch.autograd.grad(layer.loss(logits, visits), logits)
    assert torch.equal(gradient, expected)
    assert torch.equal(loss(logits, visits), layer.loss(logits, visits))

    def step(history, probabilities, records):
        visit = layer.decide(history, probabilities=probabilities, seed=5, records=records)
        return visit, layer.advance(history, visit)

    compiled, generator = torch.compile(step, fullgraph=True, backend="aot_eager"), torch.Generator().manual_seed(3)
    history, records = layer.begin(64), torch.arange(64)
    for _ in range(3):
        own = random_probabilities(generator, 64, layer.width)
        visit, after = compiled(history, own, records)
        expected_visit, history = step(history, own, records)
        assert torch.equal(visit, expected_visit)
        assert all(torch.equal(one, other) for one, other in zip(after[:3], history[:3]))


def test_a_model_that_looks_at_codes_of_the_visit_is_asked_level_by_level() -> None:
    layer = layer_of("rule a: A => any of B, C, D  rule l: B in last 2 visits => not C  rule x: D => E")
    asked = []

    def model(known: torch.Tensor) -> torch.Tensor:
        """B is sure where A is present; else all codes are a coin's toss, and no record ends."""
        asked.append(known)
        logits = torch.zeros(known.shape)
        logits[:, column(layer, "B")] = torch.where(known[:, column(layer, "A")], 50.0, -50.0)
        logits[:, layer.end] = -50.0
        return logits

    history = layer.advance(layer.begin(200), torch.zeros((200, layer.width)))
    visit = layer.decide(history, logits=model, seed=1, records=range(200))
    assert torch.equal(visit[:, column(layer, "B")], visit[:, column(layer, "A")]) and visit[:, column(layer, "A")].any()
    assert not (visit[:, column(layer, "D")] & ~visit[:, column(layer, "E")]).any()
    assert len(asked) > 2 and not asked[0].any() and all(bool((known <= visit).all()) for known in asked)
    constant = torch.randn((200, layer.width), generator=torch.Generator().manual_seed(1))
    at_once = layer.decide(history, logits=constant, seed=1, records=range(200))
    assert torch.equal(at_once, layer.decide(history, logits=lambda known: constant, seed=1, records=range(200)))


def test_a_plan_with_a_decision_diagram_runs_on_the_host() -> None:
    layer = layer_of(parity(36), max_visits=2)
    assert not layer.on_device and "on the host" in repr(layer)
    generator, history = torch.Generator().manual_seed(4), layer.begin(8)
    before = torch.zeros((8, 0, layer.width), dtype=torch.bool)
    for _ in range(2):
        own = random_probabilities(generator, 8, layer.width)
        visit = layer.decide(history, probabilities=own, seed=1, records=range(8))
        assert torch.equal(visit, host_decide(layer, own, before, 1, list(range(8))))
        before = torch.cat([before, visit[:, None]], 1)
        history = layer.advance(history, visit)
    state = layer.spread(layer.ruling(before))
    assert torch.equal(state == ON, (state == ON) & before) and bool((state == ON).any())
    assert bool(torch.isfinite(layer.loss(torch.zeros(before.shape), before)))


def test_it_is_saved_moved_and_copied(lifelong: ConstraintLayer) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, lifelong.width), lifelong)
    assert not list(lifelong.parameters()) and list(lifelong.buffers())
    state = model.state_dict()
    other = torch.nn.Sequential(torch.nn.Linear(3, lifelong.width), layer_of("rule a: A => B  rule z: C => not D  rule y: A => not D"))
    with pytest.raises(cq.InputError, match="another plan"):
        other.load_state_dict(state)
    again = torch.nn.Sequential(torch.nn.Linear(3, lifelong.width), ConstraintLayer(lifelong.plan))
    again.load_state_dict(state)
    visits = visits_of(lifelong, " | A B C | B")
    for twin in (copy.deepcopy(lifelong), pickle.loads(pickle.dumps(lifelong)), lifelong.to("cpu")):
        assert torch.equal(twin.ruling(visits).state, lifelong.ruling(visits).state)
        assert torch.equal(twin.host_past(visits), lifelong.host_past(visits))


def test_records_of_any_model_break_no_rule() -> None:
    text = """
        static S
        rule a: A => any of B, C  rule l: B in previous => B  rule x: C => not D  rule e: D in past => END
        rule f: S in static => not A  rule o: at most one of B, C, D
    """
    plan = cq.Rules.parse(text).compile(max_visits=6)
    layer = ConstraintLayer(plan)
    weights = torch.randn((layer.width, layer.width), generator=torch.Generator().manual_seed(6))

    def model(visits: torch.Tensor) -> torch.Tensor:
        return (visits.float().sum(1) @ weights).sin() * 3

    visits, lengths = layer.generate(model, range(500), seed=9)
    assert lengths.unique().numel() > 2
    again, _ = layer.generate(model, range(490, 500), seed=9)
    assert torch.equal(again, visits[490:, : again.shape[1]])
    report = plan.audit(cq.Cohort.from_records(as_records(layer, visits, lengths)), referee=True)
    assert not report.found and report.records == 500


def as_records(layer: ConstraintLayer, visits: torch.Tensor, lengths: torch.Tensor) -> list[dict[str, object]]:
    """What the layer wrote, as dictionaries."""
    made = []
    for number, (record, length) in enumerate(zip(visits, lengths.tolist())):
        codes = [[layer.codes[at] for at in visit.nonzero().flatten().tolist() if at != layer.end] for visit in record[:length]]
        made.append({"id": str(number), "static": codes[0], "visits": codes[1:]})
    return made


def corpus() -> list[tuple[str, str]]:
    """The names and rules of cases that have a plan and no vocabulary of their own. (The files are TOML 1.1.)"""
    cases = []
    for path in sorted((ROOT / "corpus").glob("*.toml")):
        for case in path.read_text().split("[[case]]")[1:]:
            name = re.search(r'^name = "(.*)"$', case, re.MULTILINE)
            rules = re.search(r"""^rules = ("{3}|'{3}|"|')(.*?)\1$""", case, re.MULTILINE | re.DOTALL)
            other = re.search(r"^(error|blames|absent|statics|codes|warns) =", case, re.MULTILINE)
            if name and rules and not other and "\\" not in rules[0]:
                cases.append((name[1], rules[2]))
    return cases


def test_the_cases_of_the_corpus() -> None:
    run = 0
    for number, (name, rules) in enumerate(corpus()):
        plan = cq.Rules.parse(rules).compile(max_visits=6)
        try:
            layer = ConstraintLayer(plan)
        except cq.InputError as refused:
            assert "rules about days, counts, ages or values" in str(refused)
            assert re.search(r"\b(AGE|last|ago|since|first visit|times|once)\b|[<>]|between", rules), name
            continue
        compare_written(layer, number, records=6)
        compare_rulings(layer, number, records=6)
        generator = torch.Generator().manual_seed(number)
        draw = lambda so_far, width=layer.width, generator=generator: torch.randn((20, width), generator=generator)
        visits, lengths = layer.generate(draw, range(20), seed=number)
        report = plan.audit(cq.Cohort.from_records(as_records(layer, visits, lengths)), progress=False)
        assert not report.found, name
        run += 1
    assert run > 100, run


def test_what_cannot_be_used_is_refused(lifelong: ConstraintLayer) -> None:
    history, width = lifelong.begin(2), lifelong.width
    fine = torch.full((2, width), 0.5)
    with pytest.raises(cq.InputError, match="logits or by probabilities"):
        lifelong.decide(history, seed=1, records=[0, 1])
    with pytest.raises(cq.InputError, match="for 2 records"):
        lifelong.decide(history, probabilities=fine[:1], seed=1, records=[0, 1])
    with pytest.raises(cq.InputError, match="number every record"):
        lifelong.decide(history, probabilities=fine, seed=1, records=[0])
    for bad in (float("nan"), 1.5, -0.1):
        with pytest.raises(cq.InputError, match="probabilities"):
            lifelong.decide(history, probabilities=torch.full((2, width), bad), seed=1, records=[0, 1])
    with pytest.raises(cq.InputError, match="records x visits x"):
        lifelong.ruling(torch.zeros(2, 3, width - 1))
    with pytest.raises(cq.InputError, match="max_visits="):
        lifelong.ruling(torch.zeros(2, 7, width))
    with pytest.raises(cq.InputError, match="a logit for every code"):
        lifelong.loss(torch.zeros(2, 3, width), torch.zeros(2, 2, width))
    with pytest.raises(cq.InputError, match="reduction"):
        lifelong.loss(torch.zeros(2, 3, width), torch.zeros(2, 3, width), reduction="maximum")
