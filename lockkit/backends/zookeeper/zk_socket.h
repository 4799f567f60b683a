/* The library's socket, watched by libuv through a duplicate: the library closes its own in any of
 * its functions, and the next one may have the same number. */
#ifndef LOCKKIT_ZK_SOCKET_H
#define LOCKKIT_ZK_SOCKET_H

#include <stdbool.h>
#include <uv.h>

struct zk_socket {
    uv_poll_t poll;
    int fd; /* ours */
    ino_t inode;
    uint64_t since_ms; /* by uv_now() */
};

/* Watch `fd` for `events`, and no other: when it is not the socket that *socket watches, or none
 * (-1), that goes first. 0, or -1 when it cannot be watched now. `on_ready` has `data` in its
 * handle. */
int zk_socket_watch(struct zk_socket **socket, uv_loop_t *loop, int fd, int events,
                    uv_poll_cb on_ready, void *data);
/* All of them do nothing without a socket. */
void zk_socket_unwatch(struct zk_socket **socket);
void zk_socket_pause(struct zk_socket *socket); /* until it is watched again */
/* Neither send nor receive on it any more: it is ready at once, and the library finds it broken. */
void zk_socket_cut(struct zk_socket *socket);
/* Send what is written from now on in one piece, when that is over. */
void zk_socket_cork(struct zk_socket *socket, bool is_on);

#endif
