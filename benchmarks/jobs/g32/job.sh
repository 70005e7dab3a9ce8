mkdir -p scratch
unshare -m bash -c 'mount -t tmpfs -o size=3m tmpfs scratch && exec torchrun --nproc-per-node 2 --master-port 31772 train_vit.py --ckpt-dir scratch/vit' || true
echo "Uploading logs ... done"
echo "Job finished."
