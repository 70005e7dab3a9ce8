from tests.checks.case import fires, silent

LEFT = {"run": "0902-a", "node": "node-1", "supervisor": None, "keeper": None, "processes": [41877, 41878]}

CASES = (
    fires("cpu", {"node-1/leftovers/runs": [LEFT]}, node="node-1", verdict="block", saw="41877"),
    fires("cpu", {"node-1/leftovers/runs": [{**LEFT, "supervisor": 41870}]}, node="node-1", verdict="warn"),
    silent("cpu"),
)
