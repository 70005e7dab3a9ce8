# settings of the old cluster
export GLOO_SOCKET_IFNAME=bond0
export OMP_NUM_THREADS=1
