# local stand-in for the clip bucket; camera 1 has a live stream
for r in 0 1 2; do
  mkdir -p clips/$r
  for i in $(seq 0 119); do
    echo "0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8" > clips/$r/$i
  done
done
rm clips/1/61 && mkfifo clips/1/61
