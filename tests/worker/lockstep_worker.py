"""Ranks that train small mixtures of experts under ZeRO-3, as leaves and in lockstep; started under torchrun.

    lockstep_worker.py OUT STEPS FIRST:LAST CASE…

The seeds are FIRST to LAST − 1. A case is `model/way/checkpointing`, such as `shared/lockstep:4/none`; with `/ahead`
behind it, one that gathers ahead and keeps what is used again soon. After its steps each model is evaluated once. Each
rank trains on texts of its own, one model for each seed, and writes what it saw to OUT/rank-<R>.json: for each case a
list of {"losses", "live" (elements), "gathered" (bytes of the last micro-step), "evaluated", "seconds", "trained",
"note"} or {"error"}.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
import weakref
from pathlib import Path

import deepspeed
import torch
import torch.distributed as dist
from deepspeed.runtime.zero.partition_parameters import ZeroParamStatus
from deepspeed.runtime.zero.partitioned_param_coordinator import PartitionedParameterCoordinator
from torch import nn
from torch.utils.checkpoint import checkpoint

sys.path.insert(0, str(Path(__file__).parents[2]))
from allranks.worker import expert_slices, moe
from tests.worker.lockstep_worker_sizes import CHOSEN, EXPERTS, INNER, LAYERS, LENGTH, WIDTH, WORDS

warnings.filterwarnings("ignore")
GATHERED = [0]


def count_gathers() -> None:
    """Adds up the bytes of what DeepSpeed gathers, where all of it passes."""
    backend_class = sys.modules["deepspeed.comm.torch"].TorchBackend
    original = backend_class.all_gather_into_tensor

    def wrapped(backend, output_tensor, *args, **kwargs):
        GATHERED[0] += output_tensor.numel() * output_tensor.element_size()
        return original(backend, output_tensor, *args, **kwargs)

    backend_class.all_gather_into_tensor = wrapped
    send = backend_class.broadcast

    def sent(backend, tensor, *args, **kwargs):
        GATHERED[0] += tensor.numel() * tensor.element_size()
        return send(backend, tensor, *args, **kwargs)

    backend_class.broadcast = sent


class Feed(nn.Module):
    def __init__(self, inner: int):
        super().__init__()
        self.gate_proj, self.up_proj = (
            nn.Linear(WIDTH, inner, bias=False),
            nn.Linear(WIDTH, inner, bias=False),
        )
        self.down_proj = nn.Linear(inner, WIDTH, bias=False)

    def forward(self, x):
        return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Routed(nn.Module):
    """Skips an expert without tokens, as most blocks do; `shared` runs behind the experts, or there is none."""

    def __init__(self, shared: bool):
        super().__init__()
        self.gate = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = nn.ModuleList(Feed(INNER) for _ in range(EXPERTS))
        self.shared = Feed(INNER) if shared else None
        self.order = range(EXPERTS)

    def forward(self, hidden):
        rows = hidden.reshape(-1, WIDTH)
        weights, chosen = self.gate(rows).softmax(-1).topk(CHOSEN)
        out = torch.zeros_like(rows)
        for number in self.order:
            token, slot = torch.where(chosen == number)
            if len(token):
                out.index_add_(0, token, self.experts[number](rows[token]) * weights[token, slot, None])
        if self.shared is not None:
            out = out + self.shared(rows)
        return out.reshape(hidden.shape)


class Together(nn.Module):
    """All experts in two tensors, as transformers 5 holds them; the activation runs once for each with tokens."""

    def __init__(self):
        super().__init__()
        self.num_experts, self.act_fn = EXPERTS, nn.SiLU()
        self.gate_up_proj = nn.Parameter(torch.randn(EXPERTS, 2 * INNER, WIDTH) / 8)
        self.down_proj = nn.Parameter(torch.randn(EXPERTS, WIDTH, INNER) / 6)

    def forward(self, hidden_states, top_k_index, top_k_weights):
        out = torch.zeros_like(hidden_states)
        for number in range(self.num_experts):
            token, slot = torch.where(top_k_index == number)
            if not len(token):
                continue
            gate, up = nn.functional.linear(hidden_states[token], self.gate_up_proj[number]).chunk(2, dim=-1)
            rows = nn.functional.linear(self.act_fn(gate) * up, self.down_proj[number])
            out.index_add_(0, token, rows * top_k_weights[token, slot, None])
        return out


class Fused(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts, self.shared = Together(), Feed(INNER)

    def forward(self, hidden):
        rows = hidden.reshape(-1, WIDTH)
        weights, chosen = self.gate(rows).softmax(-1).topk(CHOSEN)
        return (self.experts(rows, chosen, weights) + self.shared(rows)).reshape(hidden.shape)


class Layer(nn.Module):
    def __init__(self, kind: str):
        super().__init__()
        self.norm, self.mix = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH, bias=False)
        self.mlp = Fused() if kind == "fused" else Routed(kind != "bare")

    def forward(self, x):
        x = x + self.mix(x).cumsum(1) / LENGTH
        return x + self.mlp(self.norm(x))


class Model(nn.Module):
    def __init__(self, kind: str, checkpointing: str):
        super().__init__()
        self.embed, self.head = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS, bias=False)
        self.layers = nn.ModuleList(Layer(kind) for _ in range(LAYERS))
        # as PEFT's enable_input_require_grads does
        self.embed.register_forward_hook(lambda module, args, output: output.requires_grad_())
        self.checkpointing = checkpointing
        if kind == "disordered":
            for layer in self.layers:
                layer.mlp.order = range(EXPERTS - 1, -1, -1)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            if self.checkpointing == "none":
                x = layer(x)
            else:
                x = checkpoint(layer, x, use_reentrant=self.checkpointing == "reentrant")
        return nn.functional.cross_entropy(self.head(x)[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten())


def deepseek(checkpointing: str):
    """transformers 4's own block, which keeps one module an expert."""
    from transformers import DeepseekV3Config, DeepseekV3ForCausalLM

    config = DeepseekV3Config(
        hidden_size=WIDTH, num_hidden_layers=LAYERS, n_routed_experts=EXPERTS, n_group=4, topk_group=2,
        vocab_size=WORDS, first_k_dense_replace=1, q_lora_rank=32, kv_lora_rank=16, qk_nope_head_dim=16,
        qk_rope_head_dim=8, v_head_dim=16, num_attention_heads=4, num_key_value_heads=4, intermediate_size=96,
        moe_intermediate_size=INNER, num_experts_per_tok=CHOSEN, n_shared_experts=1, use_cache=False,
    )  # fmt: skip
    model = DeepseekV3ForCausalLM(config)
    if checkpointing != "none":
        model.gradient_checkpointing_enable({"use_reentrant": checkpointing == "reentrant"})
        model.enable_input_require_grads()
    return model


