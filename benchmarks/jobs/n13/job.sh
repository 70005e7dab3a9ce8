echo "slice 3 of 12, budget 20 s, started $(date +%T)"
torchrun --nproc-per-node 2 --master-port 4513 --log-dir tlogs --tee 3 slice.py --budget 12
rc=$?
echo "slice ended rc=$rc; next slice will be queued"
exit $rc
