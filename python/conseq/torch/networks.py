"""The networks of this package as modules of PyTorch, with the same weights.

Parameters have the names and shapes that they have in a model's ``model.safetensors``. Visits and logits are ``records x
visits x codes``, in the columns of the model's vocabulary, ``END`` last; the logit of a code is given the visits before and
the codes of the same visit that the model decides before it. A code that a visit cannot have (a static one in an encounter,
or the reverse) gets the logit :data:`NEVER`.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from .. import _native
from ..errors import InputError
from ._host import to_bytes

if TYPE_CHECKING:
    from ..model import Model

#: The logit of a code that a visit cannot have: a probability of nothing, and no infinity.
NEVER = -100.0

#: Logits that are computed at once, at most: what bounds the memory of a pass.
_LOGITS = 1 << 24


class _Layer(torch.nn.Module):
    """A weight ``inputs x outputs`` and a bias."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(inputs, outputs))
        self.bias = torch.nn.Parameter(torch.zeros(outputs))

    def forward(self, given: Tensor) -> Tensor:
        return given @ self.weight + self.bias


class _Tables(torch.nn.Module):
    """Parameters and layers by name."""

    def __init__(self, **parts: tuple[int, ...] | torch.nn.Module) -> None:
        super().__init__()
        for name, part in parts.items():
            if isinstance(part, torch.nn.Module):
                self.add_module(name, part)
            else:
                self.register_parameter(name, torch.nn.Parameter(torch.zeros(part)))


def _gelu(given: Tensor) -> Tensor:
    return functional.gelu(given, approximate="tanh")


class Network(torch.nn.Module):
    """What both kinds of network share: the columns of codes, and the way of weights in and out."""

    def __init__(self, shape: dict[str, int], columns: list[int], statics: int) -> None:
        super().__init__()
        self.shape, self._statics = shape, statics
        order = torch.tensor(columns)
        self.register_buffer("columns", order, persistent=False)
        self.register_buffer("positions", order.argsort(), persistent=False)

    def forward(self, visits: Tensor) -> Tensor:
        """The logits of every code of every visit."""
        width = len(self.columns)
        if visits.dim() != 3 or visits.shape[2] != width:
            what = f"visits of shape {tuple(visits.shape)}, not records x visits x {width} codes"
            raise InputError(what, "give a column for every code of the model's vocabulary, and END last")
        truth = (visits != 0)[:, :, self.columns].to(next(self.parameters()).dtype)
        logits = self._logits(truth)
        encounter = torch.arange(visits.shape[1], device=visits.device)[:, None] > 0
        static = torch.arange(width, device=visits.device) < self._statics
        return torch.where(encounter != static, logits, NEVER)[:, :, self.positions]

    def _logits(self, truth: Tensor) -> Tensor:
        raise NotImplementedError

    def to_safetensors(self) -> bytes:
        """The weights as the bytes of a ``safetensors`` file."""
        return _written({name: value.detach().float().cpu() for name, value in self.state_dict().items()})

    def into(self, model: Model) -> Model:
        """The model with these weights; it must be of the same shape."""
        from ..model import Model

        return Model._of(_native.with_network(model._native, self.to_safetensors()), model.report)


