export OMP_NUM_THREADS=1
bash ci_smoke.sh
