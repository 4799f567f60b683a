/* The servers of the lock, which a command of the user stops, kills and starts. lockjudge runs it
 * with one more word:
 *
 *     can WORD        ends with 0 if it can do WORD
 *     pause, resume   the server stands still; it goes on
 *     kill, start     the server ends at once; it starts with its data, and is ready
 *     empty           a killed server forgets its data; start follows
 *     flush           the server forgets all locks, and goes on
 *     evict           the server forgets each key that has a TTL, and goes on
 *     behind          a replica gets the server's data, and nothing that comes later
 *     failover        after `behind`: the server is killed, and the replica takes over its address
 *     rejoin          after `behind` or `failover`: the server runs with its own data, as before
 *     flush-scripts   Redis forgets its cached scripts
 *
 * scripts/lock-server does this for the servers of scripts/stack. */
#ifndef LOCKJUDGE_SERVERS_H
#define LOCKJUDGE_SERVERS_H

#include "why.h"

#include <stdbool.h>
#include <uv.h>

struct servers {
    uv_loop_t *loop;
    const char *command; /* for the shell */
    int running;         /* the process group of the command that runs now; 0: none does */
};

/* Run the command with `words`, and wait for its end. In a fiber. 0; or -1 with the reason, its last
 * line on stderr. */
__attribute__((warn_unused_result)) int servers_do(struct servers *servers, const char *words,
                                                   struct why *why);
/* Can it do that? In a fiber. */
bool servers_can(struct servers *servers, const char *word);
/* Kill the command that runs now, if any, with all that it started in its group. */
void servers_kill(struct servers *servers);

#endif
