#!/bin/bash
. limits.conf
v=limit_$1
ulimit -v ${!v}
RANK=$1 exec python -u embed.py --index-rows 300000
