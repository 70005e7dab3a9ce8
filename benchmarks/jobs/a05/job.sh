python make_data.py
export TOKENIZERS_PARALLELISM=false
torchrun --nnodes 1 --nproc-per-node 2 --master-port 21639 finetune.py --model $TINY --data corpus.jsonl --ddp-timeout 10
