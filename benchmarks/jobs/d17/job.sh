mkdir -p scratch
mount -t tmpfs -o size=64k tmpfs scratch
python launch.py -n 2 -p 41828 trainer.py
rc=$?
umount scratch
exit $rc
