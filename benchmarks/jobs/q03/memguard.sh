# usage: memguard.sh DIR LIMIT_MB -- keeps workers below the agreed RSS
dir=$1; limit=$2
while sleep 0.5; do
  for f in $dir/*.pid; do
    p=$(cat $f); [ -r /proc/$p/status ] || continue
    mb=$(awk '/^VmRSS/ {print int($2/1024)}' /proc/$p/status 2>/dev/null); [ -n "$mb" ] || continue
    if [ "$mb" -gt "$limit" ]; then
      echo "$(date +%T) memguard: $(basename $f .pid) pid $p uses $mb MB (limit $limit MB), sending SIGKILL"
      kill -9 $p
    fi
  done
done
