"""Conjunctions of a plan as tensors, and when they hold.

Values are rows, and records or visits are columns, so that reading a value is copying a row. A table of *literals* has
the values, then their negations, then one row that is true.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

#: How many conjunctions are looked at together: what bounds the memory of a pass.
BLOCK = 256


class Conjunction(NamedTuple):
    """Conditions, each as the row of a literal; the visits where it can hold; and what it is for."""

    rows: Sequence[int]
    first: int
    last: int
    target: int


def literals(values: Tensor) -> Tensor:
    """The table of literals of boolean values."""
    return torch.cat([values, ~values, values.new_ones((1, *values.shape[1:]))])


def index(numbers: Iterable[int]) -> Tensor:
    """Numbers of rows as a tensor."""
    return torch.tensor(list(numbers), dtype=torch.long)


class _Block(torch.nn.Module):
    """Some conjunctions, and for each of their targets whether any of those for it holds."""

    def __init__(self, conjunctions: list[Conjunction], truth: int) -> None:
        super().__init__()
        # The longest first: those with a second condition are then the first ones, and so on.
        longest = sorted(conjunctions, key=lambda one: -len(one.rows))
        depth = max(1, len(longest[0].rows))
        for place in range(depth):
            having = [one for one in longest if len(one.rows) > place] if place else longest
            rows = [one.rows[place] if one.rows else truth for one in having]
            self.register_buffer(f"rows{place}", index(rows), persistent=False)
        self.depth = depth
        self.register_buffer("first", index(one.first for one in longest), persistent=False)
        self.register_buffer("last", index(one.last for one in longest), persistent=False)
        # Conjunctions for one target are joined in pairs, again and again, until one is left.
        groups: dict[int, list[int]] = {}
        for number, one in enumerate(longest):
            groups.setdefault(one.target, []).append(number)
        left = sorted(groups.items())
        self.targets = [target for target, _ in left]
        lists = [numbers for _, numbers in left]
        self.rounds = 0
        while lists != [[number] for number in range(len(lists))]:
            pairs, joined, count = [], [], 0
            for numbers in lists:
                both = [(numbers[at], numbers[min(at + 1, len(numbers) - 1)]) for at in range(0, len(numbers), 2)]
                joined.append(list(range(count, count + len(both))))
                pairs, count = pairs + both, count + len(both)
            self.register_buffer(f"left{self.rounds}", index(one for one, _ in pairs), persistent=False)
            self.register_buffer(f"right{self.rounds}", index(other for _, other in pairs), persistent=False)
            lists, self.rounds = joined, self.rounds + 1
        self.order = longest

    def holding(self, table: Tensor, visits: Tensor) -> Tensor:
        """Whether each conjunction holds, in the order of ``self.order``; ``visits`` numbers the columns."""
        holds = table[self.rows0]
        for place in range(1, self.depth):
            rows = getattr(self, f"rows{place}")
            holds[: len(rows)] &= table[rows]
        shape = (-1,) + (1,) * (holds.dim() - 1)
        holds &= (self.first.view(shape) <= visits) & (visits <= self.last.view(shape))
        return holds

    def folded(self, found: Tensor) -> Tensor:
        """The largest of what was found for each target, in the order of ``self.targets``."""
        for number in range(self.rounds):
            left, right = found[getattr(self, f"left{number}")], found[getattr(self, f"right{number}")]
            found = torch.maximum(left, right)
        return found


class Conjunctions(torch.nn.Module):
    """Conjunctions, each for a target, of which several may be for the same one.

    ``truth`` is the row of the literals that is true. Targets are numbered as in ``targets``, which is sorted.
    """

    def __init__(self, conjunctions: Iterable[Conjunction], truth: int) -> None:
        super().__init__()
        ordered = sorted(conjunctions, key=lambda one: one.target)
        self.targets = sorted({one.target for one in ordered})
        number = {target: place for place, target in enumerate(self.targets)}
        blocks = [ordered[start : start + BLOCK] for start in range(0, len(ordered), BLOCK)]
        self.blocks = torch.nn.ModuleList(_Block(block, truth) for block in blocks)
        for at, block in enumerate(self.blocks):
            places = index(number[target] for target in block.targets)
            self.register_buffer(f"places{at}", places, persistent=False)

    def __len__(self) -> int:
        return len(self.targets)

    def any(self, table: Tensor, visits: Tensor) -> Tensor:
        """For each target, whether a conjunction for it holds: a row of booleans each."""
        found = torch.zeros((len(self.targets), *table.shape[1:]), dtype=torch.bool, device=table.device)
        for at, block in enumerate(self.blocks):
            places = getattr(self, f"places{at}")
            found[places] |= block.folded(block.holding(table, visits))
        return found


class Lasts(torch.nn.Module):
    """Numbered conjunctions, each for a target: which of those for a target that hold is the last."""

    def __init__(self, conjunctions: Iterable[Conjunction], numbers: Sequence[int], truth: int) -> None:
        super().__init__()
        numbered = sorted(zip(numbers, conjunctions), key=lambda pair: (pair[1].target, pair[0]))
        self.targets = sorted({one.target for _, one in numbered})
        place = {target: at for at, target in enumerate(self.targets)}
        blocks = [numbered[start : start + BLOCK] for start in range(0, len(numbered), BLOCK)]
        self.blocks = torch.nn.ModuleList(_Block([one for _, one in block], truth) for block in blocks)
        for at, (block, own) in enumerate(zip(self.blocks, blocks)):
            number = {id(one): number for number, one in own}
            numbers_here = torch.tensor([number[id(one)] + 1 for one in block.order], dtype=torch.int32)
            self.register_buffer(f"numbers{at}", numbers_here, persistent=False)
            self.register_buffer(f"places{at}", index(place[target] for target in block.targets), persistent=False)

    def __len__(self) -> int:
        return len(self.targets)

    def last(self, table: Tensor, visits: Tensor) -> Tensor:
        """For each target the number of the last one that holds plus one; 0 if none does."""
        found = torch.zeros((len(self.targets), *table.shape[1:]), dtype=torch.int32, device=table.device)
        for at, block in enumerate(self.blocks):
            numbers = getattr(self, f"numbers{at}").view((-1,) + (1,) * (table.dim() - 1))
            numbered = block.folded(block.holding(table, visits) * numbers)
            places = getattr(self, f"places{at}")
            found[places] = torch.maximum(found[places], numbered)
        return found
