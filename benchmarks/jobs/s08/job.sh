export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
python gen_intents.py && python -W ignore intent.py
