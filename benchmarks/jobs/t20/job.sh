python3 fleet.py --workers 4 --rounds 12
