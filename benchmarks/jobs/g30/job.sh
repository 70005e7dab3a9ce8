python -u tune_serve.py
