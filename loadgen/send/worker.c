/* Takes a task, sends it on a loop of its own, and waits for the next. */
#include "worker.h"

#include "clock.h"
#include "loop.h"
#include "punctual.h"
#include "share.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct worker {
    int socket;
    bool is_realtime_wanted;
    uv_loop_t loop;
    uv_poll_t poll;
    struct sender sender;
    struct fiber_event told; /* to go, or to stop */
    int64_t start_ns;
    struct worker_message done;
};

static void worker_say(const struct worker *worker, const struct worker_message *message) {
    if (send(worker->socket, message, sizeof *message, MSG_NOSIGNAL) != (ssize_t)sizeof *message)
        _exit(1); /* the parent is gone */
}

/* Wait for the next task: its fd. What else comes is late, of the one before. */
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
        struct pollfd wanted = {.fd = worker->socket, .events = POLLIN}; /* libuv lets none wait */
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

static void start_at(struct worker *worker, int64_t start_ns) {
    if (worker->told.is_set)
        return;
    worker->start_ns = start_ns;
    fiber_event_set(&worker->told);
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
    start_at(worker, message.word == WORKER_GO ? message.at_ns : clock_now_ns());
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

noreturn void worker_run(int socket, const struct sender *like, bool is_realtime_wanted) {
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
