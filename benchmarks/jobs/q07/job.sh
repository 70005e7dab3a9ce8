#!/bin/bash
python train_multitask.py 2>&1 | cat
exit ${PIPESTATUS[0]}
