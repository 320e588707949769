"""Codes that can be decided at once, given all those of lower levels.

Rules force a code, or it is drawn. Where it may meet a clause that is due, it is drawn with its probability *given that
the clause is met*: ``p / (p + (1 - p) a)``, where ``a`` is the probability that one of the clause's later codes comes on,
each drawn apart from the others. That is ``1 - exp(-m)``, where ``m`` sums ``-log(1 - p)`` over those later codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ._tables import Conjunction, Conjunctions, Lasts, index


class Wait(NamedTuple):
    """A code that may meet a clause which is due, though later codes may as well."""

    #: The column of the code.
    column: int
    #: That the clause is due here; its target is of no account.
    due: Conjunction
    #: The clause, by its number, and which of its codes this is.
    clause: int
    code: int
    #: The columns of all the clause's codes, in the order they are decided.
    codes: Sequence[int]
    #: What keeps a later code off, for which of the clause's codes (its target).
    kept_off: Sequence[Conjunction]
    #: Columns from the clause's first code to this one, if what was found lasts until a code comes on.
    between: Sequence[int] | None


class State:
    """A visit while it is decided. Rows are codes or values, columns are records."""

    def __init__(self, decided: Tensor, table: Tensor, visit: Tensor, kind: Tensor) -> None:
        #: Whether each code is present; of codes that are not decided yet, whether the model would have it so.
        self.decided = decided
        #: The literals of the values that conditions read.
        self.table = table
        #: The number of the visit.
        self.visit = visit
        #: Whether each code is of the visit's kind.
        self.kind = kind
        #: For clauses that keep what they found: how many codes were on then, and what it was.
        self.found: dict[int, tuple[Tensor, Tensor]] = {}


class Level(torch.nn.Module):
    """The codes of one level that rules speak of."""

    def __init__(
        self,
        number: int,
        columns: Sequence[int],
        forcing: tuple[Sequence[Conjunction], Sequence[Conjunction]],
        drawing: Sequence[tuple[int, Conjunction]],
        waits: Sequence[Wait],
        read: dict[int, int],
        values: int,
    ) -> None:
        super().__init__()
        self.number = number
        truth = 2 * values
        place = {column: at for at, column in enumerate(columns)}
        self.register_buffer("columns", index(columns), persistent=False)
        self.on, self.off = (Conjunctions(some, truth) for some in forcing)
        self.register_buffer("on_places", index(place[one] for one in self.on.targets), persistent=False)
        self.register_buffer("off_places", index(place[one] for one in self.off.targets), persistent=False)
        self.drawing = Lasts([one for _, one in drawing], [number for number, _ in drawing], truth)
        self.register_buffer("drawn_places", index(place[one] for one in self.drawing.targets), persistent=False)
        # What later levels read of these codes.
        kept = [column for column in columns if column in read]
        self.register_buffer("kept", index(place[column] for column in kept), persistent=False)
        rows = [read[column] for column in kept]
        self.register_buffer("rows", index(rows), persistent=False)
        self.register_buffer("negated", index(row + values for row in rows), persistent=False)
        self.waits = [wait._replace(kept_off=(), due=Conjunction((), 0, 0, 0)) for wait in waits]
        due = [wait.due._replace(target=number) for number, wait in enumerate(waits)]
        self.due = Conjunctions(due, truth)
        # Later codes of all waits one after the other, padded to the longest with a row that costs nothing.
        longest = max((len(wait.codes) for wait in waits), default=0)
        self.longest = longest
        bars = [
            one._replace(target=number * longest + one.target)
            for number, wait in enumerate(waits)
            for one in wait.kept_off
        ]
        self.bars = Conjunctions(bars, truth)
        self.register_buffer("barred", index(self.bars.targets), persistent=False)
        later = torch.zeros((len(waits), longest), dtype=torch.bool)
        codes = torch.zeros((len(waits), longest), dtype=torch.long)
        for number, wait in enumerate(waits):
            codes[number, : len(wait.codes)] = index(wait.codes)
            later[number, wait.code + 1 : len(wait.codes)] = True
        self.register_buffer("later", later, persistent=False)
        self.register_buffer("codes", codes, persistent=False)
        for number, wait in enumerate(waits):
            if wait.between is not None:
                self.register_buffer(f"between{number}", index(wait.between), persistent=False)
        # The waits of each code, padded with one past all: a clause that is met for sure.
        waited = sorted({wait.column for wait in waits})
        of = [[number for number, wait in enumerate(waits) if wait.column == column] for column in waited]
        most = max((len(numbers) for numbers in of), default=0)
        padded = [numbers + [len(waits)] * (most - len(numbers)) for numbers in of]
        self.register_buffer("waits_of", torch.tensor(padded, dtype=torch.long).view(len(of), most), persistent=False)
        self.register_buffer("waited_places", index(place[column] for column in waited), persistent=False)
        self.register_buffer("wait_places", index(place[wait.column] for wait in waits), persistent=False)

    def decide(
        self,
        state: State,
        own: Tensor,
        uniform: Tensor,
        costs: Tensor | None,
        soft: tuple[Tensor, Tensor] | None,
        surely_ends: Tensor | None,
        end: int,
    ) -> None:
        """Decides these codes. ``own`` has the model's probability of every code, ``uniform`` its draw, ``costs`` what
        it costs that it stays off; ``soft`` the probability of soft rules and their draws."""
        columns, table = self.columns, state.table
        probability, drawn = own[columns], uniform[columns]
        if soft is not None and len(self.drawing):
            last = self.drawing.last(table, state.visit).long()
            by_rule, rule = last > 0, (last - 1).clamp(min=0)
            places = self.drawn_places
            probability[places] = torch.where(by_rule, soft[0][rule], probability[places])
            drawn[places] = torch.where(by_rule, soft[1].gather(0, rule), drawn[places])
        forced = torch.zeros((2, *probability.shape), dtype=torch.bool, device=table.device)
        if len(self.on):
            forced[0, self.on_places] = self.on.any(table, state.visit)
        if len(self.off):
            forced[1, self.off_places] = self.off.any(table, state.visit)
        if self.waits and costs is not None:
            free = ~(forced[0] | forced[1])
            places = self.waited_places
            absent = self.met_later(state, costs, free, surely_ends, end)
            one = probability[places]
            total = one + (1.0 - one) * absent
            as_it_is = (absent == 1.0) | (total <= 0.0)
            probability[places] = torch.where(as_it_is, one, one / torch.where(as_it_is, 1.0, total))
        present = forced[0] | (drawn < probability) & ~forced[1]
        # A code of the other kind of visit stays as it is: off.
        present &= state.kind[columns]
        state.decided[columns] = present
        if len(self.kept):
            kept = present[self.kept]
            table[self.rows], table[self.negated] = kept, ~kept

    def met_later(
        self, state: State, costs: Tensor, free: Tensor, surely_ends: Tensor | None, end: int
    ) -> Tensor:
        """For each code that is waited for, the probability that all clauses due there are met after it."""
        due = self.due.any(state.table, state.visit)
        off = torch.zeros((len(self.waits) * self.longest, due.shape[1]), dtype=torch.bool, device=due.device)
        if len(self.bars):
            off[self.barred] = self.bars.any(state.table, state.visit)
        each = torch.where(off.view(len(self.waits), self.longest, -1), 0.0, costs[self.codes])
        if surely_ends is not None:
            ends = (self.codes == end)[:, :, None] & surely_ends
            each = torch.where(ends, torch.inf, each)
        for number, wait in enumerate(self.waits):
            if wait.between is not None:
                seen = state.decided[getattr(self, f"between{number}")].sum(0)
                weighed = due[number] & free[self.wait_places[number]]
                fresh = each[number, : len(wait.codes)]
                if wait.clause in state.found:
                    then, found = state.found[wait.clause]
                    same = then == seen
                    fresh = torch.where(same, found, fresh)
                    each[number, : len(wait.codes)] = fresh
                    seen = torch.where(weighed, seen, then)
                    fresh = torch.where(weighed, fresh, found)
                else:
                    seen = torch.where(weighed, seen, -1)
                state.found[wait.clause] = (seen, fresh.clone())
        miss = torch.where(self.later[:, :, None], each, 0.0).sum(1)
        met = torch.where(due, -torch.expm1(-miss), 1.0)
        met = torch.cat([met, torch.ones_like(met[:1])])
        return met[self.waits_of].prod(1)
