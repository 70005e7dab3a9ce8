ulimit -v 900000
exec python preprocess_train.py
