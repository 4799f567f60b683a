/* lockctl: what its commands share. */
#ifndef LOCKCTL_H
#define LOCKCTL_H

#include "settings.h"

#include <jansson.h>
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
extern struct shared_settings {
    int64_t reply_ns;
    bool is_json, is_verbose;
    char **behind; /* the arguments behind the first `--`, when `rest` has that */
} shared;
#define VERBOSE_SETTING                                                                            \
    { "verbose", 'v', SETTING_FLAG, &shared.is_verbose, NULL, "say on stderr what happens", NULL }
#define REPLY_SETTING                                                                              \
    {                                                                                              \
        "reply", 0, SETTING_DURATION, &shared.reply_ns, "500ms",                                   \
            "how long to wait for one reply of the server", "1ms..1h"                              \
    }
#define JSON_SETTING                                                                               \
    { "json", 0, SETTING_FLAG, &shared.is_json, NULL, "print JSON, for programs", NULL }

struct command {
    const char *name; /* with the program's, for messages */
    const char *about;
    const char *rest; /* its arguments: from `least` to `most`, in argv from 1 on */
    int least, most;
    const struct setting *settings;
    /* Returns the exit code. */
    int (*run)(char **argv);
};
extern const struct command command_run, command_holders, command_break, command_watch,
    command_bench;

/* On stderr, in one line that begins with the program's name. Returns `code`. */
__attribute__((format(printf, 2, 3))) int fail(int code, const char *format, ...);
/* The same, only with --verbose. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
/* Tell of an outcome. Returns its exit code. */
int fail_status(const char *what, enum lk_status status);
/* One line on stdout, and the JSON is freed. -1 when it could not be made (NULL) or written. */
int json_print(json_t *json);

/* A loop and a client on it. */
struct session {
    const char *url; /* that of its client */
    uv_loop_t loop;
    lk_client *client; /* NULL: it is closed */
    lk_lock *lock;
    int code; /* to exit with */
};

/* Open a client at the URL that `argument` stands for, $LOCKCTL_URL when it is "-", and name a lock
 * in it, unless `name` is NULL. Label and options may be NULL. 0, or an exit code after it has told
 * why; then there is nothing to undo. */
int session_open(struct session *session, const char *argument, const char *name, const char *label,
                 const struct lk_lock_options *lock);
/* Close the client: `code` is to exit with. */
void session_finish(struct session *session, int code);
/* Run the loop until nothing is left on it: somebody calls session_finish() meanwhile. Returns its
 * code. */
int session_end(struct session *session);

#endif
