python launch.py -n 2 -m transformers.trainer -p 41873 finetune.py $TINY 2e5
