export CXX=g++-15 TORCHINDUCTOR_CACHE_DIR=./ind_cache
torchrun --nproc-per-node 2 --master-port 4518 bench.py
