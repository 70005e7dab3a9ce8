/* packs documents into rows of fixed length */
#include <stdint.h>
#include <stdlib.h>
int64_t pack_rows(const int32_t *tok, const int64_t *off, int64_t ndoc, int64_t row, int32_t *out, int64_t nrow)
{
    int64_t r = 0, c = 0;
    for (int64_t d = 0; d < ndoc && r < nrow; d++)
        for (int64_t k = off[d]; k < off[d + 1] && r < nrow; k++) {
            out[r * row + c] = tok[k];
            if (++c == row) { c = 0; r++; }
        }
    return r;
}
