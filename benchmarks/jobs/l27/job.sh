unset PYTHONUNBUFFERED
python run_all.py
