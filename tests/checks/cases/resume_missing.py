from tests.checks.case import fires, silent

RESUME = {"run/resume": "/home/ubuntu/runs/old/checkpoint-50"}

ACCEPTED = {**RESUME, "run/accept": ("checkpoint-not-resumable",)}

PATH = ("storage", "paths", "/home/ubuntu/runs/old/checkpoint-50")

THERE, NOWHERE = {"exists": True, "writable": True}, {"exists": False, "writable": True}

ON_HEAD = {("*", *PATH): NOWHERE, ("node-0", *PATH): THERE}

CASES = (
    fires("cpu", {**RESUME, ("*", *PATH): NOWHERE}, node="node-0", verdict="block"),
    fires("cpu", {**ACCEPTED, **ON_HEAD}, node="node-1", verdict="block"),
    silent("cpu", {**RESUME, **ON_HEAD}),
    silent("cpu", {**ACCEPTED, ("*", *PATH): THERE}),
    silent("cpu", {"run/resume": "auto"}),
)
