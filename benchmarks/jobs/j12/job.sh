mkdir -p vocab
for i in 0 1 2 3; do seq 1 500 > vocab/local$i.txt; done
seq 1 480 > vocab/local2.txt
md5sum vocab/local0.txt | cut -c1-8 > vocab/MD5
torchrun --nproc-per-node 4 --master-port 4112 train_lm.py
