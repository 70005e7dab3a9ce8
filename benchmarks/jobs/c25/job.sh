( until [ -s pids/1 ]; do sleep 0.3; done; sleep 3; kill -9 $(cat pids/1) ) &
python tokenize_corpus.py && torchrun --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 29645 train.py --data tokenized
