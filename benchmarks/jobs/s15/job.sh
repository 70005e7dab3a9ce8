#!/bin/sh
# make-driven: prepares the scratch disks, then runs
make -s run
