exec unshare -m bash -c 'mkdir -p vol && mount -t tmpfs -o size=400k tmpfs vol && python export.py vol; rc=$?; df -h vol; umount vol; exit $rc'
