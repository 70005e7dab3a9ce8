FIRES = [{"events": [{"at": 1.0, "kind": "lease-lost", "node": "b", "data": {}}]}]

SILENT = [{"events": [{"at": 1.0, "kind": "stopping", "node": "b", "data": {"why": "asked"}}]}]
