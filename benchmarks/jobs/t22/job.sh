make all
