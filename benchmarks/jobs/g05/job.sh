torchrun --nproc-per-node 2 --master-port 31705 sft.py --model $TINY --out outputs/sft
