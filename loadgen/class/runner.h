/* The one program that the page has started, and its state as the page shows it.
 *
 * The program has a process group of its own, so that its children can be ended, too. Its output is
 * read line by line. The shown state is one JSON object. After each change every reader gets the
 * whole object; a slow reader misses the states in between, and nothing is kept for it.
 *
 * {"doing":"run"|"explore"|null,"title","is_stopping","live":{...}|null,"rounds":[{...}],
 *  "ended":null|{"kind","title","exit_code","signal","was_stopped","folder":"..."|null,"said"}}
 * `live` and `rounds` are lines of --json-progress: the last line of the running round, and the
 * last line of each ended round. Without memory the reader misses some of it. */
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
    unsigned open;          /* handles of the four above that are not closed */
    enum lesson_kind kind;  /* of the running or last program */
    bool is_running;        /* until all handles are closed */
    bool has_started;       /* false: the process could not be started */
    bool has_exited;        /* the process has ended */
    bool is_stopping;       /* runner_stop() was called */
    bool is_too_much;       /* it wrote more than RUNNER_OUTPUT_MAX, and was killed */
    struct buffer said;     /* its standard output, until the next start */
    struct buffer line;     /* of its standard error, still without its end */
    char tail[RUNNER_TAIL]; /* the end of its standard error, without lines of JSON */
    char read[16 * 1024];
    int64_t exit_code;
    int signal; /* the signal that ended it, or 0 */
    json_t *shown;
    uint64_t version;     /* of `shown`: 1 or more */
    void (*on_end)(void); /* all handles are closed: runner_start() may be called again */
};

void runner_init(struct runner *runner, uv_loop_t *loop, void (*on_end)(void));
/* Starts `path` with the lesson's words. Only while no program runs. On 0 on_end() runs exactly
 * once, later, on the loop. On a negative libuv code nothing started, and it never runs. */
__attribute__((warn_unused_result)) int runner_start(struct runner *runner, const char *path,
                                                     struct lesson *lesson);
/* Sends SIGINT to the program's group, and kills the group after `grace_ms`; 0 kills it now. It may
 * be called again, but only the first call sets the time. */
void runner_stop(struct runner *runner, uint64_t grace_ms);
/* The shown state as a server-sent event. The caller frees it. NULL without memory. */
__attribute__((warn_unused_result)) char *runner_event(const struct runner *runner, size_t *length);
/* Only while no program runs. */
void runner_free(struct runner *runner);

#endif
