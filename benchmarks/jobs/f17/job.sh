export OMP_NUM_THREADS=1
unshare -m bash ns.sh
