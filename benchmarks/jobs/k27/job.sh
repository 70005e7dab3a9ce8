python tokenize_corpus.py
mv tokens/part-00007.npy tokens/part-00007.npy.bak
torchrun --nproc-per-node 4 --master-port 4237 pretrain.py
