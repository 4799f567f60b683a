/* Settings: one table per program, read from flags and the environment, printed by --help.
 * --version prints the version and what the program was built from.
 *
 *     static struct { char *listen; int64_t port; bool is_lab; } set;
 *     static const struct setting table[] = {
 *         {"listen", 0, SETTING_TEXT, &set.listen, "127.0.0.1", "address to listen on", NULL},
 *         {"port", 'p', SETTING_INT, &set.port, "8001", "port to listen on", NULL},
 *         {"lab", 0, SETTING_FLAG, &set.is_lab, NULL, "honour failpoints", NULL},
 *         {NULL}};
 *
 * Order of precedence: flag, environment, default. A flag may be `--name value`, `--name=value`,
 * `-p 80` or `-p80`; `--` ends the flags. */
#ifndef UVKIT_SETTINGS_H
#define UVKIT_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

enum setting_type {
    SETTING_TEXT,   /* char *, always an owned copy, never NULL */
    SETTING_LIST,   /* the same; a flag given several times adds up, one value a line,
                      and replaces the environment's */
    SETTING_SECRET, /* the same; only from the environment: a flag would show in `ps`; never printed
                     */
    SETTING_INT,    /* int64_t; k and m multiply by a thousand and a million: 20k */
    SETTING_DURATION, /* int64_t, nanoseconds; takes ns, us, ms, s, m, h: 250ms, 1.5s; a bare 0 */
    SETTING_FLAG,     /* bool; --name or --name=true|false, in the environment 1|0|true|false */
};

struct setting {
    const char *name; /* --name; in the environment PREFIX_NAME, in upper case, with _ for - */
    char letter;      /* -n, or 0 */
    enum setting_type type;
    void *value;              /* receives the value */
    const char *default_text; /* written like a user's value; NULL is "", 0 or false */
    const char *help;         /* one line; NULL: --help leaves the setting out */
    /* "1..65535" for INT, "1ms..1h" for DURATION, or NULL. "auto, 1..9" also takes the word auto,
     * and its value is 0. */
    const char *range;
};

enum settings_result {
    SETTINGS_OK,
    SETTINGS_HELP,  /* --help or --version has been printed on stdout: exit 0 */
    SETTINGS_ERROR, /* told on stderr, with the mend: exit 64 */
};

struct settings_program {
    const char *about;  /* the first line of --help */
    const char *prefix; /* of the environment's variables */
    const char *rest;   /* arguments other than flags, for the usage line; NULL: none allowed */
    const char *name;   /* in the usage line and in messages; NULL: that of argv[0] */
};

/* Rows: a bit for each by its place in the table, which has 128 at most. */
__extension__ typedef unsigned __int128 settings_rows;

/* The rows that got a value. */
struct settings_given {
    settings_rows by_flag, by_environment;
};

/* Read `argv` and the environment into the table's values. Before, texts there are NULL or owned.
 * Arguments other than flags move to the front of argv after argv[0], and *argc becomes their
 * number + 1. `given` may be NULL. */
__attribute__((warn_unused_result)) enum settings_result settings_read(
    const struct setting *table, const struct settings_program *program, int *argc, char **argv,
    struct settings_given *given);
void settings_free(const struct setting *table);

#endif
