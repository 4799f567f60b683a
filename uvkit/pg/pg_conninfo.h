/* Connection strings of libpq that take nothing from the environment. */
#ifndef UVKIT_PG_CONNINFO_H
#define UVKIT_PG_CONNINFO_H

/* Write `conninfo`, a connection string or URL, in a form for which libpq reads no variable of the
 * environment. PGSERVICE, PGDATESTYLE, PGTZ and PGGEQO remain, because libpq offers no way around
 * them: see pg_variables.h. libpq still reads its default files: ~/.pgpass, ~/.postgresql/.
 *
 * `defaults` is "keyword=value ...", which the string overrides.
 *
 * `before` and `after` are "-c name=value ...", settings of each session. The string's own settings
 * stand between them. Of two with one name the last wins. All three may be "".
 *
 * 0, and the caller frees `*whole`; UV_EINVAL for a string that libpq cannot parse; UV_ENOMEM. */
__attribute__((warn_unused_result)) int pg_conninfo_make(char **whole, const char *conninfo,
                                                         const char *defaults, const char *before,
                                                         const char *after);

/* Turn `conninfo`, a connection string or URL, into a URL with the same parameters. 0, and the
 * caller frees `*url`; UV_EINVAL for a string that libpq cannot parse; UV_ENOMEM. */
__attribute__((warn_unused_result)) int pg_conninfo_url(char **url, const char *conninfo);

#endif
