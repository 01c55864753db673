#!/usr/bin/env python3
"""What do losses and gradient norms look like when PyTorch trains the same model on the same bytes?

Writes one file a model beside this script (or into --out), which golden_test.cpp holds the training
loop against. The model is made of PyTorch's own operators, gradients come from autograd, and the
update from torch.optim.AdamW. Ours alone are the first values of parameters and the choice of
samples, both functions of whole numbers, written here again from their definitions
(kernels/counter_random.hpp, kernels/array_ops.hpp, impl/corpus.hpp).

Needs torch and numpy; some seconds on one core: make_golden.py [--out FOLDER]
"""
import argparse
import json
import math
import pathlib

import numpy
import torch
import torch.nn.functional as F

MODELS = {
    "gpt": "gpt:layers=2,width=32,heads=4",
    "gpt-untied": "gpt:layers=3,width=24,heads=2,tied=0,inner=40,positions=48,epsilon=0.001",
    "llama": "llama:layers=2,width=32,heads=4,kv_heads=2,inner=88",
    "llama-figures": "llama:layers=2,width=32,heads=6,kv_heads=2,head_dim=8,inner=40,tied=0,"
                     "qkv_bias=1,o_bias=1,mlp_bias=1,epsilon=0.001,theta=500,rope_factor=4,"
                     "rope_low=1,rope_high=3,rope_original=64",
}
TRAINING = {"sequence": 32, "batch": 4, "steps": 20, "seed": 7, "text_bytes": 4096, "lr": 1e-3,
            "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "decay": 0.01, "clip": 1.0}
GOLDEN = numpy.uint64(0x9E3779B97F4A7C15)


def scramble(x):
    """SplitMix64's finaliser, modulo 2^64."""
    x = (x ^ (x >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return x ^ (x >> numpy.uint64(31))


def text(size):
    """Letters in an order that can be learnt in part: byte i is 97 + (i^2 / 3 + 5 i) mod 26."""
    return numpy.array([97 + (i * i // 3 + 5 * i) % 26 for i in range(size)], dtype=numpy.int64)


def samples(step, t):
    """Tokens and targets of a step, (batch, sequence) each."""
    letters = text(t["text_bytes"])
    key = scramble(numpy.uint64(t["seed"]) + GOLDEN)
    rows = []
    for b in range(t["batch"]):
        sample = numpy.uint64(step * t["batch"] + b + 1)
        start = int(scramble(key + GOLDEN * sample) % numpy.uint64(len(letters) - t["sequence"]))
        rows.append(letters[start:start + t["sequence"] + 1])
    rows = torch.tensor(numpy.stack(rows))
    return rows[:, :-1], rows[:, 1:]


def bell(size, scale, stream, seed):
    """Sums of four 16-bit uniforms, with the mean removed and the deviation `scale`."""
    key = scramble(scramble(numpy.uint64(seed) + GOLDEN) + numpy.uint64(stream) * GOLDEN + GOLDEN)
    random = scramble(key + numpy.arange(size, dtype=numpy.uint64) * GOLDEN)
    total = sum((random >> numpy.uint64(s)) & numpy.uint64(0xFFFF) for s in (0, 16, 32, 48))
    centred = (total.astype(numpy.int64) - 2 * 0xFFFF).astype(numpy.float32)
    deviation = math.sqrt(4 * (2.0**32 - 1) / 12)
    return centred * numpy.float32(float(numpy.float32(scale)) / deviation)


class Parameters:
    """Made in the order in which a model uses them first; their number is their stream."""

    def __init__(self, seed):
        self.seed, self.all = seed, []

    def _add(self, values, shape):
        start = torch.tensor(values, dtype=torch.float32).reshape(shape)
        self.all.append(torch.nn.Parameter(start))
        return self.all[-1]

    def bell(self, scale, *shape):
        return self._add(bell(math.prod(shape), scale, len(self.all), self.seed), shape)

    def constant(self, value, size):
        return self._add(numpy.full(size, value), (size,))

    def linear(self, scale, inputs, outputs, bias):
        weight = self.bell(scale, inputs, outputs)
        return weight, self.constant(0, outputs) if bias else None


def apply(x, layer):
    weight, bias = layer
    return F.linear(x, weight.T, bias)


def attend(q, k, v):
    """(batch, sequence, heads, head_dim) each; several heads of q may share one of k and v."""
    shared = q.shape[2] // k.shape[2]
    k, v = (x.repeat_interleave(shared, dim=2) for x in (k, v))
    out = F.scaled_dot_product_attention(*(x.transpose(1, 2) for x in (q, k, v)), is_causal=True)
    return out.transpose(1, 2).flatten(2)


class Gpt:
    def __init__(self, f, p, sequence):
        d, layers = f["width"], f["layers"]
        self.heads, self.epsilon = f["heads"], f.get("epsilon", 1e-5)
        inner, into_residual = f.get("inner", 4 * d), 0.02 / math.sqrt(2 * layers)
        self.tokens = p.bell(0.02, 256, d)
        self.positions = p.bell(0.01, f.get("positions", sequence), d)
        self.blocks = [(self.norm(p, d), p.linear(0.02, d, 3 * d, True),
                        p.linear(into_residual, d, d, True), self.norm(p, d),
                        p.linear(0.02, d, inner, True), p.linear(into_residual, inner, d, True))
                       for _ in range(layers)]
        self.last = self.norm(p, d)
        self.head = self.tokens if f.get("tied", 1) else p.bell(0.02, 256, d)

    @staticmethod
    def norm(p, d):
        return p.constant(1, d), p.constant(0, d)

    def logits(self, tokens):
        def normed(x, norm):
            return F.layer_norm(x, x.shape[-1:], *norm, self.epsilon)

        x = F.embedding(tokens, self.tokens) + self.positions[:tokens.shape[1]]
        for norm1, qkv, proj, norm2, fc, out in self.blocks:
            parts = apply(normed(x, norm1), qkv).chunk(3, dim=-1)
            x = x + apply(attend(*(y.unflatten(-1, (self.heads, -1)) for y in parts)), proj)
            x = x + apply(F.gelu(apply(normed(x, norm2), fc), approximate="tanh"), out)
        return F.linear(normed(x, self.last), self.head)


class Llama:
    def __init__(self, f, p, sequence):
        d, layers, inner = f["width"], f["layers"], f["inner"]
        self.heads, self.epsilon = f["heads"], f.get("epsilon", 1e-5)
        self.kv_heads = f.get("kv_heads", self.heads)
        self.head_dim = f.get("head_dim", d // self.heads)
        attended = self.heads * self.head_dim
        qkv = attended + 2 * self.kv_heads * self.head_dim
        qkv_bias, o_bias, mlp_bias = (f.get(b, 0) for b in ("qkv_bias", "o_bias", "mlp_bias"))
        into_residual = 0.02 / math.sqrt(2 * layers)
        self.turns = self.turn_of(f, sequence)
        self.tokens = p.bell(0.02, 256, d)
        self.blocks = [(p.constant(1, d), p.linear(0.02, d, qkv, qkv_bias),
                        p.linear(into_residual, attended, d, o_bias), p.constant(1, d),
                        p.linear(0.02, d, 2 * inner, mlp_bias),
                        p.linear(into_residual, inner, d, mlp_bias)) for _ in range(layers)]
        self.last = p.constant(1, d)
        self.head = self.tokens if f.get("tied", 1) else p.bell(0.02, 256, d)

    def turn_of(self, f, sequence):
        """e^(i t frequency), (sequence, 1, head_dim / 2): what position t multiplies a pair by."""
        pairs = torch.arange(0, self.head_dim, 2, dtype=torch.float64)
        frequency = f.get("theta", 10000.0)**(-pairs / self.head_dim)
        factor, original = f.get("rope_factor", 1.0), f.get("rope_original", 0)
        if original:
            low, high = f["rope_low"], f["rope_high"]
            smooth = (original / (2 * math.pi / frequency) - low) / (high - low)
            smooth = smooth.clamp(0, 1)
            frequency = (1 - smooth) * frequency / factor + smooth * frequency
        else:
            frequency = frequency / factor
        angle = torch.outer(torch.arange(sequence, dtype=torch.float64), frequency)
        return torch.polar(torch.ones_like(angle), angle).to(torch.complex64)[:, None, :]

    def turned(self, x):
        first, second = x.chunk(2, dim=-1)
        y = torch.complex(first, second) * self.turns
        return torch.cat((y.real, y.imag), dim=-1)

    def logits(self, tokens):
        def normed(x, gain):
            return F.rms_norm(x, x.shape[-1:], gain, self.epsilon)

        x = F.embedding(tokens, self.tokens)
        for norm1, qkv, o, norm2, gate_up, down in self.blocks:
            q, k, v = apply(normed(x, norm1), qkv).unflatten(-1, (-1, self.head_dim)).split(
                (self.heads, self.kv_heads, self.kv_heads), dim=2)
            x = x + apply(attend(self.turned(q), self.turned(k), v), o)
            gate, up = apply(normed(x, norm2), gate_up).chunk(2, dim=-1)
            x = x + apply(F.silu(gate) * up, down)
        return F.linear(normed(x, self.last), self.head)


def train(form, t):
    family, figures = form.split(":")
    f = {k: float(v) if "." in v else int(v) for k, v in
         (figure.split("=") for figure in figures.split(","))}
    p = Parameters(t["seed"])
    model = {"gpt": Gpt, "llama": Llama}[family](f, p, t["sequence"])
    update = torch.optim.AdamW(p.all, lr=t["lr"], betas=(t["beta1"], t["beta2"]),
                               eps=t["epsilon"], weight_decay=t["decay"])
    losses, norms = [], []
    for step in range(t["steps"]):
        tokens, targets = samples(step, t)
        loss = F.cross_entropy(model.logits(tokens).flatten(0, 1), targets.flatten())
        update.zero_grad()
        loss.backward()
        losses.append(loss.item())
        norms.append(math.sqrt(sum(w.grad.double().square().sum().item() for w in p.all)))
        torch.nn.utils.clip_grad_norm_(p.all, t["clip"])
        update.step()
    return {"made_with": "torch " + torch.__version__.split("+")[0], "model": form,
            "parameters": sum(w.numel() for w in p.all), **t, "loss": losses, "norm": norms}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    folder = parser.parse_args().out
    numpy.seterr(over="ignore")  # counters wrap
    torch.set_num_threads(1)
    for name, form in MODELS.items():
        result = train(form, TRAINING)
        (folder / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
        print(f"{name}: loss {result['loss'][0]:.4f} to {result['loss'][-1]:.4f}")


if __name__ == "__main__":
    main()
