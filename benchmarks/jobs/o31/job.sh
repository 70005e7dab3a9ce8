cp -r "$TINY" tiny
for c in sweep/*.json; do
  echo "##### $c"
  python run.py $c; rc=$?
  echo "##### $c -> exit $rc"
done
exit $rc
