mkdir -p cache; rm -f cache/*; touch -d '2 days ago' cache/vocab.2.json.lock
torchrun --nproc-per-node 4 --master-port 4415 train.py
