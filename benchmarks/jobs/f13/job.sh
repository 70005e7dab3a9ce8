export OMP_NUM_THREADS=1
bash run.sh
rc=$?
echo "run.sh finished, exit code $rc"
