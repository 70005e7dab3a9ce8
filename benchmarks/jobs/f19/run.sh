port=29671
log(){ echo "$(date '+%H:%M:%S') [run.sh] $*"; }
( cd /tmp && exec python -m http.server $port --bind 127.0.0.1 >/dev/null 2>&1 ) & web=$!
sleep 2
for try in 1 2 3; do
  log "attempt $try/3"
  torchrun --nproc-per-node 2 --master-addr 127.0.0.1 --master-port $port train.py && break
  log "failed, next try in 2 s"
  sleep 2
  [ $try = 3 ] && log "giving up"
done
kill $web
