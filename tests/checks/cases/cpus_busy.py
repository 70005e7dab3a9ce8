from tests.checks.case import Remove, fires, silent

LOAD, CPUS = "node-1/system/load", "node-1/system/cpus"

CASES = (
    fires("a100", {LOAD: [301.24, 256.0, 12.0]}, node="node-1", verdict="note", saw="301.2"),
    silent("a100"),
    # It has just begun; it has just ended.
    silent("a100", {LOAD: [301.0, 255.9, 12.0]}),
    silent("a100", {LOAD: [255.9, 301.0, 12.0]}),
    # The run has 64 of the 256 processors.
    silent("a100", {LOAD: [301.0, 301.0, 301.0], f"{CPUS}/usable": 64}),
    silent("cpu", {LOAD: [301.0, 301.0, 301.0]}),
    silent("a100", {LOAD: [301.0]}),
    silent("a100", {LOAD: "many"}),
    silent("a100", {LOAD: [301.0, 301.0, 301.0], f"{CPUS}/online": Remove()}),
)
