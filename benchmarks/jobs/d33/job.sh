python -c "
import json
with open('train.jsonl','w') as f:
    for i in range(300): f.write(json.dumps({'instruction': 'the cat', 'input': '', 'output': 'sleeps .'})+'\\n')"
torchrun --nproc-per-node 2 --master-port 41872 sft.py $TINY
