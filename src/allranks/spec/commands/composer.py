"""`composer`, MosaicML Composer's launcher (0.31, `composer/cli/launcher.py`)."""

from __future__ import annotations

from allranks.spec.commands._command import Form, Option, count, key, own, port, refused
from allranks.spec.commands.torchrun import head, module, read

OPTIONS = {
    "n": count("ranks"),
    "nproc": count("ranks"),
    "world-size": count("total"),
    "base-rank": own(),
    "node-rank": own(),
    "master-addr": Option(1, head),
    "master-port": key("network.port", port),
    "stdout": own(),
    "stderr": own(),
    "v": own(0),
    "verbose": own(0),
    "m": Option(0, module),
    "module-mode": Option(0, module),
    "c": refused("allranks starts Python scripts.", "a script, or -m and a module"),
    "command-mode": refused("allranks starts Python scripts.", "a script, or -m and a module"),
}

FORM = Form(
    programs=("composer",), options=OPTIONS, modules=("composer.cli.launcher",), read=read, ranks=True
)
