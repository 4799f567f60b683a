/* The processes of a worker: itself, and all that it starts. Where this process may make cgroups
 * (cgroup v2, with a freezer and cgroup.kill), a worker has a cgroup of its own, which also reaches
 * a child that left with setsid. Elsewhere it has a process group. */
#ifndef LOCKJUDGE_CGROUP_H
#define LOCKJUDGE_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#define CGROUP_PATH 512

/* Zeroed: no process. */
struct cgroup {
    char path[CGROUP_PATH]; /* of its cgroup; "": it has none */
    pid_t pid;              /* of the worker, and of its process group */
};

/* uv_spawn() in a new group. 0 or libuv's code. In both cases cgroup_remove() is needed. `options`
 * has UV_PROCESS_DETACHED. */
__attribute__((warn_unused_result)) int cgroup_spawn(struct cgroup *cgroup, uv_loop_t *loop,
                                                     uv_process_t *process,
                                                     const uv_process_options_t *options);
/* All of it stops soon: ask cgroup_has_stopped(). -1: it cannot. */
__attribute__((warn_unused_result)) int cgroup_stop(const struct cgroup *cgroup);
/* 1: it stands still, without its cgroup at least the worker itself. 0: not yet. -1: it has ended. */
int cgroup_has_stopped(const struct cgroup *cgroup);
void cgroup_continue(const struct cgroup *cgroup);
/* SIGKILL for all of it, also if it is stopped. May be called again. */
void cgroup_kill(const struct cgroup *cgroup);
/* After the end of the worker: forget its cgroup. False: a child has not ended yet. */
bool cgroup_remove(struct cgroup *cgroup);

#endif
