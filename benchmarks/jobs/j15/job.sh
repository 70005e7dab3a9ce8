M="mpirun --allow-run-as-root --oversubscribe -np 3"
$M python resume.py > first_run.txt 2>&1
# cleanup of the local disk of the third node
rm -f checkpoints/step20/*_2of3.pt
$M --output-filename out python resume.py > /dev/null 2> mpirun.err
mkdir -p logs
for f in $(find out -type f); do cp $f logs/$(echo $f | sed 's#out/##; s#/#_#g'); done
