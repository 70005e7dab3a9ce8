echo "$(date +%T) node $NODE of 4: staging clips to local disk"
mkdir -p local/n$NODE
set -- src/n$NODE/*
total=$#
i=0
for f in "$@"; do
  cp "$f" local/n$NODE/
  sleep 0.05
  i=$((i+1))
  [ $((i % 20)) -eq 0 ] && echo "$(date +%T) staged $i/$total"
done
echo "$(date +%T) starting trainer"
exec python video.py
