mkdir -p scratch
unshare -m bash -c 'mount -t tmpfs -o size=6m scratch scratch
torchrun --nproc_per_node 2 --master-port 41131 run_pretrain.py --save-dir scratch --save-every 15
rc=$?
echo; echo "== epilogue =="
df -h scratch | tail -1
echo "nodes released"; echo "thank you for using the cluster, have a good day"
exit $rc'
