/* The name of a kept check is a hash over the text of the shop file and its base URLs, so the file
 * itself has no secret. */
#include "shop_kept.h"

#include "buffer.h"
#include "clock.h"
#include "json_read.h"
#include "json_text.h"
#include "values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEPT_US   (INT64_C(24) * 3600 * 1000000)
#define KEPT_PATH 1200

/* FNV-1a: https://datatracker.ietf.org/doc/html/draft-eastlake-fnv */
#define HASH_BEGIN UINT64_C(14695981039346656037)

static uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
    return hash;
}

/* 0, or -1: the file cannot be read. */
static int hash_file(uint64_t *hash, const char *path) {
    FILE *from = fopen(path, "re");
    char bytes[4096];
    size_t length;
    int code;

    if (from == NULL)
        return -1;
    while ((length = fread(bytes, 1, sizeof bytes, from)) > 0)
        *hash = hash_bytes(*hash, bytes, length);
    code = ferror(from) ? -1 : 0;
    (void)fclose(from);
    return code;
}

/* The values of `set` and `env`, which bases may use. */
static int take_value(struct values *values, const struct shop_value *value) {
    const char *variable = value->kind == SHOP_ENV ? getenv(value->name) : NULL;
    struct buffer text = {0};
    struct why why;
    int code = 0;

    if (variable != NULL)
        code = buffer_append(&text, variable, strlen(variable)) ? 0 : -1;
    else if (value->kind == SHOP_SET)
        code = values_fill(values, &value->text, FILL_AS_IS, &text, &why);
    if (code == 0 && text.length > 0)
        code = values_set(values, value->name, text.bytes, text.length, false);
    buffer_free(&text);
    return code;
}

static int hash_bases(uint64_t *hash, const struct shop *shop) {
    struct values values = {0};
    int code = 0;

    for (size_t i = 0; i < shop->value_count && code == 0; i++)
        code = take_value(&values, &shop->values[i]);
    for (size_t i = 0; i < shop->base_count && code == 0; i++) {
        struct buffer text = {0};
        struct why why;

        code = values_fill(&values, &shop->bases[i], FILL_AS_IS, &text, &why);
        *hash = hash_bytes(hash_bytes(*hash, "\n", 1), text.bytes, text.length);
        buffer_free(&text);
    }
    values_free(&values);
    return code;
}

/* 0; or -1: no check of this shop is kept. `path` gets the folder up to `*slash`. */
static int make_path(const struct options *options, const struct shop *shop, char path[KEPT_PATH],
                     char **slash) {
    uint64_t hash = HASH_BEGIN;

    if (options->no_results || hash_file(&hash, shop->path) != 0 || hash_bases(&hash, shop) != 0)
        return -1;
    (void)snprintf(path, KEPT_PATH, "%.1000s/.checks/%016" PRIx64 ".json", options->results, hash);
    *slash = strrchr(path, '/');
    return 0;
}

int64_t shop_kept_find(const struct options *options, const struct shop *shop) {
    char path[KEPT_PATH], *slash;
    json_t *kept = NULL;
    int64_t age_us, order_ns;
    json_error_t error;

    if (make_path(options, shop, path, &slash) == 0)
        kept = json_read_file(path, &error);
    age_us = clock_wall_us() - json_integer_value(json_object_get(kept, "checked_us"));
    order_ns = json_integer_value(json_object_get(kept, "order_ns"));
    json_decref(kept);
    return order_ns > 0 && age_us >= 0 && age_us < KEPT_US ? order_ns : 0;
}

void shop_kept_add(const struct options *options, const struct shop *shop, int64_t order_ns) {
    json_t *kept = JSON_TEXT_OBJECT({"checked_us", json_integer(clock_wall_us())},
                                    {"order_ns", json_integer(order_ns)});
    char path[KEPT_PATH], fresh[KEPT_PATH + 16], *slash;

    if (kept != NULL && make_path(options, shop, path, &slash) == 0) {
        *slash = '\0';
        (void)mkdir(options->results, 0777);
        (void)mkdir(path, 0777);
        *slash = '/';
        (void)snprintf(fresh, sizeof fresh, "%s.%d", path, (int)getpid());
        if (json_dump_file(kept, fresh, 0) != 0 || rename(fresh, path) != 0)
            (void)unlink(fresh);
    }
    json_decref(kept);
}
