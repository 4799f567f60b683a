/* An etcd cluster of this test's own, with one member or three. The test may kill, pause and ask
 * each member. */
#ifndef TEST_OWN_ETCD_H
#define TEST_OWN_ETCD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define OWN_ETCD_MOST 3

struct own_etcd {
    char folder[64];
    char url[128];     /* etcd://, with all members */
    char cluster[256]; /* the --initial-cluster of each member */
    int count;
    struct own_etcd_member {
        pid_t pid;           /* 0: not running */
        int port, peer_port; /* of 127.0.0.1 */
    } members[OWN_ETCD_MOST];
};

/* Start it without keys, and wait until it answers. The shortest TTL that it grants is 1 s. */
void own_etcd_start(struct own_etcd *own, int count);
/* Stop it, and delete its data. */
void own_etcd_stop(struct own_etcd *own);

/* Kill one member; it keeps its data on disk. */
void own_etcd_kill(struct own_etcd *own, int member);
void own_etcd_restart(struct own_etcd *own, int member);
/* Pause a member: it stands still when this returns. Resume it. */
void own_etcd_pause(struct own_etcd *own, int member);
void own_etcd_resume(struct own_etcd *own, int member);
/* Wait until all running members answer and one leads. Returns the number of the leader. */
int own_etcd_leader(struct own_etcd *own);

/* POST to a member. `reply` gets the body, cut to fit. False: the answer was not 200. */
bool own_etcd_ask(const struct own_etcd *own, int member, const char *path, const char *body,
                  char *reply, size_t size);
/* The number of keys. */
int own_etcd_keys(const struct own_etcd *own);
/* Delete all keys, like another program. */
void own_etcd_clear(const struct own_etcd *own);

#endif
