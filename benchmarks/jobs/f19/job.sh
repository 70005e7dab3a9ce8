export OMP_NUM_THREADS=1
bash run.sh