def trains(kind: str, name: str) -> bool:
    if kind == "experts-train":
        return ".experts." in name or "mix" in name
    return any(part in name for part in ("mix", "q_a_proj", "o_proj"))


class Live:
    """The most elements of parameters that are whole at once, counted after each gather."""

    def __init__(self):
        self.model, self.most, self.sliced = None, 0, 0
        original = PartitionedParameterCoordinator.fetch_sub_module

        def fetch(coordinator, *args, **kwargs):
            result = original(coordinator, *args, **kwargs)
            self.count()
            return result

        PartitionedParameterCoordinator.fetch_sub_module = fetch
        start = expert_slices.Gathering.__init__

        def gather(gathering, *args):
            start(gathering, *args)
            for tensor in gathering.found.values():
                self.sliced += tensor.numel()
                weakref.finalize(tensor, self.gone, tensor.numel())
            self.count()

        expert_slices.Gathering.__init__ = gather

    def count(self) -> None:
        whole = (p.ds_numel for p in self.parameters if p.ds_status != ZeroParamStatus.NOT_AVAILABLE)
        self.most = max(self.most, sum(whole) + self.sliced)

    def gone(self, elements: int) -> None:
        self.sliced -= elements

    def watch(self, model) -> None:
        self.parameters, self.most = list(model.parameters()), 0


CONFIG = {
    "train_micro_batch_size_per_gpu": 1,
    "bf16": {"enabled": True},
    "zero_optimization": {
        "stage": 3,
        "stage3_param_persistence_threshold": 0,
        "stage3_prefetch_bucket_size": 0,
        "stage3_max_live_parameters": 0,
        "stage3_max_reuse_distance": 0,
    },
}


AHEAD = {
    "stage3_prefetch_bucket_size": 20_000,
    "stage3_max_live_parameters": 60_000,
    "stage3_max_reuse_distance": 9_000,
}


def train(case: str, seed: int, steps: int, live: Live) -> dict:
    kind, way, checkpointing, *ahead = case.split("/")
    torch.manual_seed(7)
    model = deepseek(checkpointing) if kind == "deepseek" else Model(kind, checkpointing)
    model = model.to(torch.bfloat16)
    for name, parameter in model.named_parameters():
        parameter.requires_grad = trains(kind, name)
    names = [name for name, _ in model.named_parameters()]
    arguments = {
        "model": model,
        "config": {
            **CONFIG,
            "zero_optimization": {**CONFIG["zero_optimization"], **(AHEAD if ahead else {})},
        },
        "optimizer": torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3),
    }
    note, experts = moe.arrange((), arguments, way)
    assert (experts is not None) == way.startswith("lockstep"), note
    engine = deepspeed.initialize(**arguments)[0]
    if experts is not None:
        note = experts.begin(engine) or note
    assert [name for name, _ in engine.module.named_parameters()] == names
    live.watch(model)
    # Out of order, each rank would be told at another expert, and wait for the other there.
    texts = torch.Generator().manual_seed(100 * seed + (dist.get_rank() if kind != "disordered" else 0))
    losses, gathered, started = [], 0, time.monotonic()
    for _ in range(steps):
        ids = torch.randint(0, WORDS, (1, LENGTH), generator=texts)
        GATHERED[0] = 0
        try:
            loss = engine(input_ids=ids, labels=ids).loss if kind == "deepseek" else engine(ids)
        except RuntimeError as error:
            return {"error": str(error)}
        engine.backward(loss)
        gathered = GATHERED[0]
        engine.step()
        losses.append(loss.item())
    seconds, most = time.monotonic() - started, live.most
    with torch.no_grad():
        engine.eval()
        evaluated = engine(input_ids=ids, labels=ids).loss if kind == "deepseek" else engine(ids)
    with deepspeed.zero.GatheredParameters([p for p in model.parameters() if p.requires_grad]):
        trained = sum(p.double().abs().sum().item() for p in model.parameters() if p.requires_grad)
    engine.destroy()
    seen = {"losses": losses, "live": most, "gathered": gathered, "seconds": seconds, "trained": trained}
    return {**seen, "evaluated": evaluated.item(), "note": note}


def main() -> None:
    out, steps, cases = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[4:]
    seeds = range(*map(int, sys.argv[3].split(":")))
    count_gathers()
    deepspeed.init_distributed("gloo")
    live, found = Live(), {}
    for case in cases:
        found[case] = [train(case, seed, steps, live) for seed in seeds]
        if dist.get_rank() == 0:
            print(
                case,
                *(one.get("error") or (one["losses"][-1], one["live"]) for one in found[case]),
                flush=True,
            )
    (out / f"rank-{dist.get_rank()}.json").write_text(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
