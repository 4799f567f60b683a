/* lockctl: the parts that its commands share. */
#ifndef LOCKCTL_H
#define LOCKCTL_H

#include "settings.h"

#include <jansson.h>
#include <lockkit.h>
#include <stdbool.h>
#include <sysexits.h>

/* Other exit codes are those of sysexits.h, and 128 + the number of a signal. */
#define EXIT_NOBODY    1  /* break: nobody held it, or not that owner */
#define EXIT_BUSY      75 /* run: not acquired within --wait */
#define EXIT_LOST      79 /* run: the lock was lost while the command ran */
#define EXIT_NOT_RUN   126
#define EXIT_NOT_FOUND 127
#define EXIT_SIGNAL    128

/* Settings that several commands have. */
extern struct shared_settings {
    int64_t reply_ns;
    bool is_json, is_verbose;
    bool is_patient; /* it waits for longer than a second, so the first warning is printed */
    bool may_create; /* the command has --create */
    bool is_create;  /* make a folder that is not there */
    char **behind;   /* the arguments behind the first `--`, if `rest` contains `--` */
} shared;
#define VERBOSE_SETTING                                                                            \
    { "verbose", 'v', SETTING_FLAG, &shared.is_verbose, NULL, "report each step on stderr", NULL }
#define REPLY_SETTING                                                                              \
    {                                                                                              \
        "reply", 0, SETTING_DURATION, &shared.reply_ns, "500ms",                                   \
            "how long to wait for one reply of the server", "1ms..1h"                              \
    }
#define CREATE_SETTING                                                                             \
    {                                                                                              \
        "create", 0, SETTING_FLAG, &shared.is_create, NULL,                                        \
            "make the folder of a file: URL if it is not there", NULL                              \
    }
#define JSON_SETTING                                                                               \
    { "json", 0, SETTING_FLAG, &shared.is_json, NULL, "print JSON, for programs", NULL }

struct command {
    const char *name; /* with the program's name, for messages */
    const char *about;
    const char *rest; /* its arguments: from `least` to `most` of them, in argv from 1 on */
    int least, most;
    const struct setting *settings;
    /* Returns the exit code. */
    int (*run)(char **argv);
};
extern const struct command command_run, command_holders, command_break, command_watch,
    command_bench;

/* Print one line on stderr; it begins with the program's name. Returns `code`. */
__attribute__((format(printf, 2, 3))) int fail(int code, const char *format, ...);
/* The same, only with --verbose. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
/* Print why it waits, once: nothing after the first call or warning, or with --verbose. */
void say_that_it_waits(const char *why);
/* Print the outcome on stderr. Returns its exit code. */
int fail_status(const char *what, enum lk_status status);
/* The same for LK_UNSUPPORTED; `kinds`: the URLs that could do it. */
int fail_unsupported(const char *what, const char *kinds);
/* Print one line on stdout, and free the JSON. -1: `json` is NULL, or the output failed. */
int json_print(json_t *json);

/* A loop and a client on it. */
struct session {
    const char *url; /* the URL of its client */
    uv_loop_t loop;
    lk_client *client; /* NULL: it is closed */
    lk_lock *lock;
    int code; /* the exit code of the program */
};

/* Open a client at the URL `argument`; "-" stands for $LOCKCTL_URL. Name a lock in it. Label and
 * options may be NULL. Returns 0, or an exit code after it has printed the reason; then there is
 * nothing to undo. */
int session_open(struct session *session, const char *argument, const char *name, const char *label,
                 const struct lk_lock_options *lock);
/* Close the client. The program exits with `code`. */
void session_finish(struct session *session, int code);
/* Run the loop until nothing is left on it: a callback must call session_finish(). Returns its
 * code. */
int session_end(struct session *session);

#endif
