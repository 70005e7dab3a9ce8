make -k -j2 all
