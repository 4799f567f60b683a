/* redlock:URL,URL,...[?option=number&...] */
#include "redlock_internal.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST_DEFAULT_MS 30000
#define LONGEST_MOST_MS    86400000

static bool parse_number(uint32_t *number, const char *text, uint32_t most) {
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    if (text[0] < '0' || text[0] > '9' || *end || value > most)
        return false;
    *number = (uint32_t)value;
    return true;
}

/* `name=number`. */
static bool parse_option(struct redlock_url *url, char *option) {
    char *value = strchr(option, '=');

    if (!value)
        return false;
    *value++ = '\0';
    if (strcmp(option, "longest") == 0)
        return parse_number(&url->longest_ms, value, LONGEST_MOST_MS) && url->longest_ms > 0;
    if (strcmp(option, "quarantine") == 0)
        return parse_number(&url->quarantine_ms, value, LONGEST_MOST_MS);
    if (strcmp(option, "cutoff") == 0)
        return parse_number(&url->cutoff_ms, value, LONGEST_MOST_MS) && url->cutoff_ms > 0;
    return false;
}

static bool parse_options(struct redlock_url *url, char *options) {
    char *rest = options, *option;

    while ((option = strsep(&rest, "&")))
        if (!parse_option(url, option))
            return false;
    return true;
}

/* Two votes for one server would be a majority of fewer: those that are spelt alike are found here,
 * others by their run_id. */
static bool add_node(struct redlock_url *url, const char *node) {
    if (url->node_count == REDLOCK_NODES_MOST)
        return false;
    for (unsigned i = 0; i < url->node_count; i++)
        if (strcmp(url->nodes[i], node) == 0)
            return false;
    url->nodes[url->node_count++] = node;
    return true;
}

static bool parse(struct redlock_url *url) {
    char *nodes = url->text + strlen(backend_redlock.scheme), *node;
    char *options = strchr(nodes, '?');

    url->longest_ms = LONGEST_DEFAULT_MS;
    url->quarantine_ms = UINT32_MAX;
    if (options)
        *options++ = '\0';
    if (options && !parse_options(url, options))
        return false;
    if (url->quarantine_ms == UINT32_MAX)
        url->quarantine_ms = url->longest_ms;
    while ((node = strsep(&nodes, ",")))
        if (!add_node(url, node))
            return false;
    return true;
}

enum lk_status redlock_url_parse(struct redlock_url *url, const char *text) {
    *url = (struct redlock_url){.text = strdup(text)};
    if (!url->text)
        return LK_NOMEM;
    if (parse(url))
        return LK_OK;
    redlock_url_free(url);
    return LK_INVALID;
}

void redlock_url_free(struct redlock_url *url) {
    free(url->text);
}
