# node_guard.sh ROOT_PID MB : no process below ROOT_PID may keep more than MB resident
desc() { for c in $(cat /proc/$1/task/*/children 2>/dev/null); do echo $c; desc $c; done; }
while [ -d /proc/$1 ]; do
  for p in $(desc $1); do
    kb=$(awk '/^RssAnon/{print $2}' /proc/$p/status 2>/dev/null)
    [ -n "$kb" ] && [ $kb -gt $(( $2 * 1024 )) ] && kill -KILL $p
  done
  sleep 0.1
done
