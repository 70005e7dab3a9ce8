"""The reference of the run file, made from the keys as they are declared."""

from __future__ import annotations

from allranks.spec import drafts, launchers
from allranks.spec.keys import Key
from allranks.spec.run import KEYS, SECTIONS

INTRODUCTION = """\
# The run file

One YAML file says what to train and on which machines. The smallest:

```yaml
nodes: node[1-2]
gpus: 8
train: {llamafactory: sft.yaml}
```

`allranks init` writes a commented one. `examples/deepseek-v3-24xa100.yaml` uses most keys.

This page is made by `make docs` from the declarations that the reader itself uses.

## In an editor

`allranks schema` prints the JSON schema of a run file; this version's is [run-file.schema.json](run-file.schema.json).
Editors that use yaml-language-server (VS Code with the YAML extension, Neovim, Helix) complete keys, show their meaning
and mark errors if the first line of the run file names the schema, relative to the run file:

```yaml
# yaml-language-server: $schema=run-file.schema.json
```

The schema knows one key at a time. Only allranks checks keys against each other and against other files.

## How it is read

- Numbers and words follow YAML 1.2: `1e-5` is a number, `no`, `on` and `yes` are strings, `24:00:00` is a
  string. Only `true` and `false` are booleans. If a key takes a string, the text is kept as it is
  written: `account: 0123` stays `0123`.
- A key that is misspelt or given twice is an error. allranks reports all errors at once, each with its line.
- A key without a value (`resume:`) counts as not given.
- A range inside `[ ]` or `{ }` needs quotes, since YAML reads brackets there: `["node[1-2]"]`.
- Anchors, aliases and merge keys (`<<: *base`) work. Keys that begin with `x-` are a place for anchors and
  are not read.
- A relative path in `nodes`, `train.llamafactory`, `deepspeed`, `code`, `environment.python` and
  `environment.lock` begins at the run file's folder. `~` means the home folder of the machine that the path is
  used on. Paths in `save` and in the trainer's own arguments belong to the training environment and are kept as
  written; if all nodes are this machine, one that begins with `./` or `../` begins at the run file's folder.
- `--set train.llamafactory.max_steps=50` changes one key from the command line. Its value is YAML, and a
  misspelt key is refused there too. `--set nodes.0.gpus=4` reaches into a list.
- The file is UTF-8, at most 1 MiB, at most 32 levels deep, at most 100,000 keys and values with all aliases
  written out.
- An access token anywhere in the file is an error. Name its variable in `secrets`.
"""

NODES = """\
## Nodes

The first node is the head: the others meet there, and the run's keeper lives there.

| form | means |
|---|---|
| `node[1-2]` | node1, node2; also `node[01-16,20]`, `rack[1-2]n[1-8]`, `a[1-4],b7`, as in SLURM's node lists |
| `ubuntu@node[1-2]` | the same, with the user who logs in |
| `localhost` | this machine |
| `[node1, ubuntu@node2, {name: node3, gpus: 4}]` | a list of names and mappings |
| `{name: node1, address: 10.0.0.1}` | one node |
| `{node1: 10.0.0.1, node2: {address: 10.0.0.2, gpus: 4}}` | names with their addresses or keys |
| `hosts.txt`, `./hostfile` | the path of a hostfile |
| `$SLURM_JOB_NODELIST` | the nodes of the SLURM job that allranks runs in |
| `3` | as many nodes as SLURM or Ray will choose |

A name may be an alias of `~/.ssh/config`. Two nodes with the same name are an error, and so are two with the same
address without `same_host: true`: their ranks would share GPUs. With `same_host: true`, a node whose address is not
given is this machine.

Each line of a hostfile names one host, then in any order its slots, one interface and variables:

```
# DeepSpeed's and OpenMPI's forms
node1 slots=8 ib0
node2 slots=4 max_slots=8 NCCL_SOCKET_IFNAME=ib0
node[3-4] slots=8
node5                    # as many as `gpus` says
node6 8
```

A CSV file is a hostfile too if its first line names the columns: `host` or `address`, and if you like `gpus`, `user`,
`port` and `interface`. Any other column becomes a label.

The keys of a node's mapping:
"""

TRAIN = """\
LLaMA-Factory gets these arguments as its own YAML, `arguments.yaml` in the run directory or beside the rendered
scripts, and reads them as `llamafactory-cli train FILE` does. Values of a LLaMA-Factory YAML keep their text. Numbers
of the run file's own arguments have the value that YAML 1.2 gives them (`1e-5` is one). If the command of a run is
LLaMA-Factory with its arguments as words, they stay words.

The keys of LLaMA-Factory that say the same as `save`, `resume` and `deepspeed` (`output_dir`, `save_steps`,
`save_total_limit`, `resume_from_checkpoint`, `deepspeed`) lose if both are given, and a note says so
(`setting-said-twice`). If only LLaMA-Factory's key is given, its value is used. Of the variables in
`env`, those that torchrun sets for every rank (`RANK`, `WORLD_SIZE`, `MASTER_ADDR`, …) are left out, and so
are `NCCL_SOCKET_IFNAME` and `GLOO_SOCKET_IFNAME` if `network.interface` names one; a note says so.
"""

CONFIG = """\
## Files beside it

`<name of the run file>.config.json`, or `config.json`: the model's own `config.json`, from which the planner
takes its numbers if the model is not there.
"""


def table(keys: list[Key]) -> str:
    rows = ["| key | value | default | meaning |", "|---|---|---|---|"]
    rows += [f"| `{key.path}` | {key.form} | {key.default or '–'} | {key.says} |" for key in keys]
    return "\n".join(rows) + "\n"


def launcher_table() -> str:
    """What each file of `launch/launchers/` says of itself."""
    rows = [
        "| launcher | starts | keys of its own | needs on the head |",
        "|---|---|---|---|",
    ]
    for one in sorted(launchers.every(), key=lambda one: (not one.starts, one.name)):
        keys = ", ".join(f"`{key}`" for key in one.keys) or "–"
        needs = f"`{one.program}`" if one.program else "–"
        starts = one.says if one.starts else f"Only for `plan --render`: {one.says[0].lower()}{one.says[1:]}"
        rows.append(f"| `{one.name}` | {starts} | {keys} | {needs} |")
    return (
        "## Launchers\n\nThe possible values of `launch.with`, and what is rendered alone: `plan --render` "
        "writes each.\n\n" + "\n".join(rows) + "\n"
    )


def page() -> str:
    """docs/run-file.md as it has to be."""
    parts = [INTRODUCTION, "## Keys\n", table(KEYS), NODES, table(drafts.KEYS)]
    for section, keys in SECTIONS.items():
        parts += [f"## {section}\n", table(keys)]
        if section == "train":
            parts.append(TRAIN)
        if section == "launch":
            parts.append(launcher_table())
    return "\n".join([*parts, CONFIG])
