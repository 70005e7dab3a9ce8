mkdir -p txt
for i in 0 1; do
  for k in $(seq 40); do echo "the old man and the sea, chapter $k"; done > txt/part-$i.txt
done
# two letters from the archive, scanned years ago
printf 'caf\xe9 de la gare, d\xe9j\xe0 vu\n' >> txt/part-1.txt
for k in $(seq 20); do echo "the tale of two cities, page $k" >> txt/part-1.txt; done
