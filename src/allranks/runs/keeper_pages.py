"""The pages of the findings that the keeper and the controller make themselves.

The file is long because it is nothing but texts, one after the other, and stays whole so that each is found by its id.
"""

from __future__ import annotations

from typing import Dict, List

from allranks.core.pages import Page, parse

PAGES: Dict[str, str] = {
    "node-did-not-join": """A node's supervisor did not reach the keeper.

## How it is found
The connection that each supervisor opens to the head node. allranks waits until none has come for 60 s.

## Why it matters
No rank is started anywhere until all have joined: torchrun would wait for the missing node until its
own time-out and then name no node.

## What to do
allranks logs RUN --node NODE shows the supervisor's own log. A firewall between the node and the head
is the usual cause: network.keeper_port fixes the port so that it can be opened.

Topic: start
""",
    "processes-left": """Processes of the run did not end.

## How it is found
Each supervisor reports the processes that are still alive 10 s after the first SIGKILL.

## Why it matters
No signal ends a process in state D: it waits in the kernel for a file server or a driver. It holds its GPU memory and
its ports, and continues when the server answers. So the node is not replaced: a spare in its place would write the same
checkpoint.

## What to do
/proc/PID/stack on that node shows what it waits for. Repair the file server or the driver, or restart the node; then
allranks clean RUN shows whether anything is left.

Topic: ends
""",
    "journal-unwritten": """The head cannot write the run's journal.

## How it is found
The keeper's own writes on the head. If you watch from another machine: the free space of the disk that holds the run's
folder on the head.

## Why it matters
The training continues, but nobody can follow it. If the disk stays full, the end of the run, its
report and the proof of its adapter are not written either. Saves to other disks continue.

## What to do
Free space on that disk: the journal then continues by itself, and reports how much it lost. Otherwise run allranks stop
RUN --save.

Topic: storage
""",
    "spare-lost": """A spare node is no longer heard.

## How it is found
The connections of the nodes that `launch.spares` keeps back.

## Why it matters
The training continues. But this spare could not replace a node that fails twice or is lost.

## What to do
Check whether the node is up. Its supervisor tries to connect again until its lease ends.

Topic: start
""",
    "submission-cut": """The controller did not finish starting the nodes.

## How it is found
The note that the controller writes on the head when every supervisor has been started. It is not there, and no
supervisor has come for 60 s.

## Why it matters
Nodes that it did not reach have no supervisor: no rank is started anywhere. The controller has ended, or a node keeps
it waiting.

## What to do
Start the run again. Once all nodes are started, the run does not depend on the controller.

Topic: start
""",
    "keeper-fault": """The keeper itself failed.

## How it is found
An exception in the keeper, the process on the head that watches the run.

## Why it matters
Nothing watches the run now, so allranks stops it. Everything that it saved is kept.

## What to do
It is a bug in allranks. Report it with the trace in the finding's evidence.

Topic: ends
""",
    "aborted-after-the-end": """A rank died of a signal after its script had ended well.

## How it is found
A torchrun failed, although every rank trained and reported that its Python ended with 0. The ranks that failed died of
SIGABRT or SIGSEGV after that. "terminate called without an active exception" is such an end.

## Why it matters
Every step was trained. The run's adapter is verified like any other's, and the run is called succeeded only if
it is whole. A rank that was ended before its own end (torchrun ends the others by SIGTERM) has not finished:
then the run has failed.

## What to do
Nothing for this run. torch.distributed.destroy_process_group() at the end of the script often avoids it.

Topic: ends
""",
    "no-training-seen": """A run ended without an error, and no sign of training was seen.

## How it is found
Whether any rank took a training step or saved something, and whether it came as far as a process group, a Trainer
or a first batch.

## Why it matters
A script may print that it found too few GPUs, or no data, and end with 0. Then nothing was trained, although
nothing failed. Or it trains in a way that cannot be seen from outside. If there was not even a
process group, the run is called `unproven` and allranks ends with 3; else it is a warning, since a script may only
evaluate.

## What to do
Read the ranks' logs (`allranks logs`), and look for what the script should have written.

Topic: ends
""",
    "output-not-whole": """The last files that a script saved cannot be loaded.

## How it is found
The ranks report the path of each save. At the end allranks judges the newest saves that are still there by their kind:
the index against the shards, headers and tables against sizes, the files of all ranks (docs/checkpoints.md, "Other
kinds"). No pickle is loaded.

## Why it matters
The run ended with 0, and what it trained is lost if no older save is whole. A disk that was full, and several ranks
that write one file at the same time, leave such files.

## What to do
`allranks checkpoints verify PATH` prints all details. Let rank 0 alone write a file that all ranks share.

Topic: checkpoints
""",
    "detector-fault": """A detector of the watch failed over what a node sent.

## How it is found
An exception in a detector, the code that looks for one kind of trouble in the events of a run.

## Why it matters
This run is no longer checked for this kind of trouble; the other detectors continue.

## What to do
It is a bug in allranks: report it with the journal of the run.

Topic: ends
""",
    "output-not-writable": """The run's output folder cannot be made on the head node.

## How it is found
`save.to` with the run's id below it, which the keeper makes and marks before any rank starts.

## Why it matters
The first save would end the run, hours from now.

## What to do
Name a folder that the run's user may write on the head node, on a disk with room.

Topic: storage
""",
    "key-without-effect": """A key of the run file has no effect with this launcher.

## How it is found
`sweep` with a launcher that has no queue: the combinations are the tasks of a job array, as SLURM has them.

## Why it matters
The run would not be the ones that were asked for: one instead of one for each combination.

## What to do
A launcher with a queue (docs/run-file.md), or take the key out of the run file. Accepted, one run starts without it.

Topic: settings
""",
    "script-key-unheard": """A key of the run file reaches your own script only in part.

## How it is found
The keys `deepspeed`, `save`, `resume` and `launch.restarts` beside `train.command`, and whether `{output}` and
`{resume}` are in its arguments.

## Why it matters
LLaMA-Factory gets these settings as its own arguments, but allranks starts a script as it is. If the script does not
get these arguments, the keys have no effect on it, and a resume would begin at the first step without a message.

## What to do
Put `{output}` and `{resume}` where the script's own options want them (docs/checkpoints.md, "Scripts"). A script that
uses allranks' Checkpoints, or reads ALLRANKS_OUTPUT_DIR, needs neither.

Topic: settings
""",
    "restarted": """The whole job failed and was started again.

## How it is found
allranks judges the cause. Faults of machines and networks, and signals, may pass. A wrong argument, a missing file or
an exception before the first step would come again, so the run is not started again. `launch.restarts` limits the
number of restarts.

## Why it matters
The steps after the newest verified checkpoint are trained again. The same fault at the same step ends the run.

## What to do
Read the evidence: a machine that fails once a day fails again. Save more often if much was lost.

Topic: ends
""",
    "adapter-unverified": """The output folder could not be read.

## How it is found
A separate process with a time limit reads the folder, so that hanging storage does not end the watch.

## Why it matters
Whether the adapter or its checkpoints are whole is not known; allranks does not call a run a success without a
check.

## What to do
When the storage answers again: allranks checkpoints verify PATH.

Topic: adapters
""",
    "rehearsal-failed": """The first save, after the first step, is not whole.

## How it is found
An adapter is saved after the first step of every attempt, and verified at once: every file, every tensor,
every value. `env: {ALLRANKS_REHEARSE: "0"}` leaves that save out.

## Why it matters
A run that cannot save would show it after hours or days. It stops at its first step instead.

## What to do
The finding names the damage; allranks explain ID says what it means and what helps.

Topic: start
""",
    "save-not-whole": """A later save is not whole.

## How it is found
Every checkpoint of the run, right after it was saved.

## Why it matters
A resume goes back to the newest whole one: the steps since then are trained again.

## What to do
Look at its disk. The training continues, and allranks checks the next save too.

Topic: checkpoints
""",
    "save-paused": """A save was left out: the disk is too full for it.

## How it is found
Before each save the free space of the output folder's disk, against the bytes of the adapter and of what a resume
needs, and a tenth more. Before that allranks removes old checkpoints that `save.keep` does not keep.

## Why it matters
A save into a full disk is truncated and ends the run. Without the save the training continues, and its progress is lost
if it breaks off. If it is the first save, the run stops.

## What to do
Free space on that disk. The next save is tried again.

Topic: checkpoints
""",
    "save-unread": """A save was left out: PEFT could not read the adapter's state.

## How it is found
Before a save PEFT is asked which parameters the adapter has. If it raises an error, allranks gathers everything that
may belong to the adapter, frozen parts included, and asks PEFT again with the real values. If it raises an error then
too, nothing is written.

## Why it matters
An adapter without its frozen half is not the one that was trained. The training continues, and its progress is lost if
no later save succeeds. If it is the first save, the run stops.

## What to do
Look at the error that is quoted: often the library was updated, or the base model's config cannot be read
because the hub does not answer. The next save is tried again.

Topic: checkpoints
""",
    "copy-failed": """A checkpoint could not be copied to `save.copy_to`.

## How it is found
The copy, written in the background at 64 MiB/s at most, read back and compared by SHA-256.

## Why it matters
The checkpoint is only on the head node's own disk. The training is not delayed by it.

## What to do
Nothing, if the storage answers again: the next copy continues where this one broke off.

Topic: checkpoints
""",
    "resume-unknown": """The checkpoints to resume from could not be read.

## How it is found
A process with a time limit reads the output folders of this run and of earlier runs with its name. Before a restart it
reads only this run's. If the storage does not answer, or the order for the ranks cannot be written there, allranks
tries again for ten minutes.

## Why it matters
The run would begin from the start, or from a checkpoint that was not verified. So it does not begin, and is not
started again.

## What to do
Run the same command when the storage answers again; add --resume auto if the run had begun.

Topic: checkpoints
""",
    "adapter-without-effect": """The adapter is whole and changes nothing.

## How it is found
The base model's outputs for a fixed input, with the adapter and without it.

## Why it matters
A user who loads it gets the untrained model. A learning rate of zero, targets that are not on the path of the data, or
a save of the initial weights look like this.

## What to do
Look at the loss in the report; compare lora_target with the model's layers (allranks plan).

Topic: adapters
""",
    "adapter-does-not-fit": """The adapter's tensors are not all found in its base model.

## How it is found
The keys that PEFT calls missing or unexpected when it loads the adapter onto the base model.

## Why it matters
PEFT drops the parts that do not fit without a message: only a part of the training takes effect, or nothing.

## What to do
Compare adapter_config.json's target_modules and base model with what the run trained.

Topic: adapters
""",
    "adapter-not-loaded": """The adapter was not loaded onto its base model.

## How it is found
The size of the base model against a quarter of the free memory of the head node.

## Why it matters
Its tensors were verified; its effect on the model's outputs was not proved here.

## What to do
Run python -m allranks.worker.proof --base BASE --adapter ADAPTER on a machine with enough memory for the base model.

Topic: adapters
""",
    "adapter-unproved": """The adapter could not be loaded onto its base model.

## How it is found
After the save is verified, the training environment loads it onto its base model with PEFT.

## Why it matters
Its tensors are whole. It is not proved that they load and have an effect.

## What to do
Load it by hand with peft.PeftModel.from_pretrained and read the error there.

Topic: adapters
""",
    "prune-failed": """Old checkpoints could not be removed.

## How it is found
After each verified save the keeper removes the checkpoints that `save.keep` does not keep.

## Why it matters
Each save fills the disk by one more checkpoint.

## What to do
allranks checkpoints prune PATH -n shows what would go and what is in the way.

Topic: checkpoints
""",
    "ray-actor-died": """Ray lost the actor that holds a node's resources.

## How it is found
In Ray, one actor per node stays for as long as the run's supervisor works there. The driver of the run's Ray job waits
for all of them, and passes on what Ray reports about a lost one. Its process was killed, its node fell silent (Ray
notices after about 30 s), or somebody ended the job (`ray job stop`).

## Why it matters
Ray gives the node's CPUs and GPUs to others then. The kernel tells the supervisor there that its actor ended: the
ranks save if they can, and the run ends.

## What to do
`ray logs` on that node, and `ray list actors --detail`, say why. A node that is gone is named by node-lost too.
`resume: auto` continues from the save.

Topic: ends
""",
    "supervisor-not-started": """A node's supervisor did not start.

## How it is found
The answer of each node to the order to start its supervisor, over the connection that the checks used.

## Why it matters
torchrun needs every node. allranks undoes the launch: running supervisors are stopped, and the run's folders,
containers and orders are removed on every node that answers. No rank had been started anywhere. The verdict is unknown
if the node fell silent: its supervisor may have started, and it ends by itself within its lease, because no keeper
answers.

## What to do
The finding quotes the node's own message: a full disk, no memory, a Python that cannot be run, a connection that broke.
Run allranks check FILE again; take a node that cannot be repaired out of `nodes`.

Topic: start
""",
    "start-not-undone": """A start that failed could not be undone on a node.

## How it is found
The launch failed, and the controller could not stop the supervisor of a node or remove its folder.

## Why it matters
A supervisor or a folder of that run may be left there.

## What to do
allranks clean RUN, once the node answers again.

Topic: start
""",
}

SOURCE = "The run's own events and checks, which its journal keeps: `allranks report RUN` shows them."


def ids() -> List[str]:
    return sorted(PAGES)


def page(name: str) -> Page:
    """The page of an id. Raises KeyError for an unknown one."""
    return parse(name, PAGES[name], source=SOURCE)
