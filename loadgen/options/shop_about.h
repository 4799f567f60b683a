/* The shop of a run with --shop: what reports say about it. */
#ifndef LOADGEN_SHOP_ABOUT_H
#define LOADGEN_SHOP_ABOUT_H

#include "why.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define SHOP_ABOUT_BASES 64 /* at most; SHOP_ITEMS of a shop file (shop.h) */

/* Each text is one printable line, and has no secret. */
struct shop_about {
    char *name;                    /* NULL: the run has no shop, and the other members are empty */
    char *version;                 /* "": the file tells none */
    char *config;                  /* the line `config` of the file, or "" */
    char *file;                    /* the path, as it was given */
    char *bases[SHOP_ABOUT_BASES]; /* its base URLs: a process each */
    size_t base_count;
};

/* Copies the texts into a zeroed `about`, and makes them printable; long ones are cut. The caller
 * masks secrets before. Returns 0, or -1 without memory; call shop_about_free() either way. */
__attribute__((warn_unused_result)) int shop_about_make(struct shop_about *about, const char *name,
                                                        const char *version, const char *config,
                                                        const char *file);
/* Adds a base URL. A base that was added before counts once. Returns 0; or -1 without memory, or
 * with too many of them. */
__attribute__((warn_unused_result)) int shop_about_add_base(struct shop_about *about,
                                                            const char *base);
void shop_about_free(struct shop_about *about);

/* The object for a history: all members. A new reference, or NULL without memory. */
__attribute__((warn_unused_result)) json_t *shop_about_json(const struct shop_about *about);
/* Reads that object into a zeroed `about`. Returns 0; or -1 with the reason in `why`. Call
 * shop_about_free() either way. */
__attribute__((warn_unused_result)) int shop_about_read(json_t *json, struct shop_about *about,
                                                        struct why *why);

#endif
