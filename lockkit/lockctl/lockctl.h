/* lockctl: what its commands share. */
#ifndef LOCKCTL_H
#define LOCKCTL_H

#include "settings.h"

#include <lockkit.h>
#include <stdbool.h>
#include <sysexits.h>

/* Beside those of sysexits.h, and 128 + the number of a signal. */
#define EXIT_NOBODY    1  /* break: nobody such held it */
#define EXIT_BUSY      75 /* run: not acquired within --wait */
#define EXIT_LOST      79 /* run: the lock was lost while the command ran */
#define EXIT_NOT_RUN   126
#define EXIT_NOT_FOUND 127
#define EXIT_SIGNAL    128

/* Settings that several commands have. */
#define VERBOSE_SETTING(verbose)                                                                   \
    { "verbose", 'v', SETTING_FLAG, &(verbose), NULL, "say on stderr what happens", NULL }
#define REPLY_SETTING(reply_ns)                                                                    \
    {                                                                                              \
        "reply", 0, SETTING_DURATION, &(reply_ns), "500ms",                                        \
            "how long to wait for one reply of the "                                               \
            "server",                                                                              \
            "1ms..1h"                                                                              \
    }
#define JSON_SETTING(json)                                                                         \
    { "json", 0, SETTING_FLAG, &(json), NULL, "print JSON, for programs", NULL }

/* A command reads its own arguments (argv[0] is its name, for messages) and returns the exit code.
 */
int run_main(int argc, char **argv);
int holders_main(int argc, char **argv);
int break_main(int argc, char **argv);
int watch_main(int argc, char **argv);
int bench_main(int argc, char **argv);

/* Read the flags and from `least` to `most` other arguments, which then stand in argv from 1 on.
 * -1, or the exit code to end with at once. */
int read_arguments(const struct setting *table, const char *about, const char *rest, int least,
                   int most, int *argc, char **argv);

/* On stderr, in one line that begins with the program's name. Returns `code`. */
__attribute__((format(printf, 2, 3))) int fail(int code, const char *format, ...);
/* The same, only after be_verbose(). */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
void be_verbose(void);

/* The exit code that tells of an outcome, and what to say of it. */
int fail_status(const char *what, enum lk_status status);

/* What the argument stands for: $LOCKCTL_URL when it is "-", which may be NULL. */
const char *session_url(const char *argument);

/* A loop and a client on it. */
struct session {
    uv_loop_t loop;
    lk_client *client;
    lk_lock *lock;
};

/* Open a client at session_url(url), and name a lock in it, unless `name`
 * is NULL. Options and label may be NULL. 0, or an exit code after it has told why; then there is
 * nothing to undo. */
int session_open(struct session *session, const char *url, const char *name,
                 const struct lk_client_options *client, const struct lk_lock_options *lock);
/* Run the loop until nothing is left on it, the client neither: somebody closes that meanwhile, and
 * sets it NULL. */
void session_end(struct session *session);
/* Close the client and run the loop until nothing is left on it: close handles of your own first.*/
void session_close(struct session *session);

#endif
