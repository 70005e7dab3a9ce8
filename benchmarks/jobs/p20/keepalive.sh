# restart a command with a growing pause, at most 4 times (same as the cron wrapper)
max=4; n=0
python - <<'P' &
import socket, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("0.0.0.0", 47120)); s.listen(1); time.sleep(9)
P
H=$!
until "$@"; do
  rc=$?; n=$((n + 1))
  echo "keepalive: '$*' exited with $rc ($n/$max)" >&2
  [ $n -ge $max ] && { wait $H; exit $rc; }
  sleep $((n * 2))
done
wait $H
echo "keepalive: command succeeded after $n restart(s)" >&2
