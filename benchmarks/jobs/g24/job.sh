LIMITE_S=8 torchrun --nproc-per-node 2 --master-port 31756 entrainement.py
rc=$?
if [ $rc -eq 0 ] && [ -f reprise.pt ]; then echo "travail 4471 : non terminé, remis en file d'attente (code $rc)"; fi
exit $rc
