set -o pipefail
python gen_corpus.py && python -m torch.distributed.run --nproc-per-node 3 --rdzv-backend c10d --rdzv-endpoint 127.0.0.1:47507 pretrain.py 2>&1 | sed -e 's/^/[lm-tiny] /'
