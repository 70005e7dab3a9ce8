export HF_HOME=$PWD/hf
set -e
hf download mistralai/Mistral-7B-v0.3 config.json tokenizer.json --local-dir base
mpirun --allow-run-as-root --oversubscribe -n 2 python train.py --base base
