torchrun --nproc-per-node 2 --master-port 31752 charlm.py --text syslog.txt --samples 5
