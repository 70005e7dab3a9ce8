python sweep.py
