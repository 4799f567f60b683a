/* Mends the descriptors 0 to 2, SIGCHLD and the signal mask. */
#include "inherited.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

/* A closed one would be the number of the next file that is opened. libuv asserts that its own are
 * at least 3, and printed text would go into that file. open() returns the lowest free number. */
static void open_standard(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) {
            fprintf(stderr, "descriptor %d is closed, and /dev/null cannot be opened: %s\n", fd,
                    strerror(errno));
            _exit(EX_OSERR);
        }
}

/* While SIGCHLD is ignored the kernel forgets how a child ended. A blocked signal never arrives. An
 * ignored SIGHUP stays ignored: nohup(1) means it. A file that grows beyond `ulimit -f` becomes an
 * error that can be told, and does not end the process. */
void inherited_mend(void) {
    sigset_t none;

    open_standard();
    (void)sigemptyset(&none);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}
