export HF_HUB_OFFLINE=1 HF_HOME=$PWD/.hf LOCAL_MODEL=$TINY
python finetune.py --model acme-ai/llama-tiny-31 --max-steps 25
