"""How fast does PyTorch train the same GPT on this GPU? Eager, bf16 parameters, flash attention by
scaled_dot_product_attention; forward and backward alone, median of 20, as tokens a second. For
ci/gpu_check, where PyTorch is installed: its argument is a record of shardmark of the same shape, and
less than 0.7 of PyTorch's rate is red."""
import json
import statistics
import sys

import torch
from torch import nn
from torch.nn import functional as F

BATCH, SEQUENCE, WIDTH, HEADS, LAYERS, VOCABULARY = 16, 1024, 768, 12, 12, 50257


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (
            part.view(b, t, HEADS, WIDTH // HEADS).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).split(WIDTH, dim=2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, WIDTH))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(SEQUENCE, WIDTH)
        self.blocks, self.norm = nn.Sequential(*(Block() for _ in range(LAYERS))), nn.LayerNorm(WIDTH)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.places(torch.arange(SEQUENCE, device=tokens.device))
        logits = self.norm(self.blocks(x)) @ self.tokens.weight.T
        return F.cross_entropy(logits.view(-1, VOCABULARY), targets.view(-1))


def main():
    torch.manual_seed(1)
    model = Gpt().to("cuda", torch.bfloat16)
    tokens = torch.randint(0, 256, (BATCH, SEQUENCE), device="cuda")
    times = []
    for i in range(25):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        model(tokens, tokens).backward()
        end.record()
        end.synchronize()
        model.zero_grad()
        times.append(begin.elapsed_time(end))
    ms = statistics.median(times[5:])
    with open(sys.argv[1], encoding="utf-8") as records:
        step = json.loads(records.readline())["time"]["median"]
    ours = (step["forward_ns"] + step["backward_ns"]) * 1e-6
    for name, took in ("PyTorch " + torch.__version__, ms), ("shardmark", ours):
        print(f"{name}: forward and backward {took:.2f} ms, {BATCH * SEQUENCE / took * 1e3:,.0f} tokens/s")
    print(f"shardmark has {ms / ours:.2f} of PyTorch's rate (0.70 asked for)")
    sys.exit(ms / ours < 0.7)


main()
