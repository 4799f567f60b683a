/* Two pipes to a process. */
#include "peer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool has_answered(struct peer *peer) {
    ssize_t length =
        read(peer->from, peer->heard + peer->length, sizeof peer->heard - 1 - peer->length);

    if (length > 0)
        peer->length += (size_t)length;
    peer->heard[peer->length] = '\0';
    return strchr(peer->heard, '\n') != NULL;
}

void peer_assert_answer(struct peer *peer, const char *answer) {
    WAIT_FOR(peer->loop, has_answered(peer));
    *strchr(peer->heard, '\n') = '\0';
    assert_string_equal(peer->heard, answer);
    peer->length = 0;
}

void peer_tell(struct peer *peer, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    assert_true(vdprintf(peer->to, format, arguments) > 0);
    va_end(arguments);
}

void peer_start(struct peer *peer, uv_loop_t *loop, const char *const *arguments) {
    int to[2], from[2];

    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    *peer = (struct peer){.pid = fork(), .to = to[1], .from = from[0], .loop = loop};
    assert_true(peer->pid >= 0);
    if (peer->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)setenv("NODE_PATH", "build/node/node_modules", 1);
        (void)dup2(to[0], STDIN_FILENO);
        (void)dup2(from[1], STDOUT_FILENO);
        (void)execvp(arguments[0], (char **)(uintptr_t)arguments);
        _exit(127);
    }
    (void)close(to[0]);
    (void)close(from[1]);
    (void)fcntl(peer->from, F_SETFL, O_NONBLOCK);
    peer_assert_answer(peer, "ready");
}

void peer_end(struct peer *peer) {
    (void)close(peer->to);
    (void)close(peer->from);
    (void)waitpid(peer->pid, NULL, 0);
    peer->pid = 0;
}
