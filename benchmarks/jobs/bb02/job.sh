python prep.py && python launch.py --ranks 4
