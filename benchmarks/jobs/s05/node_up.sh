#!/bin/bash
set -a; . units/$1.env; set +a
echo "unit $1 up, rank $RANK of $WORLD_SIZE, head $MASTER_ADDR:$MASTER_PORT"
exec python vae.py
