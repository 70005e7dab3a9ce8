python sweep.py --out sweep.csv
