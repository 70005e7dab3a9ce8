python -u run_amp.py 2>&1
