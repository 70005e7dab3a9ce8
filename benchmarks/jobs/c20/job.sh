set -e
python preprocess.py
torchrun --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 29640 train_asr.py --data wav16k
