export OMP_NUM_THREADS=1
bash launch.sh
