mkdir -p ckpt && mount -t tmpfs -o size=14m tmpfs ckpt
python train.py ckpt/run1
rc=$?
df -h ckpt | tail -1
exit $rc
