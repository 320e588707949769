"""The rules of a plan as a layer of a network."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from .. import _native
from ..errors import InputError
from ._draws import CODE, RULE, _uniforms
from ._host import from_bytes, lists_of, numbers_of, to_bytes
from ._levels import Level, State, Wait
from ._past import History, Past, Window
from ._tables import Conjunction, Conjunctions, Lasts, index, literals

if TYPE_CHECKING:
    from ..plan import Plan


#: How many columns are copied together.
_COLUMNS = 32


class Ruling(NamedTuple):
    """What rules say of the codes of visits, given the visits before and the codes that are decided before each.

    Only columns that rules may speak of are here; :meth:`ConstraintLayer.spread` gives all of them.
    """

    #: The columns that rules may speak of.
    columns: Tensor
    #: ``records x visits x columns``: :data:`OFF`, :data:`FREE`, :data:`ON` or :data:`SOFT` each.
    state: Tensor
    #: The columns that soft rules may draw.
    soft_columns: Tensor
    #: ``records x visits x soft columns``: the probability that a soft rule gives, where one does; else 0.
    probability: Tensor


#: What rules say of a code: that it is absent, nothing, that it is present, or the probability that it is.
OFF, FREE, ON, SOFT = -1, 0, 1, 2


class ConstraintLayer(torch.nn.Module):
    """Makes a model of records obey the rules of a plan, whatever it is and however it was trained.

    In training, :meth:`ruling` says for every code of true visits whether rules decide it, and :meth:`loss` is the
    model's cross-entropy where they do not. In generation, :meth:`decide` decides whole visits, on the device of the
    tensors it is given: no record breaks a hard rule, and with the same probabilities, seed and numbers of records they
    are the visits that the rest of this package writes.

    The layer has no parameters. Its tables move with ``.to(device)``; a state dict holds only what tells one plan from
    another, and a layer takes none of another plan.

    >>> import conseq as cq, torch
    >>> plan = cq.Rules.parse("rule a: A => B  rule l: B in previous => B").compile()
    >>> layer = ConstraintLayer(plan)
    >>> history = layer.begin(2)
    >>> sure = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])   # A, B and END of two records
    >>> for _ in range(2):
    ...     visit = layer.decide(history, probabilities=sure, seed=1, records=[0, 1])
    ...     history = layer.advance(history, visit)
    >>> visit.int().tolist()   # the static visit was empty; A demands B
    [[1, 1, 0], [0, 0, 1]]
    """

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.plan = plan
        native = self._native()
        tables = {name: numbers_of(name, table) for name, table in native.tables().items()}
        shape = native.shape()
        self.width, self._statics, self.end, self.max_visits, end_given, self._diagram = shape
        digest = hashlib.sha256(repr(shape).encode())
        for name, table in sorted(native.tables().items()):
            digest.update(name.encode() + table)
        self._digest = digest.hexdigest()
        self._ends_last = not end_given
        #: The codes, as columns of tensors have them.
        self.codes: list[str] = [name for name, _ in plan._native.codes()] + ["END"]
        self._build(tables)

    def _native(self) -> _native.PlanTensors:
        native = self.__dict__.get("_tensors")
        if native is None:
            native = self.__dict__["_tensors"] = _native.PlanTensors(self.plan._native)
        return native

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_tensors"}

    def _build(self, tables: dict[str, list[Any]]) -> None:
        order = tables["order"]
        conditions = {name: lists_of(tables, f"{name}.conditions") for name in ("forcing", "drawing", "due")}
        # Only values that some condition reads have a row: codes by their column, then codes in windows.
        past = [order[position] for position in tables["past.position"]]
        every = chain.from_iterable(chain.from_iterable(conditions.values()))
        asked = {order[one >> 1] for one in every if one >> 1 < self.width}
        due_codes = [[order[position] for position in codes] for codes in lists_of(tables, "due.codes")]
        asked.update(past, *due_codes)
        columns = sorted(asked)
        read = {column: row for row, column in enumerate(columns)}
        values = len(columns) + len(past)

        def row(condition: int) -> int:
            variable, wanted = condition >> 1, condition & 1
            at = read[order[variable]] if variable < self.width else len(columns) + variable - self.width
            return at if wanted else at + values

        def conjunction(name: str, number: int, target: int) -> Conjunction:
            rows = [row(one) for one in conditions[name][number]]
            return Conjunction(rows, tables[f"{name}.first"][number], tables[f"{name}.last"][number], target)

        forced = [
            (conjunction("forcing", number, order[output]), present)
            for number, (output, present) in enumerate(zip(tables["forced.output"], tables["forced.present"]))
        ]
        drawn = [conjunction("drawing", number, order[output]) for number, output in enumerate(tables["drawn.output"])]
        self._read(columns, past, tables)
        truth = 2 * values
        self.on = Conjunctions([one for one, present in forced if present], truth)
        self.off = Conjunctions([one for one, present in forced if not present], truth)
        self.drawing = Lasts(drawn, range(len(drawn)), truth)
        ruled = sorted({*self.on.targets, *self.off.targets, *self.drawing.targets})
        place = {column: at for at, column in enumerate(ruled)}
        self.register_buffer("ruled_columns", index(ruled), persistent=False)
        for name, targets in (("on", self.on), ("off", self.off), ("drawn", self.drawing)):
            places = index(place[column] for column in targets.targets)
            self.register_buffer(f"{name}_places", places, persistent=False)
        self.register_buffer("drawn_columns", index(self.drawing.targets), persistent=False)
        probabilities = torch.tensor(tables["drawn.probability"], dtype=torch.float64)
        # Kept as integers: `.half()` would round numbers.
        self.register_buffer("soft_bits", probabilities.view(torch.int64), persistent=False)
        self.register_buffer("soft_rules", index(tables["drawn.rule"]), persistent=False)
        blocks = [rule // 4 for rule in tables["drawn.rule"]]
        self._rule_blocks = (min(blocks, default=0), max(blocks, default=-1) + 1)
        self._levels(tables, order, read, values, due_codes, conjunction, forced, drawn)

    def _read(self, columns: list[int], past: list[int], tables: dict[str, list[Any]]) -> None:
        """Which codes conditions read, and which of them in windows."""
        read = {column: row for row, column in enumerate(columns)}
        self.register_buffer("read_columns", index(columns), persistent=False)
        visits, back = lists_of(tables, "window.visits"), lists_of(tables, "window.distances")
        windows = [Window(bool(of_past), *rest) for of_past, *rest in zip(tables["window.past"], visits, back)]
        of = [windows[number] for number in tables["past.window"]]
        self.past = Past([read[column] for column in past], of, self.max_visits)
        order = tables["order"]
        positions = [0] * self.width
        for position, column in enumerate(order):
            positions[column] = position
        self.register_buffer("positions", index(positions), persistent=False)
        statics = torch.zeros(self.width, dtype=torch.bool)
        statics[index(order[: self._statics])] = True
        self.register_buffer("statics", statics, persistent=False)

    def _levels(
        self,
        tables: dict[str, list[Any]],
        order: list[int],
        read: dict[int, int],
        values: int,
        due_codes: list[list[int]],
        conjunction: Callable[[str, int, int], Conjunction],
        forced: list[tuple[Conjunction, int]],
        drawn: list[Conjunction],
    ) -> None:
        """Sorts what rules say by the level of the code that they say it of."""
        level = {order[position]: number for position, number in enumerate(tables["levels"])}
        positions = {column: position for position, column in enumerate(order)}
        bars: dict[int, list[Conjunction]] = {}
        for wait, code, by in zip(tables["kept_off.wait"], tables["kept_off.code"], tables["kept_off.by"]):
            bars.setdefault(wait, []).append(forced[by][0]._replace(target=code))
        waits: list[Wait] = []
        for number, (clause, code) in enumerate(zip(tables["wait.clause"], tables["wait.code"])):
            codes = due_codes[clause]
            due = conjunction("due", clause, 0)
            # Due here if no code of the clause before this one is present.
            due = due._replace(rows=[*due.rows, *(read[column] + values for column in codes[:code])])
            between = None
            if tables["due.lasting"][clause]:
                between = order[positions[codes[0]] : positions[codes[code]]]
            waits.append(Wait(codes[code], due, clause, code, codes, bars.get(number, []), between))
        spoken = {one.target for one, _ in forced} | {one.target for one in drawn} | {one.column for one in waits}
        made = []
        forcing = [_by(level, [one for one, present in forced if present == value]) for value in (1, 0)]
        soft: dict[int, list[tuple[int, Conjunction]]] = {}
        for number, one in enumerate(drawn):
            soft.setdefault(level[one.target], []).append((number, one))
        for number in sorted({level[column] for column in spoken}):
            columns = sorted(column for column in spoken if level[column] == number)
            waited = [wait for wait in waits if level[wait.column] == number]
            of = (forcing[0].get(number, []), forcing[1].get(number, []))
            made.append(Level(number, columns, of, soft.get(number, []), waited, read, values))
        self.levels = torch.nn.ModuleList(made)
        self.register_buffer("level_of", index(level[column] for column in range(self.width)), persistent=False)
        self._waits = bool(waits)

    def get_extra_state(self) -> str:
        """What tells the plan from others."""
        return self._digest

    def set_extra_state(self, state: str) -> None:
        """Takes the state of a layer of the same plan only."""
        if state != self._digest:
            raise InputError("this is the state of a layer of another plan", "make the layer of the plan it was saved with")

    @property
    def on_device(self) -> bool:
        """Whether visits are decided on the device of the tensors. Codes that depend on each other too densely for
        clauses have a decision diagram; such a plan is run on the host."""
        return not self._diagram

    def __repr__(self) -> str:
        where = "on the tensors' device" if self.on_device else "on the host: the plan has a decision diagram"
        return f"ConstraintLayer({len(self.plan)} rules, {self.width} codes, {len(self.levels)} levels; {where})"

    # Training

    @torch.no_grad()
    def ruling(self, visits: Tensor) -> Ruling:
        """What rules say of the codes of every visit of true records, ``records x visits x codes``.

        Visits that only pad shorter records may hold anything; they come last.
        """
        self._check_visits(visits)
        if self._diagram:
            return self._host_ruling(visits)
        table = self._table(visits)
        numbers = torch.arange(visits.shape[1], device=visits.device)
        state = torch.zeros((len(self.ruled_columns), *table.shape[1:]), dtype=torch.int8, device=table.device)
        probability = torch.zeros((0, *table.shape[1:]), dtype=torch.float64, device=table.device)
        # Hard rules win over soft ones, and of hard ones those that ask for a code.
        if len(self.drawing):
            last = self.drawing.last(table, numbers)
            state[self.drawn_places] = (last > 0).to(torch.int8) * SOFT
        _write(state, self.off_places, self.off, table, numbers, OFF)
        _write(state, self.on_places, self.on, table, numbers, ON)
        if len(self.drawing):
            given = self._soft()[(last.long() - 1).clamp(min=0)]
            probability = torch.where(state[self.drawn_places] == SOFT, given, 0.0)
        return Ruling(self.ruled_columns, state.movedim(0, -1), self.drawn_columns, probability.movedim(0, -1))

    def spread(self, ruling: Ruling) -> Tensor:
        """What rules say of every code, ``records x visits x codes``. A code of the other kind of visit (a static one in an
        encounter, or the reverse) is :data:`OFF`."""
        shape = (*ruling.state.shape[:2], self.width)
        state = torch.where(self._kind(shape[1]), FREE, OFF).to(torch.int8).expand(shape).clone()
        said = torch.where(self._kind(shape[1])[:, ruling.columns], ruling.state, OFF)
        return state.index_copy_(2, ruling.columns, said)

    def _kind(self, visits: int) -> Tensor:
        """Which codes visits may have: ``visits x codes``."""
        return (torch.arange(visits, device=self.statics.device) > 0)[:, None] != self.statics

    def _table(self, visits: Tensor) -> Tensor:
        """The literals of every visit: rows, records, visits."""
        codes = len(self.read_columns)
        values = codes + len(self.past)
        table = torch.ones((2 * values + 1, *visits.shape[:2]), dtype=torch.bool, device=visits.device)
        # A few columns at a time: visits may be of wide numbers.
        for first in range(0, codes, _COLUMNS):
            columns = self.read_columns[first : first + _COLUMNS]
            table[first : first + len(columns)] = (visits[:, :, columns] != 0).permute(2, 0, 1)
        table[codes:values] = self.past.of(table[:codes])
        table[values : 2 * values] = ~table[:values]
        return table

    def _soft(self) -> Tensor:
        return self.soft_bits.view(torch.float64)

    def free(self, visits: Tensor, mask: Tensor | None = None) -> Tensor:
        """Where the model decides, ``records x visits x codes``: no rule does, and the visit is no padding.

        ``mask`` is true at real visits (``records x visits``), or has the number of visits of each record.
        """
        free = self.spread(self.ruling(visits)) == FREE
        if mask is not None:
            free &= self._real(visits, mask)[:, :, None]
        return free

    def _real(self, visits: Tensor, mask: Tensor) -> Tensor:
        """Which visits are real."""
        if mask.dim() == 1:
            mask = torch.arange(visits.shape[1], device=visits.device) < mask[:, None]
        if mask.shape != visits.shape[:2]:
            what = f"a mask of shape {tuple(mask.shape)} for {visits.shape[0]} records of {visits.shape[1]} visits"
            raise InputError(what, "say of every visit whether it is real, or how many visits each record has")
        return mask.bool()

    def loss(self, logits: Tensor, visits: Tensor, mask: Tensor | None = None, reduction: str = "mean") -> Tensor:
        """The cross-entropy of the codes that the model decides, in nats; of what rules decide it costs nothing.

        ``reduction`` is ``"mean"`` over those codes, ``"sum"``, or ``"none"``. ``mask`` is as in :meth:`free`. Beside what any
        such cross-entropy takes, this takes memory for the columns only that rules speak of.
        """
        if logits.shape != visits.shape:
            raise InputError(
                f"logits of shape {tuple(logits.shape)} for visits of shape {tuple(visits.shape)}",
                "give a logit for every code of every visit",
            )
        if reduction not in ("mean", "sum", "none"):
            raise InputError(f"no reduction is called {reduction!r}", 'give "mean", "sum" or "none"')
        ruling = self.ruling(visits)
        # In full precision under autocast. A logit without bounds, where rules decide, is no harm: what it costs is not
        # looked at, and its gradient is 0 times a finite number.
        truth = visits.float() if visits.dtype == torch.bool else (visits != 0).float()
        nats = functional.binary_cross_entropy_with_logits(logits.float(), truth, reduction="none")
        free = (ruling.state == FREE) & self._kind(visits.shape[1])[:, ruling.columns]
        ruled = torch.where(free, nats[:, :, ruling.columns], 0.0)
        nats = torch.where(self._kind(visits.shape[1]), nats, 0.0).index_copy(2, ruling.columns, ruled)
        real = None if mask is None else self._real(visits, mask)
        if real is not None:
            nats = torch.where(real[:, :, None], nats, 0.0)
        if reduction != "mean":
            return nats if reduction == "none" else nats.sum()
        # As many as there are of the visit's kind, less those that rules decide.
        kind = self._kind(visits.shape[1]).sum(1) - self._kind(visits.shape[1])[:, ruling.columns].sum(1)
        count = kind + free.sum(2)
        count = count.sum() if real is None else torch.where(real, count, 0).sum()
        return nats.sum() / count.clamp(min=1)

    def forward(self, logits: Tensor, visits: Tensor) -> Tensor:
        """The probability of every code of true visits: what rules say, else the model's, with its gradient."""
        ruling = self.ruling(visits)
        state = self.spread(ruling)
        probability = torch.sigmoid(torch.where(state == FREE, logits, 0.0))
        said = torch.where(state == FREE, probability, (state == ON).to(probability.dtype))
        if len(ruling.soft_columns):
            drawn = state[:, :, ruling.soft_columns] == SOFT
            soft = torch.where(drawn, ruling.probability.to(said.dtype), said[:, :, ruling.soft_columns])
            said = said.index_copy(2, ruling.soft_columns, soft)
        return said

    # Generation

    def begin(self, batch: int) -> History:
        """So many records without a visit, on the layer's device."""
        history = self.past.begin(batch)
        if self._diagram:
            history = history._replace(visits=torch.zeros((batch, 0, self.width), dtype=torch.uint8))
        return history

    def history(self, visits: Tensor) -> History:
        """Records with all their visits so far, ``records x visits x codes``."""
        self._check_visits(visits)
        history = self.begin(visits.shape[0])
        for number in range(visits.shape[1]):
            history = self.advance(history, visits[:, number])
        return history

    def advance(self, history: History, visit: Tensor) -> History:
        """The records with one visit more, ``records x codes``."""
        read = (visit[:, self.read_columns] != 0).t()
        history = self.past.advance(history, read)
        if history.visits is not None:
            latest = (visit != 0).to("cpu", torch.uint8)[:, None]
            history = history._replace(visits=torch.cat([history.visits, latest], 1))
        return history

    @torch.no_grad()
    def decide(
        self,
        history: History,
        *,
        logits: Tensor | Callable[[Tensor], Tensor] | None = None,
        probabilities: Tensor | None = None,
        seed: int,
        records: Tensor | Sequence[int],
    ) -> Tensor:
        """Decides the next visit of records, ``records x codes``, and gives which codes it has; the last one is ``END``.

        The model gives ``logits`` or ``probabilities`` of every code, ``records x codes``; those of the other kind of visit
        are of no account. ``records`` numbers the records; draws are keyed by the seed and that number.

        A model whose answer depends on codes of the same visit gives a function as ``logits``: it is given the codes decided so
        far and asked again before each level of codes. Rules hold all the same; codes of one level do not see each other.
        """
        ask = logits if callable(logits) else None
        if ask is not None:
            logits = ask(torch.zeros((len(history.visit), self.width), dtype=torch.bool, device=history.visit.device))
        own = self._given(logits, probabilities, len(history.visit))
        numbers = torch.as_tensor(records, dtype=torch.long, device=own.device)
        if numbers.shape != history.visit.shape:
            raise InputError(f"{numbers.numel()} numbers for {len(history.visit)} records", "number every record in records=")
        if history.visits is not None:
            if ask is not None:
                what = "a plan that is run on the host decides a visit from all its logits at once"
                raise InputError(what, "give logits= as a tensor")
            return self._host_decide(own, history.visits, seed, numbers)
        visit = history.visit
        uniform = _uniforms(self.positions, 0, (self.width + 3) // 4, seed, numbers, visit, CODE)
        kind = self.statics[:, None] == (visit == 0)
        decided = (uniform < own) & kind
        table = literals(torch.cat([decided[self.read_columns], self.past.now(history)]))
        state = State(decided, table, visit, kind)
        soft = None
        if len(self.drawing):
            drawn = _uniforms(self.soft_rules, *self._rule_blocks, seed, numbers, visit, RULE)
            soft = (self._soft(), drawn)
        costs = -torch.log1p(-own) if self._waits else None
        surely_ends = visit == self.max_visits if self._ends_last else None
        for level in self.levels:
            if ask is not None and level.number > 0:
                known = state.decided & (self.level_of < level.number)[:, None]
                own = self._given(ask(known.t()), None, len(visit))
                costs = -torch.log1p(-own) if self._waits else None
            level.decide(state, own, uniform, costs, soft, surely_ends, self.end)
        return state.decided.t().contiguous()

    def _given(self, logits: Tensor | None, probabilities: Tensor | None, batch: int) -> Tensor:
        """The model's probabilities in double precision, a row for each code."""
        if (logits is None) == (probabilities is None):
            raise InputError("a visit is decided by logits or by probabilities", "give logits= or probabilities=")
        given = logits if probabilities is None else probabilities
        assert given is not None
        if given.shape != (batch, self.width):
            what = f"numbers of shape {tuple(given.shape)} for {batch} records and {self.width} codes"
            raise InputError(what, "give one for every code of every record, END last")
        own = given.to(torch.float64).t()
        if probabilities is None:
            own = torch.sigmoid(own)
        # Not looked at in a compiled graph, which cannot raise: there a number that is none draws nothing.
        if not torch.compiler.is_compiling() and not bool(((own >= 0.0) & (own <= 1.0)).all()):
            raise InputError("not all of the numbers given are probabilities", "give numbers from 0 to 1, or finite logits")
        return own.contiguous()

    def generate(
        self,
        model: Callable[[Tensor], Tensor],
        records: Tensor | Sequence[int],
        *,
        seed: int,
    ) -> tuple[Tensor, Tensor]:
        """Writes whole records: ``model`` is given all visits so far (``records x visits x codes``, none at first) and gives the
        logits of the next (``records x codes``). Gives the visits, padded with empty ones, and how many each record has.
        """
        device = self.positions.device
        numbers = torch.as_tensor(records, dtype=torch.long, device=device)
        history = self.begin(len(numbers))
        visits = torch.zeros((len(numbers), self.max_visits + 1, self.width), dtype=torch.bool, device=device)
        lengths = torch.zeros(len(numbers), dtype=torch.long, device=device)
        ended = torch.zeros(len(numbers), dtype=torch.bool, device=device)
        count = 0
        while count <= self.max_visits and not bool(ended.all()):
            logits = model(visits[:, :count])
            # Only records that go on are worked on.
            open_ones = (~ended).nonzero().flatten()
            decided = self.decide(
                history.of(open_ones), logits=logits[open_ones], seed=seed, records=numbers[open_ones]
            )
            visits[open_ones, count] = decided
            lengths[open_ones] += 1
            ended[open_ones] = decided[:, self.end]
            history = self.advance(history, visits[:, count])
            count += 1
        return visits[:, :count], lengths

    # The host

    def host_past(self, visits: Tensor) -> Tensor:
        """What holds of the past before each visit, for any plan: ``records x visits x codes in windows``, worked out on the
        host."""
        self._check_visits(visits)
        found = self._native().past(to_bytes((visits != 0).to("cpu", torch.uint8)), visits.shape[0])
        shape = (*visits.shape[:2], len(self.past))
        return from_bytes(found, torch.uint8, shape).bool().to(visits.device)

    def _host_ruling(self, visits: Tensor) -> Ruling:
        on_host = to_bytes((visits != 0).to("cpu", torch.uint8))
        said, soft = self._native().rulings(on_host, visits.shape[0])
        state = from_bytes(said, torch.int8, visits.shape).to(visits.device)
        probability = from_bytes(soft, torch.float64, visits.shape)[:, :, self.drawn_columns.cpu()].to(visits.device)
        return Ruling(torch.arange(self.width, device=visits.device), state, self.drawn_columns, probability)

    def _host_decide(self, own: Tensor, visits: Tensor, seed: int, records: Tensor) -> Tensor:
        rows = to_bytes(own.t().contiguous().cpu())
        decided = self._native().decide(rows, to_bytes(visits), seed, records.tolist())
        return from_bytes(decided, torch.uint8, (len(records), self.width)).bool().to(own.device)

    def _check_visits(self, visits: Tensor) -> None:
        if visits.dim() != 3 or visits.shape[2] != self.width:
            what = f"visits of shape {tuple(visits.shape)}, not records x visits x {self.width} codes"
            raise InputError(what, "give a column for every code of the plan's vocabulary, and END last")
        if visits.shape[1] > self.max_visits + 1:
            what = f"{visits.shape[1]} visits, but the plan is for a static one and {self.max_visits} encounters"
            raise InputError(what, "compile the rules with a larger max_visits=")


def _write(state: Tensor, places: Tensor, rules: Conjunctions, table: Tensor, numbers: Tensor, ruling: int) -> None:
    """Writes what rules say into the rows of what they speak of, where they do."""
    if len(rules):
        state[places] = state[places].masked_fill_(rules.any(table, numbers), ruling)


def _by(level: dict[int, int], conjunctions: list[Conjunction]) -> dict[int, list[Conjunction]]:
    """Conjunctions by the level of what they are for."""
    by: dict[int, list[Conjunction]] = {}
    for one in conjunctions:
        by.setdefault(level[one.target], []).append(one)
    return by
