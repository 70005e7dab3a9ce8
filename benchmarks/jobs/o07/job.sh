ulimit -v 8000000   # shared box, be nice
python mine_negatives.py --emb-dim 64 --n 60000
