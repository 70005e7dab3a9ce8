set -e
echo "+ pytest tests"
python -m pytest -q -rxX --showlocals --runxfail tests/test_data.py -k "not unicode" -p no:cacheprovider || echo "(known: see issue 212)"
python -m pytest -v -rx -p no:cacheprovider tests
echo "+ torchrun smoke.py"
torchrun --nproc_per_node 2 --master-port 41113 smoke.py
echo "pipeline: exit $?"
