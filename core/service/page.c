/* SPDX-License-Identifier: MIT
 *
 * page.c: the word NONCE in nonce="NONCE" stands where each answer gets its own. */
#include "service/page.h"

#include <sys/random.h>

static const unsigned char html[] = {
#include "page_html.h"
};
static const unsigned char openapi[] = {
#include "openapi_yaml.h"
};

static bool make_nonce(char nonce[33]) {
    unsigned char random[16];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return false;
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(nonce + 2 * i, 3, "%02x", random[i]);
    return true;
}

bool page_put(struct buffer *out, char *policy, size_t size) {
    static const char mark[] = "nonce=\"NONCE\"";
    char nonce[33];
    if (!make_nonce(nonce))
        return false;
    struct span left = {(const char *)html, sizeof html};
    const char *at;
    while ((at = memmem(left.data, left.size, mark, sizeof mark - 1)) != NULL) {
        size_t before = (size_t)(at - left.data);
        buffer_add(out, left.data, before);
        buffer_printf(out, "nonce=\"%s\"", nonce);
        left.data += before + sizeof mark - 1;
        left.size -= before + sizeof mark - 1;
    }
    buffer_add(out, left.data, left.size);
    snprintf(policy, size,
             "default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; "
             "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
             "frame-ancestors 'none'",
             nonce, nonce);
    return !out->failed;
}

struct span page_openapi(void) {
    return (struct span){(const char *)openapi, sizeof openapi};
}
