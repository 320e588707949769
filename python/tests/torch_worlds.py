"""Random rules, and the layer beside the rest of the package on them."""

from __future__ import annotations

import random
from collections import Counter

import conseq as cq
import torch
from conseq.torch import ConstraintLayer
from conseq.torch._host import from_bytes, to_bytes


class World:
    """Random rules over a few codes."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.statics = [f"S{number}" for number in range(self.random.randint(0, 2))]
        self.encounters = [f"E{number}" for number in range(self.random.randint(3, 9))]
        self.max_visits = self.random.randint(1, 5)
        self.soft = self.random.random() < 0.4
        rules = [self.rule() for _ in range(self.random.randint(1, 8))]
        self.text = "\n".join(f"rule r{number}: {rule}" for number, rule in enumerate(rules))

    def plan(self) -> cq.Plan | None:
        """The plan; none if no record obeys the rules."""
        vocabulary = cq.Vocabulary(static=self.statics, encounter=self.encounters)
        try:
            return cq.Rules.parse(self.text).compile(vocabulary, max_visits=self.max_visits)
        except cq.CompileError:
            return None

    def rule(self) -> str:
        choice = self.random.random()
        if self.soft and choice < 0.3:
            probability = self.random.choice([0.1, 0.5, 0.9])
            return f"{self.condition()} => {self.literal()} with probability {probability}"
        if choice < 0.45:
            codes = self.some(2, 5)
            return f"{self.condition()} => any of {', '.join(codes)}"
        if choice < 0.55:
            kind = self.random.choice(["at most one of", "exactly one of"])
            return f"{kind} {', '.join(self.some(2, 4))}"
        if choice < 0.65:
            return f"any of {', '.join(self.some(3, 6))}"
        if choice < 0.8:
            return f"not {self.random.choice(self.encounters)} => not {self.random.choice(self.encounters)}"
        return f"{self.condition()} => {self.literal()}"

    def some(self, least: int, most: int) -> list[str]:
        count = min(self.random.randint(least, most), len(self.encounters))
        return self.random.sample(self.encounters, count)

    def literal(self) -> str:
        code = "END" if self.random.random() < 0.08 else self.random.choice(self.encounters)
        return code if self.random.random() < 0.6 else f"not {code}"

    def condition(self) -> str:
        return " and ".join(self.part() for _ in range(self.random.randint(1, 3)))

    def part(self) -> str:
        sign = "not " if self.random.random() < 0.3 else ""
        if self.statics and self.random.random() < 0.15:
            return f"{sign}{self.random.choice(self.statics)} in static"
        code = self.random.choice(self.encounters)
        if self.random.random() < 0.5:
            return f"{sign}{code}"
        number = self.random.randint(1, 4)
        window = ["previous", "past", f"last {number} visits", f"visit {number}", f"{number} visits ago"]
        return f"{sign}{code} in {self.random.choice(window)}"


def random_probabilities(generator: torch.Generator, records: int, width: int) -> torch.Tensor:
    """Small and large ones; some are 0 or 1."""
    scale = 10.0 ** -torch.randint(0, 3, (records, 1), generator=generator)
    drawn = torch.rand((records, width), generator=generator, dtype=torch.float64) * scale
    sure = torch.rand((records, width), generator=generator)
    return torch.where(sure < 0.05, 0.0, torch.where(sure > 0.95, 1.0, drawn))


def host_decide(layer: ConstraintLayer, own: torch.Tensor, before: torch.Tensor, seed: int, records: list[int]) -> torch.Tensor:
    """The next visits as the rest of the package decides them."""
    decided = layer._native().decide(to_bytes(own.to(torch.float64)), to_bytes(before.to(torch.uint8)), seed, records)
    return from_bytes(decided, torch.uint8, own.shape).bool()


def compare_written(layer: ConstraintLayer, seed: int, records: int = 12) -> Counter[str]:
    """Writes records by the layer and by the rest of the package; every visit must be the same."""
    generator, device = torch.Generator().manual_seed(seed), layer.positions.device
    numbers = [seed * 1_000_003 + number for number in range(records)]
    history = layer.begin(records)
    before = torch.zeros((records, 0, layer.width), dtype=torch.bool)
    ended = torch.zeros(records, dtype=torch.bool)
    counted: Counter[str] = Counter()
    while before.shape[1] <= layer.max_visits and not ended.all():
        own = random_probabilities(generator, records, layer.width)
        visit = layer.decide(history, probabilities=own.to(device), seed=seed, records=numbers).cpu()
        expected = host_decide(layer, own, before, seed, numbers)
        assert torch.equal(visit[~ended], expected[~ended]), (seed, before.shape[1])
        counted["visits"] += int((~ended).sum())
        counted["codes"] += int(visit[~ended].sum())
        visit &= ~ended[:, None]
        before = torch.cat([before, visit[:, None]], 1)
        history = layer.advance(history, visit.to(device))
        ended |= visit[:, layer.end]
    assert ended.all()
    return counted


def compare_rulings(layer: ConstraintLayer, seed: int, records: int = 12) -> Counter[str]:
    """What rules say of random visits, valid or not, by the layer and by the rest of the package."""
    generator = torch.Generator().manual_seed(seed)
    length = layer.max_visits + 1
    density = torch.tensor([0.1, 0.3, 0.5, 0.8])[torch.randint(0, 4, (records, 1, 1), generator=generator)]
    visits = torch.rand((records, length, layer.width), generator=generator) < density
    encounter = torch.arange(length)[:, None] > 0
    visits &= encounter != layer.statics.cpu()
    lengths = torch.randint(2, length + 1, (records,), generator=generator) if length > 1 else torch.ones(records)
    last = torch.arange(length) == lengths[:, None] - 1
    visits[:, :, layer.end] = last
    visits = visits.to(layer.positions.device)
    ruling, expected = layer.ruling(visits), layer._host_ruling(visits)
    real = (torch.arange(length) < lengths[:, None]).to(visits.device)
    state = layer.spread(ruling)
    assert torch.equal(state[real], layer.spread(expected)[real]), seed
    assert torch.equal(ruling.probability[real], expected.probability[real]), seed
    past = layer._table(visits)[len(layer.read_columns) :][: len(layer.past)].movedim(0, -1)
    assert torch.equal(past[real], layer.host_past(visits)[real]), seed
    states = Counter(state[real].flatten().tolist())
    return Counter({f"ruling {state}": count for state, count in states.items()})
