unset PYTHONUNBUFFERED
python sweep.py
