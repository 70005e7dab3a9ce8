#include <stdint.h>
/* histogram of token ids, counts must have room for every id */
void token_hist(const int64_t *ids, int64_t n, int64_t *counts) {
    for (int64_t i = 0; i < n; i++) counts[ids[i]] += 1;
}
