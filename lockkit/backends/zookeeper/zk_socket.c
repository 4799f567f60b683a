/* A duplicate of a socket, and whether it is still the same one. */
#include "zk_socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void on_closed(uv_handle_t *handle) {
    struct zk_socket *socket = handle->data;

    (void)close(socket->fd);
    free(socket);
}

void zk_socket_unwatch(struct zk_socket **socket) {
    if (*socket) {
        (*socket)->poll.data = *socket;
        uv_close((uv_handle_t *)&(*socket)->poll, on_closed);
    }
    *socket = NULL;
}

/* NULL when there is no room for it now. */
static struct zk_socket *socket_new(uv_loop_t *loop, int fd, ino_t inode) {
    struct zk_socket *socket = malloc(sizeof *socket);

    if (!socket)
        return NULL;
    socket->inode = inode;
    socket->since_ms = uv_now(loop);
    socket->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (socket->fd >= 0 && uv_poll_init(loop, &socket->poll, socket->fd) == 0)
        return socket;
    if (socket->fd >= 0)
        (void)close(socket->fd);
    free(socket);
    return NULL;
}

int zk_socket_watch(struct zk_socket **socket, uv_loop_t *loop, int fd, int events,
                    uv_poll_cb on_ready, void *data) {
    struct stat stat = {0};

    if (fd < 0 || fstat(fd, &stat) != 0 || (*socket && (*socket)->inode != stat.st_ino))
        zk_socket_unwatch(socket);
    if (fd < 0 || events == 0)
        return 0;
    if (!*socket)
        *socket = socket_new(loop, fd, stat.st_ino);
    if (!*socket)
        return -1;
    (*socket)->poll.data = data;
    return uv_poll_start(&(*socket)->poll, events, on_ready) == 0 ? 0 : -1;
}

void zk_socket_pause(struct zk_socket *socket) {
    if (socket)
        (void)uv_poll_stop(&socket->poll);
}

void zk_socket_cut(struct zk_socket *socket) {
    if (socket)
        (void)shutdown(socket->fd, SHUT_RDWR);
}

void zk_socket_cork(struct zk_socket *socket, bool is_on) {
    const int on = is_on;

    if (socket)
        (void)setsockopt(socket->fd, IPPROTO_TCP, TCP_CORK, &on, sizeof on);
}
