unset PYTHONUNBUFFERED
export HF_HUB_OFFLINE=1 HF_HOME=$PWD/hf_cache
export BASE_MODEL=HuggingFaceTB/SmolLM2-135M
torchrun --nproc-per-node 2 --master-port 4305 train.py
