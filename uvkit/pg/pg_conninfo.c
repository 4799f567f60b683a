/* Gives each keyword that libpq would read from a set variable the value that it has without the
 * variable. libpq ignores empty values in an array of keywords, but not in a string. */
#include "pg_conninfo.h"

#include "buffer.h"

#include <ctype.h>
#include <libpq-fe.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

/* Defaults of libpq that PQconninfoParse() does not tell. */
static const struct {
    const char *keyword, *value; /* NULL: unchanged */
} keywords[] = {
    {"service", NULL},          /* libpq would look for an empty one */
    {"application_name", NULL}, /* each of our clients has its own */
    {"gssencmode", "disable"},  /* it costs a round trip */
    {"connect_timeout", "0"},
    {"sslcertmode", "allow"},
    {"require_auth", "password,md5,gss,sspi,scram-sha-256,none"}, /* empty would allow nothing */
    {"min_protocol_version", "3.0"},
    {"max_protocol_version", "3.0"},
};

static const char *default_of(const PQconninfoOption *option, const char *user) {
    if (strcmp(option->keyword, "user") == 0)
        return user;
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strcmp(option->keyword, keywords[i].keyword) == 0)
            return keywords[i].value;
    return option->compiled != NULL ? option->compiled : "";
}

/* A service that PGSERVICE names may set anything. PGREQUIRESSL also stands for sslmode. */
static bool is_from_environment(const PQconninfoOption *option) {
    return option->envvar != NULL &&
           (getenv(option->envvar) != NULL || getenv("PGSERVICE") != NULL ||
            (strcmp(option->keyword, "sslmode") == 0 && getenv("PGREQUIRESSL") != NULL));
}

/* The value in the string, or NULL. */
static const char *value_of(const PQconninfoOption *option, const char *keyword) {
    while (option->keyword != NULL && strcmp(option->keyword, keyword) != 0)
        option++;
    return option->val;
}

static bool pg_conninfo_append_escaped(struct buffer *text, const char *value) {
    bool is_well = true;

    while (is_well && *value != '\0') {
        const size_t plain = strcspn(value, "'\\");

        is_well = buffer_append(text, value, plain);
        value += plain;
        if (is_well && *value != '\0')
            is_well = buffer_append(text, "\\", 1) && buffer_append(text, value++, 1);
    }
    return is_well;
}

/* Append the keyword and its value, which has three parts. */
static bool append_option(struct buffer *text, const char *keyword, const char *before,
                          const char *value, const char *after) {
    return buffer_append_text(text, keyword) && buffer_append_text(text, "='") &&
           pg_conninfo_append_escaped(text, before) && pg_conninfo_append_escaped(text, value) &&
           pg_conninfo_append_escaped(text, after) && buffer_append_text(text, "' ");
}

static bool append_all(struct buffer *text, const PQconninfoOption *option, const char *before,
                       const char *after) {
    const bool has_settings = before[0] != '\0' || after[0] != '\0';
    const bool has_service = value_of(option, "service") != NULL; /* it sets the rest */
    bool is_well = true;
    uv_passwd_t user = {.username = NULL};

    (void)uv_os_get_passwd(&user);
    for (; option->keyword != NULL && is_well; option++) {
        const bool is_settings = has_settings && strcmp(option->keyword, "options") == 0;
        const char *value = option->val;

        if (value == NULL && (is_settings || (!has_service && is_from_environment(option))))
            value = default_of(option, user.username);
        if (value != NULL)
            is_well = append_option(text, option->keyword, is_settings ? before : "", value,
                                    is_settings ? after : "");
    }
    uv_os_free_passwd(&user);
    return is_well && buffer_append(text, "", 1);
}

/* A URL with an unescaped '/' in its password parses, with the password's beginning as the port.
 * libpq would quote that in its errors. */
static bool has_odd_port(const PQconninfoOption *options) {
    const char *port = value_of(options, "port");

    return port != NULL && port[strspn(port, "0123456789,")] != '\0';
}

int pg_conninfo_make(char **whole, const char *conninfo, const char *defaults, const char *before,
                     const char *after) {
    char *error = NULL; /* not told: it may show the password */
    PQconninfoOption *options = PQconninfoParse(conninfo, &error);
    struct buffer text = {.bytes = NULL};
    int rv = 0;

    if (options == NULL)
        rv = error != NULL ? UV_EINVAL : UV_ENOMEM;
    else if (has_odd_port(options))
        rv = UV_EINVAL;
    else if (!buffer_append_text(&text, defaults) || !append_all(&text, options, before, after))
        rv = UV_ENOMEM;
    PQconninfoFree(options);
    PQfreemem(error);
    if (rv != 0)
        buffer_free(&text);
    else
        *whole = text.bytes;
    return rv;
}

/* Append a parameter of a URL: everything except letters and digits is escaped. */
static bool append_parameter(struct buffer *text, const char *before, const char *keyword,
                             const char *value) {
    bool is_well = buffer_append_text(text, before) && buffer_append_text(text, keyword) &&
                   buffer_append_text(text, "=");

    for (; *value != '\0' && is_well; value++) {
        char escaped[4];

        (void)snprintf(escaped, sizeof escaped, "%%%02X", (unsigned char)*value);
        is_well = isalnum((unsigned char)*value) ? buffer_append(text, value, 1)
                                                 : buffer_append_text(text, escaped);
    }
    return is_well;
}

int pg_conninfo_url(char **url, const char *conninfo) {
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    struct buffer text = {.bytes = NULL};
    const char *before = "?";
    bool is_well;

    if (options == NULL)
        return UV_EINVAL;
    is_well = buffer_append_text(&text, "postgres://");
    for (const PQconninfoOption *option = options; option->keyword != NULL && is_well; option++)
        if (option->val != NULL) {
            is_well = append_parameter(&text, before, option->keyword, option->val);
            before = "&";
        }
    PQconninfoFree(options);
    is_well = is_well && buffer_append(&text, "", 1);
    if (is_well)
        *url = text.bytes;
    else
        buffer_free(&text);
    return is_well ? 0 : UV_ENOMEM;
}
