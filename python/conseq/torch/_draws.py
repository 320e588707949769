"""Random numbers by what they are for, equal to those that the rest of the package draws.

A draw is a function of its key (the seed, the record, the visit, the purpose and the number of the code or rule) and of
nothing else, so it is the same on every device and in every batch. The generator is Philox4x32-10 (Salmon, Moraes, Dror
and Shaw, 2011).
"""

from __future__ import annotations

import torch
from torch import Tensor

from .. import _native

#: The purposes of draws that a layer needs, as the generator numbers them.
CODE, RULE = 0, 1

_WORD = 0xFFFF_FFFF
_MULTIPLIERS = (0xD251_1F53, 0xCD9E_8D57)
_KEY_STEPS = (0x9E37_79B9, 0xBB67_AE85)
_ROUNDS = 10
_RECORD_BITS = 48


def _product(constant: int, word: Tensor) -> tuple[Tensor, Tensor]:
    """The high and the low word of a product of two words, without leaving 64 signed bits."""
    low, high = word * (constant & 0xFFFF), word * (constant >> 16)
    upper = high + (low >> 16)
    return upper >> 16, (upper & 0xFFFF) << 16 | low & 0xFFFF


def philox(counter: tuple[Tensor, Tensor, Tensor, Tensor], seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Four random words for a counter of four words; words are 64-bit integers below 2**32."""
    key = [seed & _WORD, seed >> 32 & _WORD]
    one, two, three, four = counter
    for _ in range(_ROUNDS):
        (high_a, low_a), (high_b, low_b) = _product(_MULTIPLIERS[0], one), _product(_MULTIPLIERS[1], three)
        one, two, three, four = high_b ^ two ^ key[0], low_b, high_a ^ four ^ key[1], low_a
        key = [(part + step) & _WORD for part, step in zip(key, _KEY_STEPS)]
    return one, two, three, four


def uniforms(indices: Tensor, *, seed: int, records: Tensor, visits: Tensor, purpose: int = CODE) -> Tensor:
    """Numbers strictly between 0 and 1, one row for each index and one column for each record, in double precision.

    Those of codes are keyed by the code's place in the plan's order, those of soft rules by the rule's number.
    """
    first, last = (int(indices.min()), int(indices.max())) if indices.numel() else (0, -1)
    return _uniforms(indices, first // 4, last // 4 + 1, seed, records, visits, purpose)


def _uniforms(
    indices: Tensor, first: int, last: int, seed: int, records: Tensor, visits: Tensor, purpose: int
) -> Tensor:
    """The same, where the blocks of four that the indices are in are known."""
    last = max(last, first + 1)
    if records.device.type == "cpu" and not torch.compiler.is_compiling():
        words = _words_of_host(first, last, seed, records, visits, purpose)
    else:
        words = _words(first, last, seed, records, visits, purpose)
    return (words[indices - 4 * first].to(torch.float64) + 0.5) / 4_294_967_296.0


def _words(first: int, last: int, seed: int, records: Tensor, visits: Tensor, purpose: int) -> Tensor:
    """The words of some blocks, a row each, worked out where the tensors are."""
    numbers = torch.arange(first, last, device=records.device)[:, None]
    location = purpose << 16 | visits & 0xFFFF
    low, high = records & _WORD, records >> 32 & ((1 << (_RECORD_BITS - 32)) - 1)
    # No attempt but the first is ever made here.
    counter = (numbers, location[None], low[None], (high << 16)[None])
    return torch.stack(philox(counter, seed), 1).flatten(0, 1)


def _words_of_host(first: int, last: int, seed: int, records: Tensor, visits: Tensor, purpose: int) -> Tensor:
    """The same words, faster on the host."""
    count = 4 * (last - first)
    kept = (records & ((1 << _RECORD_BITS) - 1)).tolist()
    drawn = _native.random_words(seed & 0xFFFF_FFFF_FFFF_FFFF, kept, (visits & 0xFFFF).tolist(), purpose == RULE, 4 * first, count)
    words = torch.frombuffer(bytearray(drawn), dtype=torch.int32) if drawn else torch.zeros(0, dtype=torch.int32)
    return words.view(len(kept), count).t().long() & _WORD
