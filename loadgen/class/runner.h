/* The one program that the page has started: in a process group of its own, so that all of it can
 * be ended, and read line by line. */
#ifndef LOADGEN_RUNNER_H
#define LOADGEN_RUNNER_H

#include "buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#define RUNNER_OUTPUT_MAX (8 * 1024 * 1024)
#define RUNNER_LINE_MAX   (16 * 1024)
#define RUNNER_TAIL       1600

struct runner {
    uv_process_t process;
    uv_pipe_t output, errors;
    uv_timer_t grace;
    unsigned open;          /* of these */
    bool is_running;        /* until all of them are closed */
    bool has_started;       /* else there was never a process */
    bool has_exited;        /* the process is no more */
    bool is_stopping;       /* by runner_stop() */
    bool is_too_much;       /* it wrote more than RUNNER_OUTPUT_MAX, and was killed */
    struct buffer said;     /* its standard output, until the next start */
    struct buffer line;     /* of its standard error, so far */
    char tail[RUNNER_TAIL]; /* the end of what it said there, but for JSON */
    char read[16 * 1024];
    int64_t exit_code;
    int signal; /* that ended it, or 0 */
    /* A line that begins with {; and: all is over, runner_start() may be called again. */
    void (*on_json)(const char *line, size_t length);
    void (*on_end)(void);
    uint64_t grace_ms; /* from SIGINT to SIGKILL; this and the above are the owner's to set */
};

/* Start `path` with `words`, NULL-terminated, the first being its name. Only when it is not
 * running. 0, and then on_end() is called once, later, on the loop; or a negative libuv code, and
 * then it is not. */
__attribute__((warn_unused_result)) int runner_start(struct runner *runner, uv_loop_t *loop,
                                                     const char *path, char **words);
/* Ask it to end by SIGINT, and after grace_ms make it. Any number of times. */
void runner_stop(struct runner *runner);
/* SIGKILL, for all of its group. */
void runner_kill(struct runner *runner);
/* Free what was said. Only when it is not running. */
void runner_free(struct runner *runner);

#endif
