/* The texts about a shop: copied, and read back from a history. */
#include "shop_about.h"

#include "json_text.h"
#include "utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 256 /* of each text, at most */

/* utf8_make_printable() replaces a character that the cut parted. */
static char *copy_printable(const char *text) {
    char *copy = strndup(text, TEXT_BYTES);

    if (copy != NULL)
        utf8_make_printable(copy);
    return copy;
}

int shop_about_make(struct shop_about *about, const char *name, const char *version,
                    const char *config, const char *file) {
    assert(about->name == NULL && about->base_count == 0);
    about->name = copy_printable(name);
    about->version = copy_printable(version);
    about->config = copy_printable(config);
    about->file = copy_printable(file);
    return about->name != NULL && about->version != NULL && about->config != NULL &&
                   about->file != NULL
               ? 0
               : -1;
}

int shop_about_add_base(struct shop_about *about, const char *base) {
    char *copy = copy_printable(base);

    for (size_t i = 0; copy != NULL && i < about->base_count; i++)
        if (strcmp(about->bases[i], copy) == 0) {
            free(copy);
            return 0;
        }
    if (copy == NULL || about->base_count == SHOP_ABOUT_BASES) {
        free(copy);
        return -1;
    }
    about->bases[about->base_count++] = copy;
    return 0;
}

void shop_about_free(struct shop_about *about) {
    free(about->name);
    free(about->version);
    free(about->config);
    free(about->file);
    for (size_t i = 0; i < about->base_count; i++)
        free(about->bases[i]);
    *about = (struct shop_about){.name = NULL};
}

json_t *shop_about_json(const struct shop_about *about) {
    json_t *bases = json_array();

    for (size_t i = 0; i < about->base_count; i++)
        json_text_append(&bases, json_text(about->bases[i]));
    return JSON_TEXT_OBJECT(
        {"name", json_text(about->name)}, {"version", json_text(about->version)},
        {"config", json_text(about->config)}, {"file", json_text(about->file)}, {"bases", bases});
}

int shop_about_read(json_t *json, struct shop_about *about, struct why *why) {
    const char *name, *version, *config, *file;
    json_error_t error;
    json_t *bases;

    if (json_unpack_ex(json, &error, 0, "{s:s, s:s, s:s, s:s, s:o}", "name", &name, "version",
                       &version, "config", &config, "file", &file, "bases", &bases) != 0)
        return why_set(why, "its shop cannot be read: %.200s", error.text);
    if (!json_is_array(bases) || json_array_size(bases) == 0)
        return why_set(why, "its shop has no bases");
    if (shop_about_make(about, name, version, config, file) != 0)
        return why_set(why, "out of memory");
    for (size_t i = 0; i < json_array_size(bases); i++) {
        const char *base = json_string_value(json_array_get(bases, i));

        if (base == NULL || shop_about_add_base(about, base) != 0)
            return why_set(why, "the bases of its shop cannot be read");
    }
    return 0;
}
