/* Takes ports that no other program gets. */
#include "own_port.h"

#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

int own_port(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    return ntohs(address.sin_port);
}

/* With SO_RCVTIMEO, recv() ends with EINTR even without a signal: an io_uring of this thread has
 * news, and libuv has one from 1.45 on. */
void own_port_ask(int port, const char *request, char *answer, size_t size) {
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                        .sin_port = htons((uint16_t)port)};
    const struct timeval patience = {.tv_sec = 5};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    size_t length = 0;
    ssize_t got = 0;

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        got = send(fd, request, strlen(request), MSG_NOSIGNAL);
    while (got > 0 && length < size - 1) {
        got = TEMP_FAILURE_RETRY(recv(fd, answer + length, size - 1 - length, 0));
        length += got > 0 ? (size_t)got : 0;
    }
    answer[length] = '\0';
    (void)close(fd);
}
