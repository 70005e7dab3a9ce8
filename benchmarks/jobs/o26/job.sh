mkdir -p models && cp -r "$TINY" models/llama-tiny-v2 && truncate -s 60000 models/llama-tiny-v2/model.safetensors
python score.py --model models/llama-tiny-v2 --file prompts.txt
