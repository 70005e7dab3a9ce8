#!/bin/bash
r=$OMPI_COMM_WORLD_RANK
[ -f profile.$r ] && . ./profile.$r
exec python -u sim.py
