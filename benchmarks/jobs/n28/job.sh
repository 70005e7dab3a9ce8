torchrun --nproc-per-node 2 --master-port 4528 --redirects 2 --log-dir tl train_half.py --lr 0.9
rc=$?
echo "run summary stored in summary.json"
cat summary.json; echo
[ $rc = 0 ] || echo "not promoted to the model registry (status $rc)"
exit $rc
