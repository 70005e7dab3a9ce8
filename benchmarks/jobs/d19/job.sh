python launch.py -n 2 -p 41832 -m peft,transformers.trainer lora.py $TINY
