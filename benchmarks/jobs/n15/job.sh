python -m http.server 4515 --bind 127.0.0.1 >/dev/null 2>&1 & web=$!
sleep 1
mpirun --allow-run-as-root --oversubscribe -np 2 -x MASTER_ADDR=127.0.0.1 -x MASTER_PORT=4565 python -u ranker.py --metrics-port 4515
rc=$?
kill $web
exit $rc
