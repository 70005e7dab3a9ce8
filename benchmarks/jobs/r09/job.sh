#!/bin/sh
exec python pipeline.py --config pipeline.yaml
