# startet das Sprachmodell auf den drei Rechnern (hier alles lokal)
export OMP_NUM_THREADS=1
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47903 WORLD_SIZE=3
r=0
pids=
for h in iris lotus tulip; do
  RANK=$r python lm.py conf/$h.json 2>&1 | sed "s/^/$h| /" &
  pids="$pids $!"
  r=$((r+1))
done
wait $pids
test -f out/model.pt && echo "fertig" && exit 0
echo "kein Modell geschrieben" ; exit 1
