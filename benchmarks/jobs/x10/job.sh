#!/bin/sh
# fortsetzen nach dem Stromausfall vom Wochenende
export OMP_NUM_THREADS=1
make -s seed
make -j4 all
