exec 2>&1
say() { printf '\n>>> %s  %s\n' "$(date +%H:%M:%S)" "$*"; }
run() { say "$*"; "$@"; local rc=$?; echo "<<< exit code $rc"; return $rc; }
run rsync -a fileserver:/corpora/news/ raw/ || echo "(no mirror, will use the local copy)"
run python prep.py raw_local.txt ids.pt || exit 1
run python -c "import deepspeed_kernels_custom" || echo "(optional kernels are not there)"
run python -m torch.distributed.run --nproc-per-node 2 --master-port 4520 lm.py ids.pt || exit 1
run python evaluate.py lm.pt --suite glue || echo "(GLUE is not available offline)"
run python evaluate.py lm.pt --suite ppl || exit 1
run rm -r raw_tmp || true
say all stages are through
