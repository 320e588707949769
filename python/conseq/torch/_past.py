"""What holds of earlier visits: codes in windows, on the tensor's own device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ._tables import index


class Window(NamedTuple):
    """Which earlier visits a condition looks at."""

    past: bool
    visits: Sequence[int]
    distances: Sequence[int]


class History(NamedTuple):
    """What a layer knows of records while they grow.

    Made by :meth:`ConstraintLayer.begin <conseq.torch.ConstraintLayer.begin>` or
    :meth:`ConstraintLayer.history <conseq.torch.ConstraintLayer.history>`.
    """

    #: The number of the visit that comes next; 0 is the static visit.
    visit: Tensor
    #: Which codes in windows hold for the rest of the record, a row each.
    lasting: Tensor
    #: The codes that windows count back to, of the last visits, the latest first.
    recent: Tensor
    #: All visits so far, for a plan that is run on the host; else none.
    visits: Tensor | None

    def of(self, records: Tensor) -> History:
        """The same of some of the records, by their rows."""
        visits = None if self.visits is None else self.visits[records.to(self.visits.device)]
        return History(self.visit[records], self.lasting[:, records], self.recent[:, :, records], visits)


class Past(torch.nn.Module):
    """The windows of a plan.

    ``codes`` gives, for each code in a window, the row of the code among those that are read.
    """

    def __init__(self, codes: Sequence[int], windows: Sequence[Window], max_visits: int) -> None:
        super().__init__()
        self.register_buffer("codes", index(codes), persistent=False)
        # At which visits what is found lasts: those that windows number, or all.
        stays = torch.zeros((max_visits + 2, len(codes)), dtype=torch.bool)
        for number, window in enumerate(windows):
            named = [visit for visit in window.visits if visit < len(stays)]
            stays[slice(None) if window.past else named, number] = True
        self.register_buffer("stays", stays, persistent=False)
        self.distances = sorted({distance for window in windows for distance in window.distances})
        back = [number for number, window in enumerate(windows) if window.distances]
        self.register_buffer("back", index(back), persistent=False)
        counted = [[distance in windows[number].distances for number in back] for distance in self.distances]
        counted_back = torch.tensor(counted, dtype=torch.bool).view(len(self.distances), len(back))
        self.register_buffer("counted", counted_back, persistent=False)
        self.register_buffer("steps", index(distance - 1 for distance in self.distances), persistent=False)
        self.depth = max(self.distances, default=0)

    def __len__(self) -> int:
        return len(self.codes)

    def of(self, read: Tensor) -> Tensor:
        """What holds before each visit; ``read`` and the answer are rows, records, visits."""
        length = read.shape[2]
        codes = read[self.codes]
        if not len(self):
            return codes
        stays = codes & self.stays[:length].t()[:, None]
        # Counted, not taken the maximum of: that would keep 8 bytes of indices for each.
        so_far = stays.cumsum(2, dtype=torch.int32 if length > 0x7FFF else torch.int16) > 0
        found = torch.zeros_like(codes)
        found[:, :, 1:] = so_far[:, :, :-1]
        if self.depth:
            back = codes[self.back]
            counted = torch.zeros_like(back)
            for number, distance in enumerate(self.distances):
                if distance < length:
                    counted[:, :, distance:] |= back[:, :, : length - distance] & self.counted[number][:, None, None]
            found[self.back] |= counted
        return found

    def begin(self, batch: int) -> History:
        """No visit yet."""
        device = self.codes.device
        nothing = torch.zeros((self.depth + 1, max(len(self), len(self.back)), batch), dtype=torch.bool, device=device)
        visit = torch.zeros(batch, dtype=torch.long, device=device)
        return History(visit, nothing[0, : len(self)], nothing[1:, : len(self.back)], None)

    def now(self, history: History) -> Tensor:
        """What holds before the visit that comes next: rows, records."""
        if not self.depth:
            return history.lasting
        back = (history.recent[self.steps] & self.counted[:, :, None]).any(0)
        found = history.lasting.clone()
        found[self.back] |= back
        return found

    def advance(self, history: History, read: Tensor) -> History:
        """Takes in a visit: rows, records."""
        codes = read[self.codes]
        stays = self.stays[history.visit.clamp(max=len(self.stays) - 1)].t()
        recent = history.recent
        if self.depth:
            recent = torch.cat([codes[self.back][None], recent[:-1]])
        return History(history.visit + 1, history.lasting | codes & stays, recent, history.visits)
