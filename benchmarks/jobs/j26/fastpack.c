#include <stdlib.h>
#include <stdint.h>
/* counts of n-gram hashes, tab has 1<<16 slots */
int64_t count_ngrams(const int64_t *ids, int64_t n, int32_t *tab) {
    int64_t k = 0;
    for (int64_t i = 0; i + 1 < n; i++) { int64_t h = ids[i] * 251 + ids[i + 1]; if (tab[h]++ == 0) k++; }
    return k;
}
