# %% [markdown]
# # Constrain a GRU of 40 lines
# Any PyTorch model that gives a logit for each code of the next visit can obey a plan. In training the loss is taken where rules do not
# decide; in generation the layer decides visits, so that no rule is broken. PyTorch is needed.

# %%
from typing import Any

import torch
from torch import nn

import conseq as cq
from conseq.torch import ConstraintLayer

torch.manual_seed(0)
cohort = cq.Cohort.simulate("inpatient", patients=400, seed=7, codes_only=True)
rules = cohort.truth()
plan = rules.compile(cohort, max_visits=8)
layer = ConstraintLayer(plan)


# %%
class Gru(nn.Module):
    """A logit for each code of every visit, from the visits before."""

    def __init__(self, codes: int, width: int = 64) -> None:
        super().__init__()
        self.enter, self.gru = nn.Linear(codes, width), nn.GRU(width, width, batch_first=True)
        self.leave = nn.Linear(width, codes)

    def forward(self, visits: torch.Tensor) -> torch.Tensor:
        before = torch.cat([torch.zeros_like(visits[:, :1]), visits[:, :-1]], dim=1)
        return self.leave(self.gru(self.enter(before))[0])


def tensor(records: list[dict[str, Any]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Records as visits x codes, padded, and how many visits each has."""
    number = {code: column for column, code in enumerate(layer.codes)}
    lengths = torch.tensor([1 + len(record["visits"]) for record in records])
    visits = torch.zeros(len(records), int(lengths.max()), len(number))
    for row, record in enumerate(records):
        for visit, codes in enumerate([record["static"], *record["visits"]]):
            visits[row, visit, [number[code] for code in codes]] = 1.0
        visits[row, lengths[row] - 1, layer.end] = 1.0
    return visits, lengths


visits, lengths = tensor([record for record in cohort.to_records() if len(record["visits"]) <= 8])

# %% [markdown]
# Training: the loss is taken where the model decides, and costs nothing where rules do.

# %%
gru = Gru(len(layer.codes))
optimizer = torch.optim.Adam(gru.parameters(), lr=1e-2)
for epoch in range(5):
    for rows in torch.randperm(len(visits)).split(64):
        optimizer.zero_grad()
        loss = layer.loss(gru(visits[rows]), visits[rows], lengths[rows])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch + 1}: {loss.item():.4f} nats a code")

# %% [markdown]
# Generation: the layer decides every visit, and records end where it says `END`.


# %%
@torch.no_grad()
def next_visit(so_far: torch.Tensor) -> torch.Tensor:
    padded = torch.cat([so_far.float(), torch.zeros(len(so_far), 1, len(layer.codes))], dim=1)
    return gru(padded)[:, -1]


new, new_lengths = layer.generate(next_visit, range(1_000), seed=1)

# %%
names = layer.codes
records = [
    {
        "id": row,
        "static": [names[column] for column in visits[0].nonzero().flatten()],
        "visits": [[names[column] for column in visit[:-1].nonzero().flatten()] for visit in visits[1:length]],
    }
    for row, (visits, length) in enumerate(zip(new, new_lengths))
]
audit = plan.audit(cq.Cohort.from_records(records))
print(audit)
assert not audit.found
