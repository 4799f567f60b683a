/* Starts workers, gives them tasks, and counts their requests.
 *
 *   parent   TASK ->                     GO ->                 (the next TASK)
 *   worker           opens connections, <- READY   sends, <- DONE
 *
 * STOP may come at any time. When the parent ends, its workers end, too. */
#include "workers.h"

#include "clock.h"
#include "loop.h"
#include "punctual.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define COLLECT_MS    50
#define DEAD_GRACE_MS 1000

enum worker_word {
    WORKER_TASK, /* host, port, items, and the fd of the memory for the records */
    WORKER_READY,
    WORKER_GO,   /* at_ns: the first planned moment, on clock_now_ns() */
    WORKER_STOP, /* at_ns: limit for the last answers */
    WORKER_DONE, /* rc of sender_run(), is_realtime */
};

/* One packet between two processes of this program. */
struct worker_message {
    enum worker_word word;
    int rc;
    int64_t at_ns;
    size_t items;
    int port;
    bool is_realtime;
    char host[256];
};

/* ---- a worker: takes a task, sends it on a loop of its own, and waits for the next */

struct worker {
    int socket;
    bool is_realtime_wanted;
    uv_loop_t loop;
    uv_poll_t poll;
    struct sender sender;
    struct fiber_event told; /* GO or STOP came */
    int64_t start_ns;
    struct worker_message done;
};

static void worker_say(const struct worker *worker, const struct worker_message *message) {
    if (send(worker->socket, message, sizeof *message, MSG_NOSIGNAL) != (ssize_t)sizeof *message)
        _exit(1); /* the parent is gone */
}

/* Waits for the next task, and returns its fd. Other messages belong to the last task: too late. */
static int take_task(const struct worker *worker, struct worker_message *task) {
    for (;;) {
        union {
            struct cmsghdr header;
            char bytes[CMSG_SPACE(sizeof(int))];
        } control;
        struct iovec part = {task, sizeof *task};
        struct msghdr packet = {.msg_iov = &part,
                                .msg_iovlen = 1,
                                .msg_control = &control,
                                .msg_controllen = sizeof control};
        struct pollfd wanted = {.fd = worker->socket,
                                .events = POLLIN}; /* libuv made the socket non-blocking */
        const struct cmsghdr *header;
        ssize_t length;
        int fd;

        if (poll(&wanted, 1, -1) < 0)
            continue;
        length = recvmsg(worker->socket, &packet, MSG_CMSG_CLOEXEC);
        header = CMSG_FIRSTHDR(&packet);
        if (length != (ssize_t)sizeof *task)
            _exit(0);
        if (task->word != WORKER_TASK || header == NULL)
            continue;
        memcpy(&fd, CMSG_DATA(header), sizeof fd);
        return fd;
    }
}

static void worker_on_message(uv_poll_t *poll, int status, int events) {
    struct worker *worker = poll->data;
    struct worker_message message;
    ssize_t length = recv(worker->socket, &message, sizeof message, MSG_DONTWAIT);

    (void)status;
    (void)events;
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (length != (ssize_t)sizeof message)
        _exit(0);
    if (message.word == WORKER_STOP)
        sender_stop(&worker->sender, (uint64_t)message.at_ns / 1000000);
    if (worker->told.is_set)
        return;
    worker->start_ns = message.word == WORKER_GO ? message.at_ns : clock_now_ns();
    fiber_event_set(&worker->told);
}

static int64_t worker_on_ready(void *data) {
    static const struct worker_message ready = {.word = WORKER_READY};
    struct worker *worker = data;

    worker_say(worker, &ready);
    fiber_event_wait(&worker->told);
    return worker->start_ns;
}

static void send_part(void *arg) {
    struct worker *worker = arg;

    (void)punctual_start(worker->is_realtime_wanted);
    worker->done.rc = sender_run(&worker->sender);
    worker->done.is_realtime = punctual_stop();
    uv_close((uv_handle_t *)&worker->poll, NULL);
}

static int open_task(struct worker *worker, const struct sender *like,
                     const struct worker_message *task, int fd) {
    struct recorder *recorder =
        share_join(fd, like->plan->count, task->items, like->workers, like->worker);

    if (recorder == NULL)
        return UV_ENOMEM;
    worker->sender = *like;
    worker->sender.loop = &worker->loop;
    worker->sender.host = task->host;
    worker->sender.port = task->port;
    worker->sender.items = task->items;
    worker->sender.products = recorder->share->products;
    worker->sender.recorder = recorder;
    worker->sender.choose_start = worker_on_ready;
    worker->sender.on_start = NULL;
    worker->sender.data = worker;
    worker->told = (struct fiber_event)FIBER_EVENT_INIT;
    return 0;
}

