python launch.py -n 2 -p 41875 -m accelerate,peft,transformers.models.llama.modeling_llama lora_train.py $TINY
