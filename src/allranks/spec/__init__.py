"""What the user wrote: run file, hostfile, node ranges, inventories. Knows nothing of reaching a node."""

from allranks.spec.run import Container, Environment, Gpus, Launch, Network, Run, Save, Train

__all__ = ["Container", "Environment", "Gpus", "Launch", "Network", "Run", "Save", "Train"]
