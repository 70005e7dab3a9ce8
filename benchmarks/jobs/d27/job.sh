python launch.py -n 2 -p 41860 -m transformers.models.llama.modeling_llama score.py $TINY
