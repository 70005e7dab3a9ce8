int bpe_len(const char *s){int n=0;while(*s++)n++;return n/3+1;}