class Recurrent(Network):
    """The default network: a gated running average over visits, and a head with one state for each code that is present."""

    def __init__(self, shape: dict[str, int], columns: list[int], statics: int) -> None:
        super().__init__(shape, columns, statics)
        codes, width, head, bottleneck = (shape[name] for name in ("codes", "width", "head", "bottleneck"))
        self.history = _Tables(
            codes=(codes + 1, width),
            places=(8, width),
            norm_1=torch.nn.LayerNorm(width),
            mix=_Layer(width, 2 * width),
            join=_Layer(width, width),
            norm_2=torch.nn.LayerNorm(width),
            up=_Layer(width, 4 * width),
            down=_Layer(4 * width, width),
            norm_3=torch.nn.LayerNorm(width),
        )
        self.head = _Tables(
            present=(codes, head),
            read=(codes, head),
            bias=(codes,),
            start=_Layer(width, head),
            norm=torch.nn.LayerNorm(head),
            narrow=_Layer(head, bottleneck),
            widen=_Layer(bottleneck, head),
        )
        self.copy = _Tables(own=(4, codes), shared=(4,), gate=(4, width))
        if shape.get("side", 0):
            self.side = _Layer(width, shape["side"])

    def _places(self, visits: int) -> Tensor:
        """Functions of the number of a visit."""
        t = torch.arange(visits, dtype=self.history.places.dtype, device=self.history.places.device)
        each = [t.log1p() / 3, t / 100, t == 0, t == 1, 1 / (1 + t), t.sqrt() / 7, (-t / 10).exp(), (-t / 40).exp()]
        return torch.stack([one.to(t.dtype) for one in each], 1)

    def hidden(self, truth: Tensor) -> Tensor:
        """What is known before each visit; codes are in the order of the network."""
        history = self.history
        table = history.codes
        before = torch.cat([table[-1:].expand(len(truth), 1, -1), truth[:, :-1] @ table[:-1]], 1)
        x = before + self._places(truth.shape[1]) @ history.places
        gates, candidates = history.mix(history.norm_1(x)).chunk(2, 2)
        gates = torch.sigmoid(gates - 1)
        average, averages = torch.zeros_like(x[:, 0]), []
        for visit in range(truth.shape[1]):
            average = average + gates[:, visit] * (candidates[:, visit] - average)
            averages.append(average)
        x = x + history.join(torch.stack(averages, 1))
        x = x + history.down(_gelu(history.up(history.norm_2(x))))
        return history.norm_3(x)

    def _copies(self, truth: Tensor, hidden: Tensor) -> Tensor:
        """What it means that a record has held a code before."""
        times = truth.cumsum(1) - truth
        numbers = torch.arange(truth.shape[1], dtype=truth.dtype, device=truth.device)[:, None]
        last = torch.where(truth > 0, numbers, -1.0).cummax(1).values
        last = torch.cat([torch.full_like(last[:, :1], -1.0), last[:, :-1]], 1)
        held = (last >= 0).to(truth.dtype)
        since = torch.where(last >= 0, numbers - last, 1.0)
        gates = hidden @ self.copy.gate.t() + self.copy.shared
        terms = (held * (since == 1), held, times.log1p(), held / since)
        return sum(term * (gates[:, :, at, None] + self.copy.own[at]) for at, term in enumerate(terms))

    def _logits(self, truth: Tensor) -> Tensor:
        hidden = self.hidden(truth)
        rows, head = hidden.flatten(0, 1), self.head
        first, codes = head.start(rows), truth.flatten(0, 1)
        # A state for each number of codes that are present so far; each code reads the one that it is decided under.
        known = (codes.cumsum(1) - codes).long()
        most = int(codes.sum(1).max()) + 1
        at_once = max(1, _LOGITS // (most * codes.shape[1]))
        read = []
        for start in range(0, len(rows), at_once):
            own, number = codes[start : start + at_once], known[start : start + at_once]
            states = first[start : start + at_once, None].expand(-1, most, -1)
            row, code = own.nonzero(as_tuple=True)
            added = torch.zeros_like(states).index_put((row, number[row, code] + 1), head.present[code], accumulate=True) if most > 1 else 0
            state = _gelu(head.norm(states + (added.cumsum(1) if most > 1 else 0)))
            state = state + head.widen(_gelu(head.narrow(state)))
            read.append((state @ head.read.t()).gather(1, number[:, None]).squeeze(1))
        return torch.cat(read).view_as(truth) + head.bias + self._copies(truth, hidden)


class _Block(torch.nn.Module):
    """A block of attention."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.attn = _Tables(c_attn=_Layer(width, 3 * width), c_proj=_Layer(width, width))
        self.mlp = _Tables(c_fc=_Layer(width, 4 * width), c_proj=_Layer(4 * width, width))
        self.heads = heads

    def forward(self, x: Tensor) -> Tensor:
        mixed = self.attn.c_attn(self.ln_1(x)).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(mixed[0], mixed[1], mixed[2], is_causal=True)
        x = x + self.attn.c_proj(attended.transpose(1, 2).flatten(2))
        return x + self.mlp.c_proj(_gelu(self.mlp.c_fc(self.ln_2(x))))


class Halo(Network):
    """The published network, HALO: blocks of attention over visits, and a head of two triangular layers over codes."""

    def __init__(self, shape: dict[str, int], columns: list[int], statics: int) -> None:
        super().__init__(shape, columns, statics)
        codes, width = shape["codes"], shape["width"]
        units, inputs = width + shape["head_units"] * codes, width + codes
        self.transformer = _Tables(
            vis_embed_mat=_Tables(weight=(width, codes)),
            pos_embed_mat=_Tables(weight=(shape["positions"], width)),
            h=torch.nn.ModuleList(_Block(width, shape["heads"]) for _ in range(shape["layers"])),
            ln_f=torch.nn.LayerNorm(width),
        )
        self.ehr_head = _Tables(
            auto1=_Tables(weight=(units, inputs), bias=(units,)),
            auto2=_Tables(weight=(inputs, units), bias=(inputs,)),
        )
        if shape.get("side", 0):
            self.side = _Tables(weight=(shape["side"], width), bias=(shape["side"],))

    def hidden(self, truth: Tensor) -> Tensor:
        """What is known before each visit; codes are in the order of the network."""
        trunk = self.transformer
        table = trunk.vis_embed_mat.weight
        mark = truth.shape[2]
        if truth.shape[1] > self.shape["positions"]:
            what = f"{truth.shape[1]} visits, but the network has room for {self.shape['positions']}"
            raise InputError(what, "give shorter records")
        first = table[:, mark].expand(len(truth), 1, -1)
        x = torch.cat([first, truth[:, :-1] @ table[:, :mark].t()], 1) + trunk.pos_embed_mat.weight[: truth.shape[1]]
        for block in trunk.h:
            x = block(x)
        return trunk.ln_f(x)

    def _seen(self) -> tuple[Tensor, Tensor]:
        """Which inputs a unit sees, and which units an output sees: triangles."""
        width, codes, each = self.shape["width"], self.shape["codes"], self.shape["head_units"]
        device = self.ehr_head.auto1.weight.device
        inputs = torch.arange(width + codes, device=device)
        units = torch.arange(width + each * codes, device=device)
        before = torch.where(inputs < width, inputs, width + each * (inputs - width))
        output = inputs - (width - 1)
        return units[:, None] >= before, (output[:, None] >= 0) & (units < width + each * output[:, None])

    def _logits(self, truth: Tensor) -> Tensor:
        width, codes, head = self.shape["width"], truth.shape[2], self.ehr_head
        first, second = self._seen()
        given = torch.cat([self.hidden(truth), functional.pad(truth, (0, self.shape["codes"] - codes))], 2)
        active = torch.relu(given @ (head.auto1.weight * first).t() + head.auto1.bias)
        outputs = active @ (head.auto2.weight * second).t() + head.auto2.bias
        return outputs[:, :, width - 1 : width - 1 + codes]


def as_torch(model: Model) -> Network:
    """The network of a model as a module of PyTorch, with the same weights.

    :raises InputError: where the model has no network
    """
    found = _native.network(model._native)
    if found is None:
        raise InputError("this model counts codes and has no network", 'train one with generator="network"')
    text, columns, statics, weights = found
    shape: dict[str, int] = json.loads(text)
    made = (Halo if "layers" in shape else Recurrent)(shape, columns, statics)
    made.load_state_dict(_read(weights))
    return made


def _read(file: bytes) -> dict[str, Tensor]:
    """The tensors of a ``safetensors`` file of 32-bit numbers."""
    (length,) = struct.unpack_from("<Q", file)
    header: dict[str, Any] = json.loads(file[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            start, end = (8 + length + offset for offset in entry["data_offsets"])
            data = torch.frombuffer(bytearray(file[start:end]), dtype=torch.float32) if end > start else torch.zeros(0)
            tensors[name] = data.view(entry["shape"])
    return tensors


def _written(tensors: dict[str, Tensor]) -> bytes:
    """A ``safetensors`` file of 32-bit numbers."""
    header, parts, offset = {}, [], 0
    for name, value in sorted(tensors.items()):
        part = to_bytes(value)
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [offset, offset + len(part)]}
        parts, offset = [*parts, part], offset + len(part)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(parts)
