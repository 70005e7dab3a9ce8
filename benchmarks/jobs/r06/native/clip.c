#include <stdint.h>
#include <string.h>
/* clip file: uint32 n, then n int8 deltas; decodes to floats */
int clip_decode(const uint8_t *buf, float *out, int cap) {
    uint32_t n; memcpy(&n, buf, 4);
    const int8_t *d = (const int8_t *)(buf + 4);
    float acc = 0;
    for (uint32_t i = 0; i < n; i++) { acc += d[i] / 128.0f; out[i % cap] = acc; }
    return (int)n;
}
