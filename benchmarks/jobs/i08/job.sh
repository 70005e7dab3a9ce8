python -u spawn_train.py
