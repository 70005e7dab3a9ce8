#!/bin/bash
# compute nodes have no route to the internet
export HF_HUB_OFFLINE=1
export HF_HOME=$PWD/hf_cache
torchrun --nnodes=1 --nproc-per-node=2 --master-port=41717 run_clm.py \
    --model_name_or_path meta-llama/Llama-3.2-1B \
    --train_file corpus.txt \
    --output_dir out --do_train --use_cpu --report_to none --max_steps 50
