"""The pages of the findings that planning makes, for `allranks explain ID`."""

from __future__ import annotations

from allranks.core.pages import Page, parse

PAGES = {
    "batch-changed": """A step sees another number of samples than in the run before, at the same learning rate.

## How it is found
Ranks × per_device_train_batch_size × gradient_accumulation_steps, and learning_rate, of this run and of the newest
run of the same name that was started from here.

## Why it matters
On more nodes an epoch has fewer steps. At the old learning rate they learn less from the same data; on fewer
nodes the steps are noisier and may diverge.

## What to do
Keep the samples per step with gradient_accumulation_steps, or scale the learning rate. For SGD scale it with the
batch, after a warm-up (Goyal et al. 2017, arXiv:1706.02677). For Adam scale it with the square root of the batch
(Malladi et al. 2022, arXiv:2205.10287). Both hold up to a batch that the model and the data decide: watch the
loss.

Topic: plan
""",
    "lora-targets-missing": """A LoRA target exists in no layer of the model.

## How it is found
allranks compares lora_target (and additional_target) with the module names of the model's config.json, as PEFT
does. A name is a module's last name or a suffix of its path; an expression must match the whole path.

## Why it matters
PEFT leaves out names that match nothing and says nothing while one of them matches. The run then trains less
than was meant: on DeepSeek-V3, q_proj,k_proj,v_proj,o_proj trains o_proj alone.

## What to do
Take the printed list: the model's own names for the same projections.

Topic: plan
""",
    "lora-target-unsupported": """A LoRA target is not a linear layer.

## How it is found
Modules that lora_target matches: containers (mlp), norms, routers and fused experts among them.

## Why it matters
PEFT raises ValueError, after the model was loaded.

## What to do
Name the Linear layers inside it. Fused experts are tensors, not modules: target_parameters reaches them.

Topic: plan
""",
    "lora-target-pattern": """lora_target is a regular expression.

## How it is found
Characters in lora_target that no module's name has.

## Why it matters
LLaMA-Factory splits lora_target at commas and hands PEFT a list, in which an expression is only a name that
matches nothing. allranks hands over the names that the expression matches instead.

## What to do
Nothing, or write the printed names.

Topic: plan
""",
    "finetuning-type-unknown": """The kind of fine-tuning is not planned here.

## How it is found
finetuning_type against lora, full and freeze.

## Why it matters
allranks cannot tell before the run which parameters train, and how much memory that needs.

## What to do
Take a few real steps with --smoke --accept finetuning-type-unknown; then start the run with the same --accept.

Topic: plan
""",
    "freeze-modules-missing": """A module to be left trainable does not exist.

## How it is found
freeze_trainable_modules against the names inside a layer, freeze_extra_modules against those outside.

## Why it matters
LLaMA-Factory raises ValueError, after the model was loaded.

## What to do
Take names from the printed list.

Topic: plan
""",
    "model-config-unreadable": """The model's numbers are not known.

## How it is found
allranks looks for the model's config.json in its folder on this machine, beside the run file and in this machine's
cache of the Hugging Face Hub. It also asks the nodes for the one in their folder or cache, and the Hub; its
model_type against the families that are described. Another family is described by the first Python with torch and
transformers: the training environment's, allranks' own, then those of PATH.

## Why it matters
Parameters, memory and traffic cannot be planned, so nobody can say whether the run fits, and the adapter's size is
not known before it is saved. For your own script (train.command) it is only noted: if its command names a model
after --model_name_or_path, parameters are counted, but how many of them it trains is not known. With a container
the image may hold the model's folder: then `check` warns, and the run reads it inside before the launch.

## What to do
The finding says why it could not be read. Name a local copy of the model (model_name_or_path: /PATH), or put its
config.json beside the run file, as NAME.config.json (NAME is the run file's name without .yaml). If the Hub does not
give it to everybody, export HF_TOKEN here and add secrets: [HF_TOKEN]; if the Hub is not reached, name a mirror by
HF_ENDPOINT.
If the finding names a Python that lacks something, install that there. If you know that the run fits, go on
with --accept model-config-unreadable.

Topic: plan
""",
    "node-twice": """One host is in the run twice.

## How it is found
Equal names, and equal addresses (with equal ports) of nodes.

## Why it matters
Two torchruns on one host take the same GPUs; NCCL stops with "Duplicate GPU detected".

## What to do
Keep one entry. If you want several nodes on one host, set same_host: true.

Topic: settings
""",
    "gpu-twice": """Two ranks run on one GPU.

## How it is found
Address and device of every rank, through CUDA_VISIBLE_DEVICES. Equal indices on different hosts are normal.

## Why it matters
NCCL stops with "Duplicate GPU detected", and each rank has half of the memory.

## What to do
Give each node of the host its own GPUs: env: {CUDA_VISIBLE_DEVICES: "0,1"} under that node.

Topic: settings
""",
    "gpu-count": """CUDA_VISIBLE_DEVICES names fewer GPUs than there are ranks.

## How it is found
allranks compares the devices in CUDA_VISIBLE_DEVICES (`env` of the run file or of a node) with `gpus`.

## Why it matters
The ranks without a GPU end with "invalid device ordinal".

## What to do
Make both numbers equal.

Topic: plan
""",
    "memory-does-not-fit": """The run does not fit the GPUs.

## How it is found
allranks adds up the memory of the fullest rank at its fullest moment, and compares the sum with the memory that a
process can have on the GPU. The parts are weights (or a rank's part of them), the parameters that ZeRO-3 gathers
at once, adapters, gradients and optimizer. Activations, logits, buffers, the CUDA context, NCCL and the
allocator's waste are the others.

## Why it matters
More than 105 % of the GPU: out of memory at the printed moment, after the whole model was loaded.

## What to do
The printed setting is the nearest that fits, planned again with it.

Topic: plan
""",
    "memory-too-close": """The run may not fit the GPUs.

## How it is found
The same as memory-does-not-fit: between 92 and 105 % of what a process can have.

## Why it matters
The estimate is off by up to 5 %; a longer sample or fragmentation decides, perhaps hours later.

## What to do
The printed setting is the nearest that fits. To try as it is: allranks run FILE --smoke.

Topic: plan
""",
    "gpu-memory-unknown": """The GPUs of the run are not known, so nor is their memory.

## How it is found
The run file has no `gpus.model`, and no node has reported its GPUs.

## Why it matters
The plan gives the memory that the run needs, but not whether it fits.

## What to do
gpus: {count: 8, model: A100-SXM4-80GB}, or let the nodes be asked: allranks check FILE. If the nodes were asked
and it is still unknown, they did not say how much memory their GPUs have.

Topic: plan
""",
    "host-memory-short": """A node has too little host memory.

## How it is found
Host memory while loading, training (offload) and saving, against the smallest node's memory or limit.

## Why it matters
The kernel kills a rank, and every other one waits for it.

## What to do
The printed setting. allranks' adapter save avoids a save that gathers the whole model.

Topic: plan
""",
    "experts-not-in-lockstep": """train.experts: lockstep has no effect.

## How it is found
`train.experts: lockstep` with a model without routed experts, or without ZeRO-3. With transformers 5, which holds the
experts of a layer in two tensors, also if the experts train, with hpZ or qwZ, or with parameters on NVMe.

## Why it matters
ZeRO-3 gathers a tensor whole, so the run needs the memory of a whole layer's experts. In these cases allranks does not
gather slices of the tensors itself.

## What to do
Leave the key out, or take transformers 4.52, where each expert is a module of its own and may train in lockstep.

Topic: plan
""",
    "stage-not-planned": """The stage keeps more than the model that is planned.

## How it is found
stage and pref_loss: ppo has a value head, a reward model and generation; dpo and kto that train the whole model
keep a reference model.

## Why it matters
The printed memory is too small by that much, so the plan does not say that it fits.

## What to do
Take a few real steps with --smoke --accept stage-not-planned; then start the run with the same --accept.

Topic: plan
""",
    "vision-memory-unknown": """The memory of the images is not known.

## How it is found
The model has a vision tower. For some families the plan counts what it keeps if images fill all of cutoff_len, and
the run fits only with fewer images. For the others the plan does not count it.

## Why it matters
How many images a sample has is not known, so the plan does not say that it fits.

## What to do
A smaller cutoff_len or micro-batch may fit in any case. Or take a few real steps with your images: --smoke --accept
vision-memory-unknown; then start the run with the same --accept.

Topic: plan
""",
    "deepspeed-refuses": """DeepSpeed refuses a value of the JSON.

## How it is found
optimizer.type: OneBitAdam, ZeroOneAdam and OneBitLamb, which DeepSpeed 0.19 no longer has and earlier versions
refuse together with ZeRO. communication_data_type: fp16, bf16 or fp32. zero_optimization.stage: 0 to 3.
prescale_gradients with ZeRO-3.

## Why it matters
deepspeed.initialize raises on every rank, after the model was loaded.

## What to do
The printed value.

Topic: settings
""",
    "host-memory-unknown": """A node may have too little host memory.

## How it is found
Host memory while loading, training (offload) and saving, if no node was asked and 1 TiB or more is needed.

## Why it matters
Even if the GPUs have enough memory, the node may run out of it: the kernel then kills a rank.

## What to do
allranks check FILE asks the nodes; allranks then plans again with their answers.

Topic: plan
""",
    "host-memory-loading": """Loading needs more host memory than a node usually has.

## How it is found
transformers 5 with routed experts under ZeRO-3: every rank reads all files and joins the experts, which are
stored one by one, into new tensors before any of them is split.

## Why it matters
Eight ranks hold eight copies of all experts: 9.5 TiB on a node for DeepSeek-V3.

## What to do
transformers 4.52 reads file by file on rank 0 alone.

Topic: plan
""",
    "checkpointing-holds-layers": """Reentrant gradient checkpointing would keep every layer whole.

## How it is found
DeepSpeed 0.19.3 or later, ZeRO-3, frozen weights, and reentrant checkpointing (LLaMA-Factory's default), unless the
whole base surely fits into memory and the step is then shorter.

## Why it matters
Frozen weights that a recomputation gathers are kept until the module in whose backward it happens is done.
Under reentrant checkpointing that is the whole model: at the end of backward every rank holds all of it.

## What to do
use_reentrant_gc: false, which allranks sets if the run file says nothing. Each layer is then gathered three times
in a step instead of twice.

Topic: plan
""",
    "checkpointing-fails-frozen": """Non-reentrant checkpointing fails with this DeepSpeed.

## How it is found
DeepSpeed before 0.19.3, ZeRO-3, frozen weights, use_reentrant_gc: false.

## Why it matters
The first backward raises CheckpointError: the recomputed weights have shape [0].

## What to do
use_reentrant_gc: true, or a later DeepSpeed.

Topic: plan
""",
    "deepspeed-version": """The DeepSpeed JSON needs a later DeepSpeed.

## How it is found
stage3_allgather_sequential, which `deepspeed: auto` sets for models whose largest gathered unit is above
1 GiB: gathered together, its tensors would need their memory twice.

## Why it matters
DeepSpeed before 0.18.5 refuses the key at its start.

## What to do
Pin DeepSpeed in the container's pip list. Without a pin, the version is read once the container is prepared,
before the launch: until then `check` warns, and `plan`, which does not look at nodes, cannot tell.

Topic: settings
""",
    "deepspeed-key-void": """A section of the DeepSpeed JSON has no effect.

## How it is found
Sections that nothing reads when transformers trains: moe, activation_checkpointing, pipeline.

## Why it matters
The setting has no effect.

## What to do
Take it out.

Topic: settings
""",
    "deepspeed-key-unknown": """zero_optimization has a key that DeepSpeed does not know.

## How it is found
allranks compares the keys of `zero_optimization` with those of the DeepSpeed versions that it knows.

## Why it matters
DeepSpeed refuses a configuration with an unknown ZeRO key.

## What to do
The nearest known name is printed.

Topic: settings
""",
    "deepspeed-contradicts": """The DeepSpeed JSON and the training arguments differ.

## How it is found
Batch sizes, accumulation, clipping, optimizer, scheduler and precision in the JSON against the arguments.

## Why it matters
transformers raises ValueError at the start.

## What to do
"auto" in the JSON: transformers then fills in its own value.

Topic: settings
""",
}

SOURCE = "The run file, the trainer's settings, the model's config.json and the plan: `allranks plan FILE --explain`."


def ids() -> list[str]:
    return sorted(PAGES)


def page(name: str) -> Page:
    """The page of an id. Raises KeyError for an unknown one."""
    return parse(name, PAGES[name], source=SOURCE)
