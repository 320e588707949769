"""Networks of this package as modules of PyTorch: the same logits, and the way back."""

from __future__ import annotations

import math
import random

import conseq as cq
import pytest

try:
    import torch
except ImportError:
    pytest.skip("PyTorch is not installed: networks as modules were not tested", allow_module_level=True)

from conseq.torch import ConstraintLayer, Halo, Recurrent
from torch.nn import functional

LONGEST = 8


def toy_records() -> list[dict[str, object]]:
    """Records in which codes come together, and come back."""
    source, records = random.Random(5), []
    for number in range(160):
        static = [source.choice(["SEX//F", "SEX//M"])]
        ill, visits = source.random() < 0.4, []
        for _ in range(source.randint(1, LONGEST)):
            codes = {f"C{source.randrange(12)}" for _ in range(source.randint(0, 4))}
            visits.append(sorted(codes | ({"ILL", "RX"} if ill and source.random() < 0.9 else set())))
        records.append({"id": str(number), "static": static, "visits": visits})
    return records


@pytest.fixture(scope="module")
def cohort() -> cq.Cohort:
    return cq.Cohort.from_records(toy_records())


@pytest.fixture(scope="module", params=["recurrent", "halo"])
def model(request: pytest.FixtureRequest, cohort: cq.Cohort) -> cq.Model:
    return cq.Model.train(cohort, network=request.param, size="tiny", epochs=1, max_visits=LONGEST + 1, seed=2, progress=False)


def tensors(model: cq.Model) -> tuple[torch.Tensor, torch.Tensor]:
    """The visits of a cohort in the columns of a model, and how many each record has."""
    column = {code: at for at, code in enumerate([*model.vocabulary, "END"])}
    records = toy_records()
    lengths = torch.tensor([len(record["visits"]) + 1 for record in records])
    visits = torch.zeros((len(records), int(lengths.max()), len(column)))
    for number, record in enumerate(records):
        for visit, codes in enumerate([record["static"], *record["visits"]]):
            visits[number, visit, [column[code] for code in codes]] = 1.0
        visits[number, lengths[number] - 1, column["END"]] = 1.0
    return visits, lengths


def test_records_are_as_likely(model: cq.Model, cohort: cq.Cohort) -> None:
    network = model.as_torch()
    assert isinstance(network, Halo if model.card["kind"] == "halo" else Recurrent)
    visits, lengths = tensors(model)
    with torch.no_grad():
        logits = network(visits).double()
    nats = functional.binary_cross_entropy_with_logits(logits, visits.double(), reduction="none").sum(2)
    real = torch.arange(visits.shape[1]) < lengths[:, None]
    found = -torch.where(real, nats, 0.0).sum(1)
    expected = torch.tensor(model.log_prob(cohort, no_rules=True, progress=False), dtype=torch.float64)
    assert bool(torch.isfinite(expected).all())
    # The sum of what is off in every decision. (A visit after the longest is left: the last one would surely end a record.)
    assert torch.allclose(found, expected, rtol=1e-5, atol=1e-4 * math.sqrt(visits.shape[1] * visits.shape[2])), (found - expected).abs().max()


def test_it_can_be_trained_and_put_back(model: cq.Model, cohort: cq.Cohort) -> None:
    network = model.as_torch()
    visits, lengths = tensors(model)
    layer = ConstraintLayer(cq.Rules.parse("rule r: END => END").compile(model.vocabulary, max_visits=LONGEST))
    optimiser = torch.optim.SGD(network.parameters(), 0.1)
    losses = []
    for _ in range(3):
        loss = layer.loss(network(visits), visits, lengths)
        optimiser.zero_grad()
        loss.backward()
        assert all(bool(torch.isfinite(one.grad).all()) for one in network.parameters() if one.grad is not None)
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    changed = network.into(model)
    again = changed.as_torch()
    with torch.no_grad():
        assert torch.allclose(again(visits), network(visits), atol=1e-4)
    assert not torch.equal(torch.tensor(changed.log_prob(cohort, no_rules=True)), torch.tensor(model.log_prob(cohort, no_rules=True)))
    same = model.as_torch().into(model)
    assert same.log_prob(cohort, no_rules=True) == model.log_prob(cohort, no_rules=True)


def test_models_without_a_network_and_other_visits_are_refused(model: cq.Model, cohort: cq.Cohort) -> None:
    counted = cq.Model.train(cohort, generator="markov", progress=False)
    with pytest.raises(cq.InputError, match="has no network"):
        counted.as_torch()
    network = model.as_torch()
    with pytest.raises(cq.InputError, match="records x visits x"):
        network(torch.zeros(2, 3, 4))
    with pytest.raises(cq.InputError, match="no network"):
        network.into(counted)
