python launch.py -n 2 -p 41807 -m transformers.models.llama.modeling_llama evaluate.py $TINY
