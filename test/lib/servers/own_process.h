/* Starts a server as a child of this process; it ends with this process. */
#ifndef TEST_OWN_PROCESS_H
#define TEST_OWN_PROCESS_H

#include <pwd.h>
#include <signal.h>
#include <sys/types.h>

/* Start `program` from PATH with the arguments up to NULL. It gets the signal `dies_of` when
 * this process ends. Its stdout and stderr go to the file `output`; NULL: stdout is dropped, and
 * stderr is ours. `as` is the user; NULL: ours. */
__attribute__((sentinel)) pid_t own_process_start(const char *output, const struct passwd *as,
                                                  int dies_of, const char *program, ...);

/* The user postgres if we are root, because some servers refuse to run as root; else NULL. */
const struct passwd *own_process_postgres(void);

#endif
