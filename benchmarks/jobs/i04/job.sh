python sweep.py --grid grid.yaml
