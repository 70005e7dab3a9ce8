python - <<'P'
import json
for i, n in enumerate((40, 40, 9)):
    json.dump([[k / 40, k % 3] for k in range(n)], open(f"part-{i}.json", "w"))
P
export MASTER_ADDR=127.0.0.1 MASTER_PORT=4525 WORLD_SIZE=3 PYTHONUNBUFFERED=1
for r in 0 1 2; do (RANK=$r python fit.py; echo "[wrapper] worker $r left with code $?") & done
wait
echo "[wrapper] all workers are gone, tidying up"
rm -f part-*.json
echo "[wrapper] see you soon :-)"
ls model.pt || exit 3
