export OMP_NUM_THREADS=1 PYTHONPATH=lib
python lib/make_reviews.py
MASTER_ADDR=127.0.0.1 MASTER_PORT=47714 python sentiment.py 4
