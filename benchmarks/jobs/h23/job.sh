rm -f iter
python corpus.py
bash sync.sh &
torchrun --nproc-per-node 3 --master-port 29833 gpt.py
wait
