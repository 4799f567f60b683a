/* Exchanges the names of a sale. */
#include "names.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAIL   12 /* the end of an id, which a file may use alone */
#define TOKEN  (TOKEN_TEXT - 1)
#define ALIKE  8 /* digits at each end of an alike token */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* splitmix64's mixing is one to one. */
static uint64_t names_mix(uint64_t number) {
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return number ^ number >> 31;
}

static uint64_t names_unmix(uint64_t number) {
    number = (number ^ number >> 31 ^ number >> 62) * UINT64_C(0x319642b2d24d8ec3);
    number = (number ^ number >> 27 ^ number >> 54) * UINT64_C(0x96de1b173f119089);
    return number ^ number >> 30 ^ number >> 60;
}

uint64_t names_random(uint64_t *seed) {
    return names_mix(*seed += GOLDEN);
}

/* ---- tokens: the number of the order, and the number of its token */

enum token_form { TOKEN_REAL, TOKEN_SHOWN, TOKEN_THIRD };

/* The third form of a name. No part of a real name is in it. */
static void make_third(char *name) {
    for (; *name != '\0'; name++)
        if (*name == '0' || *name == '-')
            *name = '~';
}

static void write_token(const struct names *names, enum token_form form, uint64_t token,
                        char text[TOKEN_TEXT]) {
    const uint64_t mirror = names->is_mirrored ? UINT64_MAX : 0;
    const uint64_t first = names_mix(token ^ names->token_key);
    const uint64_t second = names_mix(first + names->token_key);
    const uint64_t third = names_mix(names->has_alike_tokens ? names->token_key : second);

    if (form == TOKEN_SHOWN && names->has_alike_tokens)
        (void)snprintf(text, TOKEN_TEXT, "%08x%016llx%08x%08x", (unsigned)third,
                       (unsigned long long)first, (unsigned)second, (unsigned)(third >> 32));
    else if (form == TOKEN_SHOWN)
        (void)snprintf(text, TOKEN_TEXT, "%016llx%016llx%08x", (unsigned long long)(first ^ mirror),
                       (unsigned long long)(second ^ mirror), (unsigned)(third ^ mirror));
    else
        (void)snprintf(text, TOKEN_TEXT, MODEL_TOKEN, (unsigned)(token >> 32), (unsigned)token);
    if (form == TOKEN_THIRD)
        make_third(text);
}

/* The number that these hexadecimal digits stand for. */
static uint64_t digits_of(const char *text, size_t count) {
    char digits[17];

    (void)snprintf(digits, sizeof digits, "%.*s", (int)count, text);
    for (char *at = digits; *at != '\0'; at++)
        *at = *at == '~' ? '0' : *at;
    return strtoull(digits, NULL, 16);
}

/* True if the text begins with a token in this form. */
static bool read_token(const struct names *names, enum token_form form, const char *text,
                       uint64_t *token) {
    const uint64_t mirror = names->is_mirrored ? UINT64_MAX : 0;
    const char *first = text + (names->has_alike_tokens ? ALIKE : 0);
    char same[TOKEN_TEXT];

    *token = form == TOKEN_SHOWN ? names_unmix(digits_of(first, 16) ^ mirror) ^ names->token_key
                                 : digits_of(text, 4) << 32 | digits_of(text + TOKEN - 4, 4);
    if (*token >> 32 > MODEL_ORDERS + 1)
        return false;
    write_token(names, form, *token, same);
    return memcmp(text, same, TOKEN) == 0;
}

static uint64_t exchange_token(const struct names *names, uint64_t token) {
    const uint64_t order = token >> 32, number = (uint32_t)token;

    if (order == 1)
        return (uint64_t)names->exchanged << 32 | number;
    return order == names->exchanged ? UINT64_C(1) << 32 | number : token;
}

/* Replace the token with which a text begins. False: there is none. */
static bool replace_token(const struct names *names, char *text, bool back) {
    static const enum token_form shows[] = {TOKEN_SHOWN, TOKEN_THIRD, TOKEN_REAL};
    static const enum token_form takes_back[] = {TOKEN_THIRD, TOKEN_REAL, TOKEN_SHOWN};
    char now[TOKEN_TEXT];
    uint64_t token;

    if (strnlen(text, TOKEN) < TOKEN)
        return false;
    if (names->exchanged != 0) {
        if (!read_token(names, TOKEN_REAL, text, &token))
            return false;
        write_token(names, TOKEN_REAL, exchange_token(names, token), now);
        memcpy(text, now, TOKEN);
        return true;
    }
    for (int form = TOKEN_REAL; names->token_key != 0 && form <= TOKEN_THIRD; form++)
        if (read_token(names, (enum token_form)form, text, &token)) {
            write_token(names, back ? takes_back[form] : shows[form], token, now);
            memcpy(text, now, TOKEN);
            return true;
        }
    return false;
}

/* ---- ids and instances */

static void add_pair(struct names *names, const char *real, const char *shown) {
    const size_t size = strlen(real) + 1;

    assert(names->count < NAMES && size <= TOKEN_TEXT && strlen(shown) + 1 == size);
    memcpy(names->names[names->count].real, real, size);
    memcpy(names->names[names->count].shown, shown, size);
    names->count++;
}

/* A pupil's text is first taken for a shown name, and then for a real one. */
static void add_third_forms(struct names *names) {
    const size_t count = names->count;
    char third[TOKEN_TEXT];

    for (size_t i = 0; i < 2 * count; i++) {
        memcpy(third, names->names[i % count].real, sizeof third);
        make_third(third);
        add_pair(names, i < count ? third : names->names[i % count].shown,
                 i < count ? names->names[i].real : third);
    }
}

