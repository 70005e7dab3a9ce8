"""The nodes are this machine: each supervisor is started here."""

from __future__ import annotations

from allranks.launch.launchers import ssh
from allranks.spec.launchers import HERE, Launcher

LAUNCHER = Launcher(name="local", says="Every node is this machine.", reach=HERE, render=ssh.render)
