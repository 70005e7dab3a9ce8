"""The pages of the findings that the keeper and the controller make themselves."""

from __future__ import annotations

from typing import Dict, List

PAGES: Dict[str, str] = {
    "node-did-not-join": """A node's supervisor did not reach the keeper.

What it looks at
  The connection that each supervisor opens to the head node, within 60 s of its start.

Why it matters
  No rank is started anywhere until all have joined: torchrun would wait for the missing node until its
  own time-out and then name no node.

What to do
  allranks logs RUN --node NODE shows the supervisor's own log. A firewall between the node and the head
  is the usual cause: network.keeper_port fixes the port so that it can be opened.
""",
    "keeper-fault": """The keeper itself failed.

Why it matters
  Nothing watches the run any more, so it is stopped; what it had saved is kept.

What to do
  It is a fault of allranks. The finding's evidence is the trace that a report of it needs.
""",
    "detector-fault": """A detector of the watch failed over what a node sent.

Why it matters
  What it looks for is not seen any more in this run; the others go on.

What to do
  It is a fault of allranks: report it with the journal of the run.
""",
    "output-not-writable": """The run's output folder cannot be made on the head node.

What it looks at
  `save.to` with the run's id below it, which the keeper makes and marks before any rank starts.

Why it matters
  The first save would end the run, hours from now.

What to do
  Name a folder that the run's user may write on the head node, on a disk with room.
""",
    "key-without-effect": """A key of the run file that this version reads and does not act on.

What it looks at
  The keys that are part of the run file's schema and that no part of this version carries out.

Why it matters
  The run would not be the one that was asked for: on the host instead of in the container, say.

What to do
  Take the key out of the run file, or accept the finding by its id where the run is right without it.
""",
    "restarted": """The whole job failed and was started again.

What it looks at
  The cause: faults of machines, networks and signals may pass; a wrong argument, a missing file or an exception
  before the first step would come again and is never tried twice. `launch.restarts` says how often at most.

Why it matters
  The steps after the newest verified checkpoint are trained again. The same fault at the same step ends the run.

What to do
  Read the evidence: a machine that fails once a day fails again. Save more often if much was lost.
""",
    "adapter-unverified": """The output folder could not be looked at.

What it looks at
  The folder is read by a process of its own with a time limit, so that storage that hangs ends no watch.

Why it matters
  Whether the adapter or its checkpoints are whole is not known; a run is no success on trust.

What to do
  When the storage answers again: allranks checkpoints verify PATH.
""",
    "adapter-without-effect": """The adapter is whole and changes nothing.

What it looks at
  The base model's outputs for a fixed input, with the adapter and without it.

Why it matters
  Whoever loads it gets the untrained model. A learning rate of zero, targets that are not on the path of the
  data, or a save of the initial weights look like this.

What to do
  Look at the loss in the report; compare lora_target with the model's layers (allranks plan).
""",
    "adapter-does-not-fit": """The adapter's tensors are not all found in its base model.

What it looks at
  What peft says is missing or unexpected when the adapter is loaded onto the base model.

Why it matters
  The parts that do not fit are dropped in silence: the model is trained in part, or not at all.

What to do
  Compare adapter_config.json's target_modules and base model with what the run trained.
""",
    "adapter-not-loaded": """The adapter was not loaded onto its base model.

What it looks at
  The bytes of the base model against a quarter of the free memory of the head node.

Why it matters
  Its tensors were verified; what it does to the model's outputs was not shown here.

What to do
  python -m allranks.inside.proof --base BASE --adapter ADAPTER, where the base model fits.
""",
    "adapter-unproved": """The adapter could not be loaded onto its base model.

Why it matters
  Its tensors are whole; that they load, and do something, is not shown.

What to do
  Load it by hand with peft.PeftModel.from_pretrained and read the error there.
""",
    "prune-failed": """Old checkpoints could not be removed.

Why it matters
  The disk fills by one checkpoint each save.

What to do
  allranks checkpoints prune PATH -n shows what would go and what is in the way.
""",
    "start-not-undone": """A start that failed could not be undone on a node.

Why it matters
  A supervisor or a folder of that run may be left there.

What to do
  allranks clean RUN, once the node answers again.
""",
}


def ids() -> List[str]:
    return sorted(PAGES)


def page(name: str) -> str:
    """One finding's page. Raises KeyError for an unknown id."""
    return PAGES[name]
