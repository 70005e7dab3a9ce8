#!/bin/bash
make nightly && echo "nightly: OK ($(date +%F))"
