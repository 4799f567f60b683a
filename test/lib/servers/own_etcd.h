/* An etcd cluster of this test's own, of one member or three, to be killed, stopped and asked as it
 * likes. */
#ifndef TEST_OWN_ETCD_H
#define TEST_OWN_ETCD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define OWN_ETCD_MOST 3

struct own_etcd {
    char folder[64];
    char url[128];     /* etcd://, with all members */
    char cluster[256]; /* what each member is told of the others */
    int count;
    struct own_etcd_member {
        pid_t pid;           /* 0: not running */
        int port, peer_port; /* of 127.0.0.1 */
    } members[OWN_ETCD_MOST];
};

/* Start it, empty, and wait until it answers. The shortest TTL that it grants is 1 s. */
void own_etcd_start(struct own_etcd *own, int count);
/* What it had stored is gone. */
void own_etcd_stop(struct own_etcd *own);

/* One member, which keeps what it has stored. */
void own_etcd_kill(struct own_etcd *own, int member);
void own_etcd_restart(struct own_etcd *own, int member);
/* Stop it in its tracks, for sure when this returns, and let it go on. */
void own_etcd_pause(struct own_etcd *own, int member);
void own_etcd_resume(struct own_etcd *own, int member);
/* Wait until all that run answer, and one leads; its number. */
int own_etcd_leader(struct own_etcd *own);

/* POST to a member, and its reply's body, cut to fit. False when it was not answered with 200. */
bool own_etcd_ask(const struct own_etcd *own, int member, const char *path, const char *body,
                  char *reply, size_t size);
/* How many keys there are. */
int own_etcd_keys(const struct own_etcd *own);
/* Delete all keys, as another program might. */
void own_etcd_clear(const struct own_etcd *own);

#endif
