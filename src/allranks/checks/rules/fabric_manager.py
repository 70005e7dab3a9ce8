"""The Fabric Manager of an NVSwitch machine is absent, stopped, or of another version than the driver.

## How it is found
On machines with NVSwitches: whether `nv-fabricmanager` is installed and active, its version against the
loaded driver's, and on Hopper and later each GPU's fabric state.

## Why it matters
Until the Fabric Manager has set up the NVSwitches, no process can use any GPU: `cudaGetDeviceCount` gives
error 802, "system not yet initialized", on that node alone, and the run ends there. It refuses to start
unless its version equals the driver's to the patch level, which an unattended driver upgrade breaks.

## What to do
Install the package of the driver's own branch and version, then restart it:
`apt-get install nvidia-fabricmanager-<branch>=<driver's version>*` and
`systemctl enable --now nvidia-fabricmanager`. Never take the newest: it must match the loaded driver.

## Source
NVIDIA "Fabric Manager User Guide": version match, CUDA_ERROR_SYSTEM_NOT_READY (802); NVML
`nvmlGpuFabricState_t` (Not Started, In Progress, Completed).

Topic: gpus
"""

from __future__ import annotations

from allranks.checks import versions
from allranks.checks.context import Context, Findings, View, on_gpus
from allranks.checks.phrases import listed
from allranks.core.untrusted import mapping

NEEDS = ("driver.nvswitches", "driver.fabric_manager", "gpus.list")
applies = on_gpus

WHY = "until it has set up the NVSwitches every CUDA program on this node fails with error 802."


def check(context: Context) -> Findings:
    for view in context.machines:
        yield from states(context, view)
        # A container sees neither package nor service of its host: there the fabric's state must do.
        is_read = view.has("driver.fabric_manager")
        if is_read and view.number("driver.nvswitches") and not view.text("system.container"):
            yield from service(context, view)


def service(context: Context, view: View) -> Findings:
    driver = view.text("driver.module.version") or view.text("gpus.driver")
    version, state = view.text("driver.fabric_manager.version"), view.text("driver.fabric_manager.state")
    branch = versions.branch(driver)
    package = (
        f"nvidia-fabricmanager-{branch}={driver}*"
        if driver
        else "nvidia-fabricmanager of the driver's version"
    )
    install = f"apt-get install {package}"
    start = "systemctl enable --now nvidia-fabricmanager"
    if version is None and state in (None, "inactive", "unknown"):
        saw, fix = "has NVSwitches and no Fabric Manager", f"as root on {view.name}: {install} && {start}"
    elif version is not None and driver is not None and version != driver:
        saw = f"has Fabric Manager {version} and driver {driver}"
        fix = f"as root on {view.name}: {install} && systemctl restart nvidia-fabricmanager"
    elif state is not None and state != "active":
        saw = f"has a Fabric Manager that is {state}"
        fix = f"as root on {view.name}: {start}; journalctl -u nvidia-fabricmanager tells why it stopped"
    else:
        return
    yield context.block(
        view,
        saw=f"{view.name} {saw}",
        expected=f"Fabric Manager {driver or 'of its version'}, as the driver, and active",
        why=WHY,
        fix=fix,
    )


def states(context: Context, view: View) -> Findings:
    unready: dict[str, list[int]] = {}
    for index, gpu in enumerate(view.maps("gpus.list")):
        state, status = (mapping(gpu.get("fabric")).get(key) for key in ("state", "status"))
        if isinstance(state, str) and (state != "Completed" or status not in (None, "Success")):
            unready.setdefault(
                f"{state}{f' ({status})' if status and state == 'Completed' else ''}", []
            ).append(index)
    for state, indices in unready.items():
        yield context.block(
            view,
            saw=f"the NVLink fabric of {view.name} is {state} on GPU {listed(indices)}",
            expected="Completed, Success",
            why=WHY,
            fix=f"systemctl restart nvidia-fabricmanager on {view.name}, then nvidia-smi -q | grep -A2 Fabric",
        )
