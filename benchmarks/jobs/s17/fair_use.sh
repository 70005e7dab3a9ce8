# the lab's fair use rule: the oldest-listed job of a user that has more than two gives way
d=$1
for t in $(seq 1 80); do
  if [ "$(ls $d | wc -l)" -ge 3 ]; then sleep 3; kill -TERM "$(cat $d/1)"; exit; fi
  sleep 0.5
done
