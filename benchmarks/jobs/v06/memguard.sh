# per-job memory police of the cluster: no rank above $1 MB
lim=$1
for i in $(seq 1 200); do
  sleep 0.25
  for f in run/*.pid; do
    [ -e "$f" ] || continue
    p=$(cat "$f")
    kb=$(awk '/VmRSS/{print $2}' /proc/$p/status 2>/dev/null)
    if [ -n "$kb" ] && [ "$kb" -gt $((lim*1024)) ]; then kill -9 $p; rm -f "$f"; fi
  done
done
