export GLOO_SOCKET_IFNAME=lo
export OMP_NUM_THREADS=1
python supervise.py
