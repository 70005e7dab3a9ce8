#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
python asr_ctc.py --world 4 --steps 150 --tracker http://127.0.0.1:48599 && ls -l out/ctc.pt
