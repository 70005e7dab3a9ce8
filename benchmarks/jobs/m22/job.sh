rm -rf bin; mkdir -p bin
python tokenize_corpus.py 4000000 0 1 2
( until [ "$(cat bin/progress_0 2>/dev/null || echo 0)" -ge 15 ]; do sleep 0.2; done; python tokenize_corpus.py 30000 0 ) &
torchrun --nproc-per-node 3 --master-port 4422 train.py
wait
