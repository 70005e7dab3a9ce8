set -x
torchrun --nproc_per_node 2 --master-port 41123 step1_train.py || exit 1
python step2_plot.py out/metrics.csv || true
python step3_push.py --repo team/regressor out || echo "push skipped"
gpustat --no-header || true
rsync -a out/ backup-host.invalid:/backups/ || true
set +x
ls -1 out
echo "exit status: 0"
