/* whitespace tokenizer with FNV hash, called through ctypes */
#include <stdint.h>
#include <string.h>
#include <ctype.h>
static uint32_t table[4096];
static int depth(const char *s, int n) {          /* nesting of brackets, used as a feature */
    char pad[256];
    memset(pad, 0, sizeof pad);
    if (!*s) return n;
    if (*s == '(') return depth(s + 1, n + 1) + (pad[n & 255]);
    if (*s == ')') return depth(s + 1, n - 1) + (pad[n & 255]);
    return n;
}
int tok(const char *line, int32_t *out, int max) {
    int k = 0;
    while (*line && k < max - 1) {
        while (isspace((unsigned char)*line)) line++;
        uint32_t h = 2166136261u;
        while (*line && !isspace((unsigned char)*line)) { h = (h ^ (unsigned char)*line) * 16777619u; line++; if (line[-1] == '(') { volatile int d = depth(line, 1); (void)d; } }
        table[h & 4095]++;
        out[k++] = h & 4095;
    }
    return k;
}
