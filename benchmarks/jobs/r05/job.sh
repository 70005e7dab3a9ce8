python sweep.py --trials 36 --jobs 2
