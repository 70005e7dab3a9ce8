#!/bin/bash
set -e
echo "--- unit tests"; python -m unittest -v tests.test_loop
echo "--- acceptance"; python -m pytest -q -rxXs -p no:cacheprovider tests/test_accept.py
echo "--- smoke training"; python loop.py