/* 64 random bits, or their mirror image. */
static uint64_t draw(const struct names *names, uint64_t *seed) {
    const uint64_t bits = names_random(seed);

    return names->is_mirrored ? ~bits : bits;
}

/* An order's id, of the form that order-svc makes: a UUID of version 7 begins with the time. A
 * customer's own key is any UUID. */
static void add_order(struct names *names, int index, uint64_t *seed, uint64_t of_ms) {
    const uint64_t a = draw(names, seed), b = draw(names, seed);
    const uint64_t time_ms = of_ms != 0 ? of_ms : a >> 16;
    char real[TOKEN_TEXT], shown[TOKEN_TEXT];

    (void)snprintf(real, sizeof real, MODEL_ORDER_ID, index + 1);
    (void)snprintf(shown, sizeof shown, "%08x-%04x-7%03x-%04x-%012llx", (unsigned)(time_ms >> 16),
                   (unsigned)(time_ms & 0xffff), (unsigned)(a & 0xfff),
                   0x8000U | (unsigned)(b >> 50), (unsigned long long)(b & 0xffffffffffff));
    add_pair(names, real, shown);
    add_pair(names, real + strlen(real) - TAIL, shown + strlen(shown) - TAIL);
}

static void add_instances(struct names *names, uint64_t *seed, enum names_form form) {
    const int first = (int)(names_random(seed) % 6);
    char real[16], shown[16];

    for (int i = 1; i <= MODEL_INSTANCES; i++) {
        const int number = first + i; /* 1 to 9 */

        (void)snprintf(real, sizeof real, MODEL_INSTANCE, i);
        (void)snprintf(shown, sizeof shown, MODEL_INSTANCE,
                       form == NAMES_MIRRORED ? 10 - number : number);
        if (form == NAMES_STRANGE)
            (void)snprintf(shown, sizeof shown, "%011llx",
                           (unsigned long long)(names_random(seed) >> 20));
        add_pair(names, real, shown);
    }
}

/* Of today, or of a day in the next two years. 0: any. */
static uint64_t choose_time(uint64_t *seed, enum names_form form, uint64_t now_ms) {
    const uint64_t bits = names_random(seed), later_ms = bits % 4 == 0 ? bits >> 28 : 0;

    return form != NAMES_STRANGE && bits % 2 == 0 ? now_ms + later_ms : 0;
}

void names_choose(struct names *names, uint64_t seed, enum names_form form, uint64_t now_ms) {
    const uint64_t time_ms = choose_time(&seed, form, now_ms);

    names->count = 0;
    names->exchanged = 0;
    names->is_mirrored = form == NAMES_MIRRORED;
    names->has_alike_tokens = form == NAMES_STRANGE;
    names->token_key = names_random(&seed) | 1;
    for (int i = 0; i <= MODEL_ORDERS; i++)
        add_order(names, i, &seed, time_ms);
    add_instances(names, &seed, form);
    add_third_forms(names);
}

/* ---- exchange the names of two orders */

static void exchange(struct names *names, const char *a, const char *b) {
    if (strcmp(a, b) == 0)
        return;
    add_pair(names, a, b);
    add_pair(names, b, a);
}

void names_first(char id[TOKEN_TEXT], char instance[TOKEN_TEXT]) {
    (void)snprintf(id, TOKEN_TEXT, MODEL_ORDER_ID, 1);
    (void)snprintf(instance, TOKEN_TEXT, MODEL_INSTANCE, 1);
}

void names_exchange(struct names *names, const char *order_id, int index, const char *instance) {
    char id[TOKEN_TEXT], first[TOKEN_TEXT];

    names_first(id, first);
    names->count = 0;
    names->token_key = 0;
    names->is_mirrored = names->has_alike_tokens = false;
    names->exchanged = (unsigned)index + 1;
    exchange(names, order_id, id);
    exchange(names, order_id + strlen(id) - TAIL, id + strlen(id) - TAIL);
    exchange(names, instance, first);
}

/* ---- replace */

/* Replace the id or the instance with which a text begins. Returns its length; 0: there is none. */
static size_t replace_name(const struct names *names, char *text, bool back) {
    for (size_t i = 0; i < names->count; i++) {
        const char *from = back ? names->names[i].shown : names->names[i].real;
        const char *to = back ? names->names[i].real : names->names[i].shown;
        const size_t length = *text == *from ? strlen(from) : 0;

        if (length > 0 && strncmp(text, from, length) == 0) {
            memcpy(text, to, length);
            return length;
        }
    }
    return 0;
}

void names_replace(const struct names *names, char *text, bool back) {
    while (*text != '\0') {
        size_t length = replace_token(names, text, back) ? TOKEN : 0;

        if (length == 0)
            length = replace_name(names, text, back);
        text += length > 0 ? length : 1;
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

/* ---- names by chance */

static bool is_real(const struct names *names, const char *name) {
    bool found = false;

    for (size_t i = 0; i < names->count / 3; i++)
        found |= strcmp(names->names[i].real, name) == 0;
    return found;
}

static bool has_instance(const struct names *names, const char *text) {
    const size_t last = names->count / 3;
    char name[TOKEN_TEXT];

    for (size_t i = last - MODEL_INSTANCES; text[0] != '\0' && i < last; i++) {
        memcpy(name, names->names[i].shown, sizeof name);
        if (is_real(names, name))
            make_third(name);
        if (strstr(text, name) != NULL)
            return true;
    }
    return false;
}

bool names_are_in(const struct names *names, const struct call *call) {
    bool found = has_instance(names, call->key) || has_instance(names, call->value);

    for (int i = 0; i < KV_STEPS - 1; i++)
        found |= has_instance(names, call->then[i].key) || has_instance(names, call->then[i].value);
    return found;
}
