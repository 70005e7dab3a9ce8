python extract.py
