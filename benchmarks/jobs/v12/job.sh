python start.py fleet.json
