"""Every finding that this room makes: its id, verdict, what it means, why it matters, what to do.

One entry for each kind of damage; `page` makes the page of `allranks explain ID` from it.
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Tuple

from allranks.core import BLOCK, NOTE, OK, UNKNOWN, WARN, Finding, Where
from allranks.core.pages import Page, parse


class Kind(NamedTuple):
    """One kind of finding. `title` says in a line what was found, the rest is printed with it."""

    id: str
    verdict: str
    title: str
    why: str
    fix: str


_ANOTHER = (
    "take another checkpoint: allranks checkpoints verify names the newest whole one of a run's folder."
)
_AGAIN = "copy the folder again from where it was written, or take another checkpoint."
_STACK = "save again with allranks' own save, or with a stack that gathers what trains before it saves."

_KINDS = (
    # the folder
    Kind("checkpoint-missing", BLOCK, "There is no folder at the path.", "Nothing can be loaded from it.",
         "name the folder that holds adapter_model.safetensors."),
    Kind("checkpoint-unreadable", UNKNOWN, "A file could not be read.",
         "The part that was not read may be damaged.", "make it readable (owner, mount, disk) and verify again."),
    Kind("checkpoint-link-outside", BLOCK, "A file is a link that leaves the folder.",
         "The checkpoint is broken as soon as the target of the link is moved, and another file may take its place.",
         "put the file itself there: cp -L."),
    Kind("checkpoint-not-a-file", BLOCK, "A file of the checkpoint is a pipe, a socket, a device or a folder.",
         "Loading it fails or waits forever.", _ANOTHER),
    Kind("checkpoint-unfinished", BLOCK, "The save was not finished.",
         "A trainer writes its last file only when all others are there; what is missing is not known.",
         _ANOTHER),
    Kind("checkpoint-unmarked", WARN, "Nothing says that the save was finished.",
         "The adapter itself was read to its end and is consistent; files beside it may be missing.",
         "save with a manifest (allranks.json), or under a trainer that writes trainer_state.json last."),
    Kind("checkpoint-leftover", NOTE, "A temporary file of an interrupted save is beside a whole checkpoint.",
         "It takes space and nothing reads it.", "remove it by hand once no save is running."),
    Kind("checkpoint-mixed-steps", BLOCK, "One folder holds files of different steps.",
         "The adapter of one step with the state of another does not continue any real run.", _ANOTHER),
    Kind("checkpoint-wrong-step", BLOCK, "The checkpoint is of another step than was asked for.",
         "It holds less (or other) training than the run promised.", _ANOTHER),
    Kind("checkpoint-altered", BLOCK, "A file differs from the digest in the manifest.",
         "It changed after it was written: a bad copy, a bad disk or an edit.", _AGAIN),
    Kind("checkpoint-file-missing", BLOCK, "A file that the manifest names is not there.",
         "The checkpoint was copied or written in part.", _AGAIN),
    Kind("checkpoint-manifest-broken", BLOCK, "The manifest allranks.json cannot be used.",
         "Nothing proves that the files are the ones that were saved.", _AGAIN),
    Kind("checkpoint-not-resumable", BLOCK, "The checkpoint holds an adapter and not the state of its training.",
         "A run that continues from it would begin the optimizer, the schedule and the data again; DeepSpeed's "
         "own shards and "
         "optimizer.pt are pickles, which are not read here.",
         "name a checkpoint that holds allranks-resume.json, or start from the adapter with adapter_name_or_path."),
    # other kinds than adapters
    Kind("checkpoint-kind-unknown", UNKNOWN, "The checkpoint is of a kind that is not known here.",
         "allranks cannot tell whether it is whole.", "load it with the program that wrote it."),
    Kind("checkpoint-truncated", BLOCK, "A file ends before its own table says, or before the checkpoint's does.",
         "A full disk or a process that was killed cut it off: it cannot be loaded.", _ANOTHER),
    Kind("checkpoint-file-broken", BLOCK, "A file is not what its name says.",
         "It cannot be loaded. Two processes that write one file at the same time leave such a file.", _ANOTHER),
    Kind("checkpoint-without-table", UNKNOWN, "A file of torch.save has no table of what is in it.",
         "It was written by torch before 1.6, or with _use_new_zipfile_serialization=False: only loading it would tell "
         "whether it is whole, and loading runs whatever code is in it.",
         "save with torch's default, or load it with torch.load(weights_only=True)."),
    Kind("checkpoint-index-broken", BLOCK, "The index of the weights cannot be used.",
         "Nobody knows which file holds which tensor.", _ANOTHER),
    Kind("checkpoint-index-differs", BLOCK, "A file of weights lacks tensors that the index places in it.",
         "Parts of the model are missing: files of two saves, or a save that broke off.", _ANOTHER),
    Kind("checkpoint-shard-missing", BLOCK, "A file that the checkpoint itself names is not there.",
         "A part of the model or of its optimizer is missing.", _ANOTHER),
    Kind("checkpoint-ranks-missing", BLOCK, "Files of some ranks are not there.",
         "A part of the model or of its optimizer is missing.", _ANOTHER),
    Kind("checkpoint-ranks-elsewhere", UNKNOWN, "Only some ranks' files are here.",
         "Without shared storage each node has the files of its own ranks. Or the files are lost.",
         "look on the other nodes; a load elsewhere needs all of them in one folder."),
    Kind("checkpoint-tag-missing", BLOCK, "The checkpoint that the folder's note calls the newest is not there.",
         "A load without a name uses the note, and fails.",
         "write the name of a whole checkpoint's folder into the note, or load that folder by its name."),
    Kind("checkpoint-whole", OK, "The checkpoint is whole, as far as its files tell.", "", ""),
    # the adapter's files
    Kind("adapter-missing", BLOCK, "The folder holds no adapter and no other checkpoint.", "There is nothing to load.",
         "name the folder that holds adapter_model.safetensors."),
    Kind("adapter-pickled", BLOCK, "The adapter is a pickle (adapter_model.bin).",
         "Reading a pickle runs whatever code is in it, so it is not read here.",
         "save with safe_serialization=True (the default since PEFT 0.6)."),
    Kind("adapter-config-missing", BLOCK, "adapter_config.json is not there.",
         "Without rank, alpha and targets the tensors cannot be loaded. PEFT writes it last: the save broke off.",
         _ANOTHER),
    Kind("adapter-config-broken", BLOCK, "adapter_config.json cannot be used.",
         "Rank, alpha or targets are not known, so PEFT cannot load the tensors.", _ANOTHER),
    Kind("adapter-kind-unknown", UNKNOWN, "allranks does not know this kind of adapter.",
         "The file itself is sound. allranks cannot tell whether it holds all tensors of its kind.",
         "load it with peft.PeftModel.from_pretrained and compare outputs."),
    Kind("adapter-too-large", UNKNOWN, "The adapter has more tensors or modules than allranks judges.",
         "Comparing everything with everything would take hours or this machine's memory; no known training writes so "
         "much.", "find out who made it; load it with PEFT on a machine where a failure does no harm."),
    Kind("adapter-pattern-not-tried", UNKNOWN, "A pattern of adapter_config.json was not tried.",
         "It has a part that cannot be tried in bounded time (a back reference, a lookbehind), or the trial took too "
         "long. allranks cannot tell whether the right modules have tensors.",
         "name the modules in a list, or with a simpler expression."),
    Kind("adapter-empty", BLOCK, "The file holds no tensor.",
         "Stock saves under ZeRO-3 write exactly this (40 bytes) when the gather flag is off: nothing was saved.",
         _STACK),
    Kind("adapter-truncated", BLOCK, "The file is shorter than its header says.",
         "The end of the weights is lost: a full disk, a killed writer or a broken copy.", _AGAIN),
    Kind("adapter-trailing-bytes", BLOCK, "Bytes follow the last tensor.",
         "The safetensors library refuses such a file, and nothing says what they are.", _AGAIN),
    Kind("adapter-header-broken", BLOCK, "The header of the file cannot be read.",
         "No tensor can be found without it.", _AGAIN),
    Kind("adapter-header-too-large", BLOCK, "The file claims a header above the format's limit.",
         "The safetensors library refuses it; the first 8 bytes are damaged or hostile.", _AGAIN),
    Kind("adapter-duplicate-tensor", BLOCK, "The header names a tensor twice.",
         "Two readers may take different ones.", _AGAIN),
    Kind("adapter-offsets-broken", BLOCK, "Tensors overlap, leave holes or have another size than their shape.",
         "At least one tensor would be read from the wrong bytes.", _AGAIN),
    Kind("adapter-dtype-unknown", UNKNOWN, "A tensor has a number format that is not known here.",
         "allranks cannot judge its size and its values.", "verify with a newer allranks."),
    # what the tensors hold
    Kind("adapter-ungathered", BLOCK, "A tensor has a dimension of size 0.",
         "Under ZeRO-3 a parameter that was not gathered has no data: its weights are lost.", _STACK),
    Kind("adapter-not-finite", BLOCK, "A tensor holds NaN or infinity.",
         "One such value makes every output of the model NaN.",
         "take a checkpoint from before the loss diverged; lower the learning rate or clip gradients."),
    Kind("adapter-untrained", BLOCK, "lora_B is all zero after training.",
         "LoRA starts with lora_B = 0: these layers add nothing, and the model answers like its base.",
         "check that the layers train (requires_grad, lora_target) and that the learning rate is above 0."),
    Kind("adapter-partly-untrained", WARN, "Some lora_B are all zero after training.",
         "These modules saw no gradient: experts that no token reached, or a tower that no sample used.",
         "fine if these parts got no data; else check lora_target."),
    # names, ranks, shapes
    Kind("adapter-unpaired", BLOCK, "A lora_A has no lora_B, or the other way round.",
         "The product B·A is the adapter: one half alone is useless.", _ANOTHER),
    Kind("adapter-rank-differs", BLOCK, "A tensor's rank is not the one of adapter_config.json.",
         "PEFT refuses to load it: the config and the weights come from different runs.", _ANOTHER),
    Kind("adapter-wrong-rank", BLOCK, "The adapter has another rank than the run asked for.",
         "It is another run's, or the setting did not reach the trainer.", "check lora_rank and the folder."),
    Kind("adapter-wrong-alpha", BLOCK, "The adapter has another alpha than the run asked for.",
         "Alpha scales what the adapter adds: outputs differ from what was trained.",
         "check lora_alpha and the folder."),
    Kind("adapter-wrong-targets", BLOCK, "The adapter has other target modules than the run asked for.",
         "It is another run's, or the setting did not reach the trainer.", "check lora_target and the folder."),
    Kind("adapter-wrong-base", BLOCK, "The adapter belongs to another base model.",
         "It cannot be loaded onto this base, or it adds noise.", "name the base model that it was trained on."),
    Kind("adapter-target-missing", BLOCK, "A target module of the config has no tensor.",
         "That part of the training was not saved, or never took place: PEFT ignores a name that does not "
         "match any module, without a message.", "check lora_target against the base model's module names."),
    Kind("adapter-target-nowhere", WARN, "A target module of the config does not exist in the base model.",
         "PEFT ignores such a name without a message: fewer parameters trained than the list suggests.",
         "correct lora_target before the next run; this adapter holds all that was trained."),
    Kind("adapter-module-missing", BLOCK, "Modules that should have an adapter have none.",
         "That part of the training was not saved.", _ANOTHER),
    Kind("adapter-layers-uneven", UNKNOWN, "Some layers have adapters that their neighbours lack.",
         "Either tensors are missing or the base model's layers differ; the files alone cannot tell.",
         "verify with the base model's config.json or the run's plan."),
    Kind("adapter-foreign-tensor", BLOCK, "A tensor belongs to no module that the config names.",
         "The file mixes two adapters, or the config is another one's.", _ANOTHER),
    Kind("adapter-shape-wrong", BLOCK, "A tensor does not fit the base model's module.",
         "Loading it onto the base fails.", "name the base model that it was trained on."),
    Kind("adapter-shapes-disagree", UNKNOWN, "A module has another size in one layer than in all others.",
         "Either a tensor belongs to another model or the base model's layers differ; the files alone cannot tell.",
         "verify with the base model's config.json or the run's plan."),
    Kind("adapter-saved-module-missing", BLOCK, "A module of modules_to_save has no tensor.",
         "That module was trained in full and its weights are lost.", _ANOTHER),
    Kind("adapter-magnitude-missing", BLOCK, "A DoRA adapter lacks a magnitude, or one has the wrong size.",
         "DoRA cannot be applied without the magnitude of each output.", _ANOTHER),
    Kind("adapter-count-differs", BLOCK, "The file holds another number of tensors or parameters than was trained.",
         "Something that trained was not saved, or something else was saved with it.", _ANOTHER),
    Kind(
        "adapter-whole",
        OK,
        "The adapter is whole.",
        "every tensor that its configuration promises is there, of its shape, finite, and trained.",
        "nothing: it can be loaded onto its base model.",
    ),
    # pruning and space
    Kind("prune-not-ours", BLOCK, "The folder does not carry this run's mark.",
         "allranks never removes anything that is not this run's.", "name the run's own output folder."),
    Kind("prune-nothing-verified", BLOCK, "No checkpoint of the folder is whole.",
         "The damaged ones may be all that is left of the run.", "verify them one by one; keep what you need."),
    Kind("prune-refused", WARN, "Something was left in place.",
         "It is not plainly the run's own, or it could not be judged.", "look at it, and remove it by hand."),
    Kind("save-space-low", WARN, "The next save may not fit on the disk.",
         "A save into a full disk is truncated.", "allranks checkpoints prune PATH, or fewer with save.keep."),
    Kind("save-space-unknown", UNKNOWN, "The free space could not be read.",
         "The next save may not fit.", "check the mount."),
    # export
    Kind("export-base-missing", BLOCK, "The adapter cannot be merged into the base model.",
         "A merge needs every weight of it, as safetensors: pickles are not read here.",
         "--base DIR with config.json and the whole model as safetensors."),
    Kind("export-base-quantized", BLOCK, "A weight that the adapter changes is quantized in the base.",
         "Its values have separate scales: adding to the stored values directly would make another model.",
         "--base DIR of the model in bfloat16, or serve the adapter itself: --for vllm."),
    Kind("export-base-lacks", BLOCK, "The base lacks a tensor that the adapter changes.",
         "That part of the training would be lost without a message.",
         "name the base model that it was trained on."),
    Kind("export-unsupported", BLOCK, "The adapter has a part that cannot be merged exactly.",
         "The merged model would not be base + adapter.",
         "load base and adapter with PEFT and use its merge_and_unload, or serve them unmerged."),
    Kind("export-not-joined", BLOCK, "The weights of a DeepSpeed checkpoint cannot be joined here.",
         "`--for weights` joins the parts that DeepSpeed's `save_checkpoint` leaves in the files of all ranks.",
         "name the folder with the file `latest`, or a tag's folder; --python PATH of an environment with DeepSpeed."),
    Kind("export-unpickles", BLOCK, "A file of the checkpoint holds more than tensors and known classes.",
         "Reading the file could run any code that is in it.",
         "if you trust whoever wrote it, DeepSpeed's own zero_to_fp32.py beside the checkpoint reads everything."),
    Kind("export-exists", BLOCK, "The target already exists.",
         "An export never overwrites anything.", "name another folder, or move that one away."),
    Kind("export-no-space", BLOCK, "The export does not fit on the disk.",
         "A merged model is as large as its base.", "free space, or -o on another disk."),
    Kind("export-differs", BLOCK, "The export is not base + adapter.",
         "allranks has removed the export: a model with wrong answers is worse than none.",
         "check the disk and run it again. With the same message, report it with both config.json files; "
         "--no-compare keeps a merge whose values on the disk are right."),
    Kind("export-rounded", WARN, "The base's number format is too coarse for much of what the training changed.",
         "A change below half a unit in a weight's last place disappears when it is merged.",
         "serve the adapter unmerged (--for vllm), or merge into a float32 copy of the base."),
    Kind("export-not-compared", NOTE, "The outputs of the models were not compared.",
         "Every value was read back and compared with base + adapter; how the libraries load them was not tried.",
         "--compare on a machine with the memory, in a Python with transformers and peft."),
    Kind("export-vllm-refuses", BLOCK, "vLLM does not accept such an adapter.",
         "It loads plain lora_A and lora_B of linear layers and nothing else.",
         "merge it instead: the same command without --for vllm."),
    Kind("export-vllm-rank", BLOCK, "The rank is higher than the server accepts.",
         "vLLM refuses an adapter of a higher rank than its --max-lora-rank, which ends at 512.",
         "raise --max-lora-rank there and here, or merge it."),
    Kind("export-vllm-absorbed", WARN, "kv_b_proj has an adapter, and vLLM may ignore it.",
         "Its latent attention (DeepSeek) multiplies kv_b_proj into other weights when it loads; versions without "
         "apply_mla_kv_b_lora add the adapter to a layer that decoding does not call, and say nothing.",
         "compare an answer with the merged model's, or serve that one."),
    Kind("export-vllm-experts", NOTE, "Fused experts were split into one pair of matrices per expert.",
         "vLLM names experts one by one; versions without FusedMoEWithLoRA have no adapters on experts.",
         "a version of vLLM with LoRA on fused experts, or the merged model."),
    Kind("export-vllm-folded", NOTE, "Separate ranks and scales of modules were folded into one.",
         "vLLM passes over rank_pattern and alpha_pattern; B carries the difference now, rounded once.",
         "nothing: the proof compares each module with what PEFT computes."),
    Kind("export-whole", OK, "The export is base + adapter.", "", ""),
    Kind("save-space", OK, "The next save fits.", "", ""),
)  # fmt: skip

CATALOGUE: Dict[str, Kind] = {kind.id: kind for kind in _KINDS}


def found(
    id: str, file: str, saw: str, expected: str = "", evidence: Tuple[str, ...] = (), fix: str = ""
) -> Finding:
    """A finding of the catalogue about `file`. At most 20 lines of evidence are kept."""
    kind = CATALOGUE[id]
    if len(evidence) > 20:
        evidence = (*evidence[:20], "and %d more" % (len(evidence) - 20))
    return Finding(
        id=id,
        verdict=kind.verdict,
        where=Where(file=file),
        saw=saw,
        expected=expected,
        why=kind.why,
        fix=fix or kind.fix,
        evidence=evidence,
    )


def page(id: str) -> Page:
    """The page of a kind. KeyError if there is none of that id."""
    kind = CATALOGUE[id]
    topic, found = _FOUND[id.split("-")[0]]
    why = kind.why or "It is not a problem: this is the good result."
    fix = kind.fix or "Nothing."
    text = "%s\n\n## Why it matters\n%s\n\n## What to do\n%s\n" % (kind.title, capital(why), capital(fix))
    return parse(id, text, topic=topic, found=found, source=SOURCE)


def capital(text: str) -> str:
    """The text as a sentence; a command keeps its letters."""
    return (
        text
        if text.startswith(("allranks", "adapter_", "kv_b", "optimizer.pt", "vLLM"))
        else text[:1].upper() + text[1:]
    )


SOURCE = "The files themselves, read on the machine that holds them. No pickle is loaded."
_FOUND = {
    "checkpoint": (
        "checkpoints",
        "`checkpoints verify`, `fetch` and `prune`, and the keeper after each save, compare the files of the "
        "folder with its manifest, with their own headers and tables, and with one another.",
    ),
    "adapter": (
        "adapters",
        "`checkpoints verify`, and the keeper after each save, read every byte of the adapter: its header, "
        "config and tensors against one another, against the base model's config.json and against the run's plan.",
    ),
    "prune": (
        "checkpoints",
        "`checkpoints prune`, and the keeper after each save, judge every folder before they remove one.",
    ),
    "save": (
        "checkpoints",
        "The size of the newest save against the free space of the disk that it is on.",
    ),
    "export": (
        "export",
        "`checkpoints export` reads base and adapter before it writes, and reads back what it wrote.",
    ),
}
"""By the first word of an id: its topic, and how it is found."""
