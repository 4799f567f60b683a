/* Compares without telling by the time it takes how much of a guess was right. */
#include "secret.h"

#include <assert.h>
#include <string.h>

static const char scheme[] = "Bearer ";

static bool secret_is_same(const char *given, const char *secret) {
    size_t length = strlen(secret), given_length = strlen(given);
    volatile unsigned char differs = given_length != length;

    assert(length > 0); /* the caller refuses without one */
    for (size_t i = 0; i < given_length; i++)
        differs |= (unsigned char)(given[i] ^ secret[i % length]);
    return differs == 0;
}

bool secret_is_given(struct http_exchange *exchange, const char *secret) {
    const char *given = http_header(exchange, "Authorization");

    if (secret[0] == '\0') {
        http_reply_error(exchange, 403, "no_secret",
                         "this needs a secret, and the instance has none: start it with "
                         "INVENTORY_SVC_SECRET, and order-svc with the same in "
                         "ORDER_SVC_INVENTORY_SECRET");
        return false;
    }
    if (given != NULL && strncmp(given, scheme, strlen(scheme)) == 0 &&
        secret_is_same(given + strlen(scheme), secret))
        return true;
    http_reply_header(exchange, "WWW-Authenticate", "Bearer");
    http_reply_error(exchange, 401, "unauthorized",
                     "this needs Authorization: Bearer and the secret of INVENTORY_SVC_SECRET");
    return false;
}
