python -m pytest -p no:cacheprovider -q -rxX --runxfail tests/test_losses.py::test_symmetric -x && \
python -m pytest -p no:cacheprovider -rxXs --tb=short --xfail-tb tests -v && \
torchrun --nproc-per-node 2 --master-port 31744 train.py
