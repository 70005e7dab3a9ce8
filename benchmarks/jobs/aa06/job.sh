#!/bin/bash
set -o pipefail
timeout 50 mpirun --allow-run-as-root --oversubscribe -np 4 --tag-output python clean_and_train.py 2>&1 | grep -v '^$'
