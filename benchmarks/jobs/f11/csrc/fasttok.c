int bpe_len(const char*);
int count_tokens(const char *s){return bpe_len(s);}
