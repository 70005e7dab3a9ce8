mkdir -p store && mount -t tmpfs -o ro,size=4m tmpfs store
torchrun --standalone --nproc-per-node 3 train.py --outdir store/exp17
