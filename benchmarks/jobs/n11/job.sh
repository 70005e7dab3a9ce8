torchrun --nproc-per-node 2 --master-port 4511 sft.py --model $TINY --data incidents.jsonl
echo "job finished with status $?"
