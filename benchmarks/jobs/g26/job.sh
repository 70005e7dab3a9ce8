make -s all
