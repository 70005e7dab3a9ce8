python rl.py
