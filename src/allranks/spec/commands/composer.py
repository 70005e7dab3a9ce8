"""`composer`, MosaicML Composer's launcher (0.31, `composer/cli/launcher.py`)."""

from __future__ import annotations

from allranks.spec.commands._command import MODULE, NOT_PYTHON, Form, Option, count, each, key, own, port
from allranks.spec.commands.torchrun import head

OPTIONS = {
    **each("n nproc", count("ranks")),
    "world-size": count("total"),
    "master-addr": Option(1, head),
    "master-port": key("network.port", port),
    **each("base-rank node-rank stdout stderr", own()),
    **each("v verbose", own(0)),
    **each("m module-mode", MODULE),
    **each("c command-mode", NOT_PYTHON),
}

FORM = Form(programs=("composer",), options=OPTIONS, modules=("composer.cli.launcher",), ranks=True)
