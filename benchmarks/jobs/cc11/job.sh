export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
python3 multitask.py --world 3 --port 48531 --tasks ner,pos,chunk
