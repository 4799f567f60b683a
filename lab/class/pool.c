/* Starts a process for each job, and waits for all of them. */
#include "pool.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POOL_MOST 256
#define WAIT_NS   200000000

struct worker {
    pid_t process; /* 0: none */
    size_t job;
    int result;
};

struct running {
    const struct pool *pool;
    struct worker workers[POOL_MOST];
    size_t ended;
};

/* SIGCHLD stays blocked in this process, so that sigtimedwait() waits for it. */
static void pool_hold_sigchld(int how) {
    sigset_t child;

    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    (void)sigprocmask(how, &child, NULL);
}

_Noreturn static void be_worker(const struct pool *pool, size_t job, int result) {
    FILE *to = fdopen(result, "w");

    pool_hold_sigchld(SIG_UNBLOCK);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (to == NULL)
        _exit(1);
    pool->run(pool->data, job, to);
    _exit(fclose(to) == 0 ? 0 : 1);
}

static void pool_start(struct running *running, struct worker *worker, size_t job) {
    const struct pool *pool = running->pool;

    (void)fflush(NULL);
    worker->job = job;
    worker->result = memfd_create("result", MFD_CLOEXEC);
    worker->process = worker->result >= 0 ? fork() : -1;
    if (worker->process == 0)
        be_worker(pool, job, worker->result);
    if (worker->process > 0)
        return;
    pool->ended(pool->data, job, NULL, 0, strerror(errno));
    running->ended++;
    if (worker->result >= 0)
        (void)close(worker->result);
    worker->process = 0;
}

static void tell_result(const struct pool *pool, const struct worker *worker, int status) {
    const off_t size = lseek(worker->result, 0, SEEK_END);
    char why[100];
    void *bytes;

    if (WIFSIGNALED(status)) {
        (void)snprintf(why, sizeof why, "its grader was ended by signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
        pool->ended(pool->data, worker->job, NULL, 0, why);
        return;
    }
    bytes = size > 0 && WEXITSTATUS(status) == 0
                ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, worker->result, 0)
                : MAP_FAILED;
    if (bytes == MAP_FAILED) {
        pool->ended(pool->data, worker->job, NULL, 0, "its grader had too little memory");
        return;
    }
    pool->ended(pool->data, worker->job, bytes, (size_t)size, NULL);
    (void)munmap(bytes, (size_t)size);
}

/* Take the results of the workers that have ended. Returns how many still run. */
static size_t pool_reap(struct running *running) {
    size_t count = 0;

    for (size_t i = 0; i < POOL_MOST; i++) {
        struct worker *worker = &running->workers[i];
        int status;

        if (worker->process == 0)
            continue;
        if (waitpid(worker->process, &status, WNOHANG) == 0) {
            count++;
            continue;
        }
        tell_result(running->pool, worker, status);
        (void)close(worker->result);
        worker->process = 0;
        running->ended++;
    }
    return count;
}

static void pool_wait(void) {
    const struct timespec most = {.tv_nsec = WAIT_NS};
    sigset_t child;

    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    (void)sigtimedwait(&child, NULL, &most);
}

static void pool_end_all(const struct running *running) {
    for (size_t i = 0; i < POOL_MOST; i++)
        if (running->workers[i].process > 0)
            (void)kill(running->workers[i].process, SIGTERM);
}

void pool_run(const struct pool *pool) {
    static struct running running;
    const size_t most = pool->processes < POOL_MOST ? pool->processes : POOL_MOST;
    size_t next = 0;
    bool is_ending = false;

    assert(most > 0);
    running = (struct running){.pool = pool};
    pool_hold_sigchld(SIG_BLOCK);
    for (;;) {
        size_t count = pool_reap(&running);

        for (size_t i = 0; i < most && next < pool->jobs && !*pool->is_interrupted; i++)
            if (running.workers[i].process == 0) {
                pool_start(&running, &running.workers[i], next++);
                count += running.workers[i].process > 0;
            }
        if (*pool->is_interrupted && !is_ending)
            pool_end_all(&running);
        is_ending = *pool->is_interrupted;
        pool->wait(pool->data, running.ended);
        if (count == 0 && (next == pool->jobs || is_ending))
            break;
        if (count > 0)
            pool_wait();
    }
    pool_hold_sigchld(SIG_UNBLOCK);
}
