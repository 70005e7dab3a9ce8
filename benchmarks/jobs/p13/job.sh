cd "$(dirname "$0")"
export TRANSFORMERS_VERBOSITY=error
torchrun --nproc_per_node=2 --master_port=47113 sft_lora.py --rank_dim 8
