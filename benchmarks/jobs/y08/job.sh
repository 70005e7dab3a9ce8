make -s train
