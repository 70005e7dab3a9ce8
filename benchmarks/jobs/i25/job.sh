export MASTER_ADDR=127.0.0.1 MASTER_PORT=41130 WORLD_SIZE=4
python split.py
for r in 0 1 2 3; do
  RANK=$r python -u intent.py 2>&1 | sed -u "s/^/[r$r] /" &
done
wait
echo "All workers are back."
echo "Artifacts in out/:"; ls out
echo "Bye."
