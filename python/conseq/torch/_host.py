"""Arrays to and from the native half, as bytes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def numbers_of(name: str, table: bytes) -> list[Any]:
    """A table of a plan."""
    kind = ctypes.c_double if name == "drawn.probability" else ctypes.c_int32
    return list((kind * (len(table) // ctypes.sizeof(kind))).from_buffer_copy(table))


def lists_of(tables: dict[str, list[Any]], name: str) -> list[list[Any]]:
    """A table of lists, given by where each begins."""
    starts, values = tables[f"{name}.starts"], tables[name]
    return [values[start:end] for start, end in zip(starts, starts[1:])]


def to_bytes(tensor: Tensor) -> bytes:
    """The bytes of a tensor of the host. PyTorch has no buffers, and NumPy is not asked for."""
    tensor = tensor.contiguous()
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size()) if tensor.numel() else b""


def from_bytes(found: bytes, kind: torch.dtype, shape: Sequence[int]) -> Tensor:
    """A tensor of the host from its bytes."""
    if not found:
        return torch.zeros(tuple(shape), dtype=kind)
    return torch.frombuffer(bytearray(found), dtype=kind).view(tuple(shape))
