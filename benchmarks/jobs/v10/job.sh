make -s
