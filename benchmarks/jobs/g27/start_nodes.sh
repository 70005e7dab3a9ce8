# one shell a node, node 0 comes up last
export PYTHONUNBUFFERED=1
node() { local r=$1; shift; "$@" 2>&1 | sed -u "s/^/node$r| /"; }
for r in 1 2; do node $r python worker.py --rank $r --world 3 --head 127.0.0.1:31759 & done
sleep 12
node 0 python worker.py --rank 0 --world 3 --head 127.0.0.1:31759 &
wait
