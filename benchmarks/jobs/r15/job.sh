export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
python make_tickets.py && torchrun --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 47345 triage.py --epochs 4
