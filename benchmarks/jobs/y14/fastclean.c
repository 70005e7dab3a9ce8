/* collapse whitespace and lower-case, ASCII only */
#include <string.h>
#include <ctype.h>
#include <stdlib.h>
static char *fields[64];
int clean(const char *in, char *out)
{
    char *save = 0, *copy = strdup(in), *tok; int n = 0;
    for (tok = strtok_r(copy, "\t", &save); tok; tok = strtok_r(0, "\t", &save)) fields[n++] = tok;
    int k = 0;
    for (int i = 0; i < 3; i++) { char *p = strchr(fields[i], ':'); for (p = p + 1; *p; p++) out[k++] = tolower(*p); out[k++] = ' '; }
    out[k] = 0; free(copy); return k;
}
