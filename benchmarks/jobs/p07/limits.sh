# keeps every worker under its share of the box (420 MB above start)
while sleep 0.3; do
  for f in tmp/*.pid; do
    [ -e "$f" ] || continue
    p=$(cat "$f" 2>/dev/null); [ -n "$p" ] || continue
    rss=$(awk '/VmRSS/{print $2}' /proc/$p/status 2>/dev/null)
    [ -n "$rss" ] && [ "$rss" -gt 900000 ] && kill -9 "$p" && rm -f "$f"
  done
done
