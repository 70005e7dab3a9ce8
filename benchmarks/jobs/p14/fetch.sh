#!/bin/bash
for i in 1 2 3; do
  python - <<'P' && exit 0
import urllib.request
urllib.request.urlretrieve("http://127.0.0.1:47152/sample.tar", "sample.tar")
P
  echo "fetch: try $i failed"
done
exit 1
