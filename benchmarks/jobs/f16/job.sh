export OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
ulimit -v 6000000   # shared login node
python build_index.py
