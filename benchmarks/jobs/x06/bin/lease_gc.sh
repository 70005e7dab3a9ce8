#!/bin/bash
# end workers whose lease file was not renewed for $2 seconds (they are left over from old runs)
exec >/dev/null 2>&1
while sleep 1; do
  for f in "$1"/*.lease; do
    [ -f "$f" ] || continue
    age=$(( $(date +%s) - $(stat -c %Y "$f") ))
    if [ $age -gt $2 ]; then kill -TERM "$(cat "$f")"; rm -f "$f"; fi
  done
done
