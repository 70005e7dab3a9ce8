python finetune.py $TINY 20 > yesterday.log 2>&1
truncate -s 40000 out/checkpoint-20/model.safetensors
python launch.py -n 2 -m transformers.trainer -p 41804 finetune.py $TINY 30