static int do_task(struct worker *worker) {
    int rc = uv_poll_init(&worker->loop, &worker->poll, worker->socket);

    if (rc != 0)
        return rc;
    worker->poll.data = worker;
    rc = uv_poll_start(&worker->poll, UV_READABLE, worker_on_message);
    if (rc == 0 && fiber_start(send_part, worker) != 0)
        rc = UV_ENOMEM;
    if (rc != 0)
        uv_close((uv_handle_t *)&worker->poll, NULL);
    (void)uv_run(&worker->loop, UV_RUN_DEFAULT);
    return rc != 0 ? rc : worker->done.rc;
}

/* Does the tasks that come over `socket`, for ever. `like` has the constants of all rounds: the
 * plan, the path, the limits of this worker, its number and the number of workers. */
static noreturn void worker_run(int socket, const struct sender *like, bool is_realtime_wanted) {
    struct worker worker = {.socket = socket, .is_realtime_wanted = is_realtime_wanted};

    if (loop_init(&worker.loop) != 0)
        _exit(1);
    for (;;) {
        struct worker_message task;
        int fd = take_task(&worker, &task);

        worker.done = (struct worker_message){.word = WORKER_DONE};
        worker.done.rc = open_task(&worker, like, &task, fd);
        if (worker.done.rc == 0) {
            worker.done.rc = do_task(&worker);
            recorder_free(worker.sender.recorder);
        }
        worker_say(&worker, &worker.done);
    }
}

/* ---- the processes */

static size_t workers_part_of(size_t whole, size_t worker, size_t workers) {
    return whole / workers + (worker < whole % workers);
}

/* The terminal sends a signal to the whole group; only the parent acts on it. */
static void be_worker(const struct workers *workers, size_t worker, int socket, pid_t parent,
                      const struct sender *like, bool is_realtime_wanted) {
    struct sender own = *like;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0UL, 0UL, 0UL);
    if (getppid() != parent)
        _exit(0);
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGQUIT, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    for (size_t i = 0; i <= worker; i++)
        (void)close(workers->seats[i].socket);
    own.worker = worker;
    own.connections = (unsigned)workers_part_of(like->connections, worker, own.workers);
    own.max_in_flight = workers_part_of(like->max_in_flight, worker, own.workers);
    worker_run(socket, &own, is_realtime_wanted);
}

int workers_open(struct workers *workers, size_t count, const struct sender *like,
                 bool is_realtime_wanted) {
    const pid_t parent = getpid();
    struct sender all = *like;

    /* With a worker on every core, servers on this machine would stand still. */
    is_realtime_wanted = is_realtime_wanted && count < uv_available_parallelism();
    assert(count > 0 && count <= SHARE_WORKERS);
    all.workers = count;
    for (size_t i = 0; i < count; i++) {
        struct worker_seat *seat = &workers->seats[i];
        int ends[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
            return -1;
        seat->workers = workers;
        seat->socket = ends[0];
        seat->pid = fork();
        if (seat->pid == 0)
            be_worker(workers, i, ends[1], parent, &all, is_realtime_wanted);
        (void)close(ends[1]);
        if (seat->pid < 0) {
            (void)close(ends[0]);
            return -1;
        }
        workers->count = i + 1;
    }
    return 0;
}

void workers_close(struct workers *workers) {
    for (size_t i = 0; i < workers->count; i++) {
        const struct worker_seat *seat = &workers->seats[i];

        if (seat->state != SEAT_DEAD) {
            (void)kill(seat->pid, SIGKILL); /* a worker has nothing to lose */
            (void)waitpid(seat->pid, NULL, 0);
        }
        (void)close(seat->socket);
    }
    workers->count = 0;
}

/* ---- messages to workers */

/* The end of its socket shows a dead worker. */
static void tell_all(const struct workers *workers, const struct worker_message *message) {
    for (size_t i = 0; i < workers->count; i++)
        if (workers->seats[i].state < SEAT_DONE)
            (void)send(workers->seats[i].socket, message, sizeof *message, MSG_NOSIGNAL);
}

static void tell_task(const struct worker_seat *seat, struct worker_message *task, int fd) {
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof fd)];
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof fd),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS}};
    struct iovec part = {task, sizeof *task};
    const struct msghdr packet = {.msg_iov = &part,
                                  .msg_iovlen = 1,
                                  .msg_control = &control,
                                  .msg_controllen = sizeof control};

    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    (void)sendmsg(seat->socket, &packet, MSG_NOSIGNAL);
}

void workers_stop(struct workers *workers, uint64_t grace_ms) {
    const struct worker_message stop = {.word = WORKER_STOP, .at_ns = (int64_t)grace_ms * 1000000};

    if (workers->is_stopped)
        return;
    workers->is_stopped = true;
    tell_all(workers, &stop);
}

/* ---- messages of workers */

static bool workers_are_all(const struct workers *workers, int state) {
    for (size_t i = 0; i < workers->count; i++)
        if ((int)workers->seats[i].state < state)
            return false;
    return true;
}

