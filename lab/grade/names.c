/* Exchanges the names of a sale. */
#include "names.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define TAIL     12 /* the end of an id, which a file may use alone */
#define TOKENS   8  /* of one order */
#define INSTANCE "inventory-"
#define ORDER_ID "00000000-0000-7000-8000-%012d" /* of the model, with the number of the order */
#define TOKEN    "%04x%036x"

uint64_t names_random(uint64_t *seed) {
    uint64_t mixed = *seed += UINT64_C(0x9e3779b97f4a7c15);

    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

/* Add a name that is shown as `shown`. */
static void add_name(struct names *names, const char *real, const char *shown) {
    assert(names->count < NAMES && strlen(real) == strlen(shown));
    (void)snprintf(names->names[names->count].real, TOKEN_TEXT, "%s", real);
    (void)snprintf(names->names[names->count].shown, TOKEN_TEXT, "%s", shown);
    names->count++;
}

/* An order's id, of the form that order-svc makes (a UUID of version 7), and its tokens. */
static void add_order(struct names *names, int index, uint64_t *seed) {
    const uint64_t a = names_random(seed), b = names_random(seed);
    char real[TOKEN_TEXT], shown[TOKEN_TEXT];

    (void)snprintf(real, sizeof real, ORDER_ID, index + 1);
    (void)snprintf(shown, sizeof shown, "%08x-%04x-7%03x-%04x-%012llx", (unsigned)(a >> 32),
                   (unsigned)(a & 0xffff), (unsigned)(a >> 16 & 0xfff),
                   0x8000U | (unsigned)(b >> 50), (unsigned long long)(b & 0xffffffffffff));
    add_name(names, real, shown);
    add_name(names, real + strlen(real) - TAIL, shown + strlen(shown) - TAIL);
    for (unsigned i = 1; i <= TOKENS; i++) {
        (void)snprintf(real, sizeof real, TOKEN, (unsigned)index + 1, i);
        (void)snprintf(shown, sizeof shown, "%016llx%016llx%08x",
                       (unsigned long long)names_random(seed),
                       (unsigned long long)names_random(seed), (unsigned)names_random(seed));
        add_name(names, real, shown);
    }
}

void names_choose(struct names *names, uint64_t *seed) {
    const unsigned first = (unsigned)(names_random(seed) % 6);

    names->count = 0;
    for (int i = 0; i <= MODEL_ORDERS; i++)
        add_order(names, i, seed);
    for (unsigned i = 1; i <= MODEL_INSTANCES; i++) {
        char real[16], shown[16];

        (void)snprintf(real, sizeof real, INSTANCE "%u", i);
        (void)snprintf(shown, sizeof shown, INSTANCE "%u", (first + i) % 10);
        add_name(names, real, shown);
    }
}

/* Two names change places. */
static void exchange(struct names *names, const char *a, const char *b) {
    if (strcmp(a, b) == 0)
        return;
    add_name(names, a, b);
    add_name(names, b, a);
}

void names_first_order(char id[TOKEN_TEXT]) {
    (void)snprintf(id, TOKEN_TEXT, ORDER_ID, 1);
}

void names_exchange(struct names *names, const char *order_id, int index, const char *instance) {
    char first[TOKEN_TEXT], own[TOKEN_TEXT];

    names->count = 0;
    names_first_order(first);
    exchange(names, order_id, first);
    exchange(names, order_id + strlen(first) - TAIL, first + strlen(first) - TAIL);
    for (unsigned i = 1; i <= TOKENS; i++) {
        (void)snprintf(first, sizeof first, TOKEN, 1, i);
        (void)snprintf(own, sizeof own, TOKEN, (unsigned)index + 1, i);
        exchange(names, own, first);
    }
    exchange(names, instance, NAMES_FIRST_INSTANCE);
}

void names_replace(const struct names *names, char *text, bool back) {
    for (; *text != '\0'; text++)
        for (size_t i = 0; i < names->count; i++) {
            const char *from = back ? names->names[i].shown : names->names[i].real;
            const char *to = back ? names->names[i].real : names->names[i].shown;
            const size_t length = strlen(from);

            if (strncmp(text, from, length) == 0) {
                memcpy(text, to, length);
                text += length - 1;
                break;
            }
        }
}

void names_show(const struct names *names, struct reply *reply) {
    names_replace(names, reply->text, false);
    for (int i = 0; i < KV_STEPS - 1; i++)
        names_replace(names, reply->then[i], false);
}

static void replace_back(const struct names *names, char key[CALL_TEXT], char value[CALL_TEXT]) {
    key[CALL_TEXT - 1] = value[CALL_TEXT - 1] = '\0';
    names_replace(names, key, true);
    names_replace(names, value, true);
}

void names_take_back(const struct names *names, struct call *call) {
    replace_back(names, call->key, call->value);
    for (int i = 0; i < KV_STEPS - 1; i++)
        replace_back(names, call->then[i].key, call->then[i].value);
}
