/* A server as a child of this process, which ends with it. */
#ifndef TEST_OWN_PROCESS_H
#define TEST_OWN_PROCESS_H

#include <pwd.h>
#include <signal.h>
#include <sys/types.h>

/* Start `program`, which is found on PATH, with the arguments up to NULL; `dies_of` is sent to it
 * when this process ends. Both its outputs go to the file `output`; NULL: only errors are kept, on
 * our stderr. `as` is the user, or NULL for ours. */
__attribute__((sentinel)) pid_t own_process_start(const char *output, const struct passwd *as,
                                                  int dies_of, const char *program, ...);

/* The user postgres when we are root, since some servers refuse to run so; else NULL. */
const struct passwd *own_process_postgres(void);

#endif
