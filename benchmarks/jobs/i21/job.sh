python supervisor.py procs.yaml
