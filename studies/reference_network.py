"""The network of the reference, rebuilt from its description, and sampled and trained as the reference does it.

Multi-hot visits, a GPT over visits, a head of two triangular layers. For each new visit the blocks run over all visits of
a batch, then the whole head runs again and again, each time for all codes, and takes over the lowest code that came on in any
record; the batch goes on until every record has ended. It trains on records padded to all slots, with Adam.

Where the stand-in could be made slower or faster, it is faster. Codes that a visit cannot hold get no probability, as a network
that has trained would give them none. The masks of the triangular layers are multiplied in at every pass, as the
published layer does, or beforehand, which the published code could do and does not.

`speed_cpu.py` and `speed_gpu.py` measure it beside ours. It runs wherever its parameters are.
"""

import json
import struct
import time

import torch
from torch.nn import functional


def read_tensors(path):
    """The tensors of a safetensors file, all of them F32."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = bytearray(file.read())
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            count = (end - start) // 4
            flat = torch.frombuffer(data, dtype=torch.float32, count=count, offset=start)
            tensors[name] = flat.reshape(entry["shape"]).clone()
    return tensors


class Network(torch.nn.Module):
    def __init__(self, sizes, tensors):
        super().__init__()
        self.sizes = sizes
        self.names = {name: name.replace(".", "_") for name in tensors}
        for name, tensor in tensors.items():
            self.register_parameter(self.names[name], torch.nn.Parameter(tensor))
        inputs = sizes["width"] + sizes["codes"]
        self.register_buffer("mask", torch.tril(torch.ones(inputs, inputs)).int())

    def weight(self, name):
        return getattr(self, self.names[name])

    def normed(self, x, name):
        weight, bias = self.weight(name + ".weight"), self.weight(name + ".bias")
        return functional.layer_norm(x, x.shape[-1:], weight, bias, 1e-5)

    def linear(self, x, name):
        weight, bias = self.weight(name + ".weight"), self.weight(name + ".bias")
        return torch.addmm(bias, x.reshape(-1, x.shape[-1]), weight).reshape(*x.shape[:-1], -1)

    def history(self, visits):
        """What the blocks make of every slot; all slots are computed."""
        count, slots = visits.shape[:2]
        x = functional.linear(visits, self.weight("transformer.vis_embed_mat.weight"))
        x = x + self.weight("transformer.pos_embed_mat.weight")[:slots]
        for number in range(self.sizes["layers"]):
            block = f"transformer.h.{number}."
            mixed = self.linear(self.normed(x, block + "ln_1"), block + "attn.c_attn")
            shape = (count, slots, self.sizes["heads"], -1)
            query, key, value = (part.reshape(shape).transpose(1, 2) for part in mixed.chunk(3, -1))
            seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            seen = seen.transpose(1, 2).reshape(x.shape)
            x = x + self.linear(seen, block + "attn.c_proj")
            wide = self.linear(self.normed(x, block + "ln_2"), block + "mlp.c_fc")
            wide = functional.gelu(wide, approximate="tanh")
            x = x + self.linear(wide, block + "mlp.c_proj")
        return self.normed(x, "transformer.ln_f")

    def masked(self):
        """The weights of the head without the empty halves."""
        return [self.mask * self.weight(f"ehr_head.auto{layer}.weight") for layer in (1, 2)]

    def head(self, history, visits, weights=None):
        """Logits of all codes of visits, each given the history and the codes before it."""
        first, second = weights or self.masked()
        x = torch.cat([history, visits], dim=-1)
        x = functional.relu(functional.linear(x, first, self.weight("ehr_head.auto1.bias")))
        x = functional.linear(x, second, self.weight("ehr_head.auto2.bias"))
        return x[..., self.sizes["width"] - 1 : -1]

    @property
    def device(self):
        return self.mask.device

    def allowed(self, slot):
        """1 for codes that a slot may hold: static ones in slot 1, the others later."""
        allowed = torch.zeros(self.sizes["codes"], device=self.device)
        statics, start = self.sizes["statics"], self.sizes["start"]
        allowed[slice(0, statics) if slot == 1 else slice(statics, start)] = 1
        return allowed


def dense(sizes, records, slots):
    """Records as multi-hot visits, padded with empty ones; slot 0 holds the mark of the start."""
    visits = torch.zeros(len(records), slots, sizes["codes"])
    visits[:, 0, sizes["start"]] = 1
    for number, record in enumerate(records):
        for slot, codes in enumerate(record, start=1):
            visits[number, slot, codes] = 1
    return visits


def clock(network):
    """The time, once all that was asked of the network's device is done."""
    if network.device.type == "cuda":
        torch.cuda.synchronize(network.device)
    return time.perf_counter()


@torch.inference_mode()
def generate(network, batch, fold, encounters):
    """A batch, as the reference samples, for at most so many encounters. Gives the visits, and for
    each of them the seconds of every pass of the head, the one of the blocks first."""
    sizes = network.sizes
    visits = dense(sizes, [[]] * batch, 1).to(network.device)
    ended = torch.zeros(batch, dtype=torch.bool, device=network.device)
    weights = network.masked() if fold else None
    times = []
    for slot in range(1, min(sizes["positions"], encounters + 2)):
        marks = [clock(network)]
        history = network.history(visits)[:, -1]
        marks.append(clock(network))
        visit, allowed = torch.zeros(batch, sizes["codes"], device=network.device), network.allowed(slot)
        code = 0
        while code < sizes["codes"]:
            probabilities = torch.sigmoid(network.head(history, visit, weights)) * allowed
            drawn = torch.bernoulli(probabilities)
            on = torch.nonzero(drawn[:, code:].sum(dim=0))
            if len(on) > 0:
                code += int(on[0])
                visit[:, code] = drawn[:, code]
                code += 1
            marks.append(clock(network))
            if len(on) == 0:
                break
        visits = torch.cat([visits, visit.unsqueeze(1)], dim=1)
        times.append([end - start for start, end in zip(marks, marks[1:])])
        ended |= visit[:, sizes["end"]].bool()
        if bool(ended.all()):
            break
    return visits, times


def train_step(network, optimiser, visits):
    """One step on padded records: the mean over all slots and codes, as the reference takes it."""
    start = clock(network)
    optimiser.zero_grad()
    history = network.history(visits)[:, :-1]
    logits = network.head(history, visits[:, 1:])
    loss = functional.binary_cross_entropy(torch.sigmoid(logits), visits[:, 1:])
    loss.backward()
    optimiser.step()
    return clock(network) - start
