unshare -m bash launch.sh
