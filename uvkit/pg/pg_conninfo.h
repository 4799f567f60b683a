/* Connection strings of libpq that leave nothing to the environment. */
#ifndef UVKIT_PG_CONNINFO_H
#define UVKIT_PG_CONNINFO_H

/* Write `conninfo`, a connection string or URL, in a form for which libpq reads no variable of the
 * environment but PGSERVICE, PGDATESTYLE, PGTZ and PGGEQO, which it offers no way around: see
 * pg_variables.h. A file that libpq reads by default is still read: ~/.pgpass, ~/.postgresql/.
 *
 * `defaults` are "keyword=value ..." that the string wins over.
 *
 * "-c name=value ..." in `before` and `after` are settings of each session; a space separates them
 * from those that the string has between. Of two with one name the last wins. All three may be "".
 *
 * 0, and `*whole` is the caller's to free; UV_EINVAL for a string that libpq cannot parse;
 * UV_ENOMEM. */
__attribute__((warn_unused_result)) int pg_conninfo_make(char **whole, const char *conninfo,
                                                         const char *defaults, const char *before,
                                                         const char *after);

/* Write `conninfo`, a connection string or URL, as a URL that says the same in its parameters. 0,
 * and `*url` is the caller's to free; UV_EINVAL for a string that libpq cannot parse; UV_ENOMEM. */
__attribute__((warn_unused_result)) int pg_conninfo_url(char **url, const char *conninfo);

#endif
