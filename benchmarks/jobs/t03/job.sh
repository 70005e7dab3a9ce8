python launch.py --n 4 --port 47505 embed_miner.py
