python -u launch.py
