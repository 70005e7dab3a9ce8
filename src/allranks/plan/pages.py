"""The pages of the findings that planning makes."""

from __future__ import annotations

PAGES = {
    "model-config-unreadable": """The model's config.json is not at hand, or of a family that is not described here.

What it looks at
  The config.json beside the run file, in the model's folder on this machine, or as a node sent it.

Why it matters
  Parameters, memory, traffic and the adapter's tensors cannot be planned; the run is judged by what it reports.

What to do
  Put the model's config.json beside the run file, or allranks check, which reads it on the nodes.
""",
    "lora-targets-missing": """Names in lora_target that exist in no layer of the model.

What it looks at
  lora_target against the names of the model's linear layers, from config.json alone.

Why it matters
  PEFT trains what matches and says nothing of the rest: on DeepSeek-V3 `q_proj,v_proj,k_proj,o_proj` trains o_proj
  alone, 22,986,752 parameters instead of 97,006,592.

What to do
  Use the list that the finding prints: the model's own names for the same layers.
""",
    "lora-target-unsupported": """A LoRA target that is no linear layer.

What it looks at
  lora_target against the kinds of the layers it matches.

Why it matters
  PEFT raises ValueError, after the model was loaded.

What to do
  Leave it out, or name the linear layers that the finding lists.
""",
    "lora-target-pattern": """A regular expression in lora_target under LLaMA-Factory.

What it looks at
  lora_target for characters of an expression.

Why it matters
  LLaMA-Factory hands PEFT a list of names, in which an expression matches nothing.

What to do
  Name the layers; the finding prints them. The run is given that list.
""",
    "finetuning-type-unknown": """A finetuning_type that the planner does not know.

What it looks at
  train.llamafactory.finetuning_type.

Why it matters
  Trainable parameters and memory cannot be told.

What to do
  lora, freeze and full are planned.
""",
    "freeze-modules-missing": """freeze_trainable_modules names what no layer has.

What it looks at
  freeze_trainable_modules against the model's modules.

Why it matters
  LLaMA-Factory raises ValueError, after the model was loaded.

What to do
  Use the names that the finding prints.
""",
    "gpu-twice": """Two ranks on one GPU.

What it looks at
  The rank map: the GPUs of nodes that share a host, and CUDA_VISIBLE_DEVICES.

Why it matters
  NCCL stops with 'Duplicate GPU detected' (by host and PCI bus), and each rank has half of the memory.

What to do
  Give each node of that host GPUs of its own: env: {CUDA_VISIBLE_DEVICES: …} under the node.
""",
    "gpu-count": """CUDA_VISIBLE_DEVICES names fewer GPUs than the node has ranks.

What it looks at
  CUDA_VISIBLE_DEVICES of the run and of the node against the node's ranks.

Why it matters
  The local ranks beyond end with 'invalid device ordinal'.

What to do
  As many GPUs as ranks, in either place.
""",
    "node-twice": """A node that is listed twice, or two nodes of one address.

What it looks at
  Names and addresses of the run file's nodes.

Why it matters
  Two torchruns on one host take the same GPUs; NCCL stops with 'Duplicate GPU detected'.

What to do
  Keep one entry, or write same_host: true where that is meant.
""",
    "gpu-memory-unknown": """How much memory a GPU has is not known.

What it looks at
  gpus.model, and the GPUs of nodes that have been asked.

Why it matters
  Whether the run fits cannot be said.

What to do
  gpus: {count: 8, model: A100-SXM4-80GB}, or allranks check, which asks the nodes.
""",
    "memory-does-not-fit": """The run needs more memory a GPU than there is.

What it looks at
  The planned bytes by part (docs/plan.md has each formula and its source) against the GPU's memory.

Why it matters
  It ends with 'CUDA out of memory', for the largest models only after an hour of loading.

What to do
  The finding prints the nearest setting that fits, ready to paste.
""",
    "memory-too-close": """The run fits by less than the estimate is off by.

What it looks at
  The planned bytes by part against the GPU's memory and the margin.

Why it matters
  Fragmentation or a long sample can end it in the middle.

What to do
  The finding prints the nearest setting with room.
""",
    "host-memory-short": """A node needs more host memory than it has.

What it looks at
  Host memory at loading, in a step and at a save, against the node's.

Why it matters
  The kernel kills a rank, and every other one waits for it.

What to do
  Fewer ranks a node, offload less, or what the finding prints.
""",
    "host-memory-loading": """Loading needs much host memory on every node.

What it looks at
  The model's experts and the version of transformers.

Why it matters
  transformers 5 has every rank join all experts in its own memory before it loads them.

What to do
  See the finding's own line.
""",
    "checkpointing-holds-layers": """Reentrant gradient checkpointing would hold every layer whole.

What it looks at
  LLaMA-Factory's use_reentrant_gc and DeepSpeed's version, with a frozen base.

Why it matters
  Memory grows by the whole model in the backward pass.

What to do
  Nothing: use_reentrant_gc: false is used instead. Write it into the run file to silence the note.
""",
    "checkpointing-fails-frozen": """Non-reentrant gradient checkpointing fails with this DeepSpeed.

What it looks at
  use_reentrant_gc and DeepSpeed's version, with a frozen base under ZeRO-3.

Why it matters
  The first backward raises CheckpointError: recomputed weights have another shape.

What to do
  use_reentrant_gc: true
""",
    "deepspeed-version": """A DeepSpeed key that the installed version may not know.

What it looks at
  The planned JSON against DeepSpeed's version on the nodes.

Why it matters
  An older one refuses the key at its start.

What to do
  The version that the finding names, on every node.
""",
    "deepspeed-key-void": """A key of the DeepSpeed JSON that has no effect.

What it looks at
  The JSON that the run file names, against what DeepSpeed and transformers read.

Why it matters
  It promises something that does not happen (the seeds' `moe` block, `activation_checkpointing` under transformers).

What to do
  Take it out.
""",
    "deepspeed-key-unknown": """A key below zero_optimization that DeepSpeed does not know.

What it looks at
  The JSON's keys against those of DeepSpeed 0.19.8.

Why it matters
  DeepSpeed refuses the whole configuration at its start.

What to do
  The nearest right key, which the finding names, or take it out.
""",
    "deepspeed-contradicts": """The DeepSpeed JSON and the training arguments differ.

What it looks at
  Batch size, accumulation, precision and schedule in both.

Why it matters
  transformers raises ValueError, after the model was loaded (the seeds: accumulation 16 against 1).

What to do
  "auto" in the JSON: transformers then fills in the training arguments.
""",
}


def ids() -> list[str]:
    return sorted(PAGES)


def page(name: str) -> str:
    """One finding's page. Raises KeyError for an unknown id."""
    return PAGES[name]