static void bury(struct worker_seat *seat) {
    struct workers *workers = seat->workers;
    const size_t number = (size_t)(seat - workers->seats) + 1;
    int status = 0;

    seat->state = SEAT_DEAD;
    (void)waitpid(seat->pid, &status, 0);
    if (WIFSIGNALED(status))
        why_set(&workers->why, "worker %zu of %zu was killed by signal %d", number, workers->count,
                WTERMSIG(status));
    else
        why_set(&workers->why, "worker %zu of %zu ended by itself", number, workers->count);
    workers_stop(workers, DEAD_GRACE_MS);
}

static void listen_to(struct worker_seat *seat, const struct worker_message *message) {
    struct workers *workers = seat->workers;

    if (message->word == WORKER_READY) {
        seat->state = SEAT_READY;
        return;
    }
    assert(message->word == WORKER_DONE);
    seat->state = SEAT_DONE;
    workers->is_realtime = workers->is_realtime && message->is_realtime;
    if (message->rc == 0)
        return;
    workers->rc = message->rc;
    workers_stop(workers, 0);
}

static void workers_on_said(uv_poll_t *poll, int status, int events) {
    struct worker_seat *seat = poll->data;
    struct workers *workers = seat->workers;
    struct worker_message message;
    ssize_t length = recv(seat->socket, &message, sizeof message, MSG_DONTWAIT);

    (void)status;
    (void)events;
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (length == (ssize_t)sizeof message)
        listen_to(seat, &message);
    else
        bury(seat);
    if (seat->state >= SEAT_DONE)
        (void)uv_poll_stop(poll);
    if (workers_are_all(workers, SEAT_READY) && !workers->ready.is_set)
        fiber_event_set(&workers->ready);
    if (workers_are_all(workers, SEAT_DONE))
        fiber_event_set(&workers->done);
}

/* ---- a round */

static void on_collect(uv_timer_t *timer) {
    struct workers *workers = timer->data;

    share_collect(workers->sender->recorder);
}

static void workers_on_closed(uv_handle_t *handle) {
    struct workers *workers = handle->data;

    assert(workers->open_handles > 0);
    if (--workers->open_handles == 0)
        fiber_event_set(&workers->closed);
}

static int open_round(struct workers *workers, const struct sender *sender) {
    struct share *share = sender->recorder->share;
    struct worker_message task = {
        .word = WORKER_TASK, .items = sender->items, .port = sender->port};
    int rc = 0;

    snprintf(task.host, sizeof task.host, "%s", sender->host);
    memcpy(share->products, sender->products, sender->items * sizeof *share->products);
    workers->sender = sender;
    workers->is_stopped = false;
    workers->is_realtime = true;
    workers->rc = 0;
    workers->ready = workers->done = workers->closed = (struct fiber_event)FIBER_EVENT_INIT;
    (void)uv_timer_init(sender->loop, &workers->timer);
    workers->open_handles = 1;
    for (size_t i = 0; i < workers->count && rc == 0; i++) {
        struct worker_seat *seat = &workers->seats[i];

        rc = uv_poll_init(sender->loop, &seat->poll, seat->socket);
        if (rc != 0)
            break;
        workers->open_handles++;
        seat->poll.data = seat;
        seat->state = SEAT_OPENING;
        rc = uv_poll_start(&seat->poll, UV_READABLE, workers_on_said);
        tell_task(seat, &task, share->fd);
    }
    return rc;
}

static void close_round(struct workers *workers) {
    const size_t polls = workers->open_handles - 1;

    workers->timer.data = workers;
    uv_close((uv_handle_t *)&workers->timer, workers_on_closed);
    for (size_t i = 0; i < polls; i++) {
        workers->seats[i].poll.data = workers;
        uv_close((uv_handle_t *)&workers->seats[i].poll, workers_on_closed);
    }
    fiber_event_wait(&workers->closed);
}

/* All have opened their connections: they start at one moment in the future. */
static void start_all(struct workers *workers) {
    const struct sender *sender = workers->sender;
    const struct worker_message go = {.word = WORKER_GO, .at_ns = clock_now_ns() + SENDER_LEAD_NS};

    sender->recorder->start_ns = go.at_ns;
    tell_all(workers, &go);
    if (sender->on_start != NULL)
        sender->on_start(sender->data);
    workers->timer.data = workers;
    (void)uv_timer_start(&workers->timer, on_collect, COLLECT_MS, COLLECT_MS);
}

int workers_send(struct workers *workers, const struct sender *sender) {
    struct recorder *recorder = sender->recorder;
    int rc = open_round(workers, sender);

    if (rc == 0) {
        fiber_event_wait(&workers->ready);
        start_all(workers);
        fiber_event_wait(&workers->done);
        rc = workers->rc;
    }
    close_round(workers);
    if (rc == 0 && share_settle(recorder, sender->plan, sender->is_keyless,
                                clock_now_ns() - recorder->start_ns) != 0)
        rc = UV_ENOMEM;
    return rc;
}
