/* The one program that the page has started, and what the page shows of it.
 *
 * The program is in a process group of its own, so that all of it can be ended, and is read line by
 * line. What is shown is one JSON object. Every reader gets it whole when it has changed; a slow
 * one misses what was in between, and nothing is kept for it.
 *
 * {"doing":"run"|"explore"|null,"title","is_stopping","live":{...}|null,"rounds":[{...}],
 *  "ended":null|{"kind","title","exit_code","signal","was_stopped","folder":"..."|null,"said"}}
 * `live` and `rounds` are lines of --json-progress: the last of the round that runs, and the last
 * of each that has ended. Without memory the reader misses some of it. */
#ifndef LOADGEN_RUNNER_H
#define LOADGEN_RUNNER_H

#include "buffer.h"
#include "lesson.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#define RUNNER_OUTPUT_MAX (8 * 1024 * 1024)
#define RUNNER_LINE_MAX   (16 * 1024)
#define RUNNER_TAIL       1600

struct runner {
    uv_loop_t *loop;
    uv_process_t process;
    uv_pipe_t output, errors;
    uv_timer_t grace;
    unsigned open;          /* of these */
    enum lesson_kind kind;  /* of what runs, or did */
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
    json_t *shown;
    uint64_t version;     /* of `shown`: 1 and more */
    void (*on_end)(void); /* all is over, runner_start() may be called again */
};

void runner_init(struct runner *runner, uv_loop_t *loop, void (*on_end)(void));
/* Start `path` with the lesson's words. Only when it is not running. 0, and then on_end() is called
 * once, later, on the loop; or a negative libuv code, and then it is not. */
__attribute__((warn_unused_result)) int runner_start(struct runner *runner, const char *path,
                                                     struct lesson *lesson);
/* Ask the program to end by SIGINT, and kill all of its group after `grace_ms`; 0 kills it now. It
 * may be called again, but only the first call sets the time. */
void runner_stop(struct runner *runner, uint64_t grace_ms);
/* What is shown, as a server-sent event; free() it. NULL without memory. */
__attribute__((warn_unused_result)) char *runner_event(const struct runner *runner, size_t *length);
/* Only when it is not running. */
void runner_free(struct runner *runner);

#endif
