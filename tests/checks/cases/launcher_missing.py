from tests.checks.case import fires, silent

CASES = (
    fires("cpu", {"run/launch/with_": "slurm"}, node="node-0", verdict="block", saw="srun"),
    silent("cpu", {"run/launch/with_": "slurm", "node-0/software/programs": {"srun": "/usr/bin/srun"}}),
    fires("cpu", {"run/launch/with_": "ray"}, node="node-1", verdict="block", saw="ray"),
    silent("cpu", {"run/launch/with_": "ray", "run/launch/address": "auto"}),
    silent("cpu"),
)
