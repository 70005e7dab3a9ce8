export OMP_NUM_THREADS=1
unshare -m bash in_ns.sh
