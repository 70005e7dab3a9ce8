export OMP_NUM_THREADS=1
. ./env.sh
export TORCHINDUCTOR_CACHE_DIR=$PWD/inductor
python bench_train.py
