/* The table of claims.
 *
 * Detection is no luck: a failpoint holds one sale at a named instance where it does harm, for
 * several times as long as the others need to do theirs, and what it waits for is a count or a
 * condition, never a moment. A process that stands still for some 100 ms anywhere makes no failure
 * vanish and no cure fail. */
#include "claim.h"

#include <string.h>

/* Where an article is named: the originals are listed in docs/claims.md. */
#define MADE "How a distributed lock is made, "

#define LAB  "INVENTORY_SVC_FLAGS=--lab"

static const struct claim_stack two = {{LAB}, ""};

/* How punctual the machine is, is not what these are about; a repeat would be a request more. */
#define CALM " --late 1h --dup-rate 0"
/* More than 200 requests for 100 units, within 1 s, and nobody gives up. */
#define SALE " --work 2ms --wait 8s --timeout 20s --stock 100 --requests 240 -R 240" CALM

#define LOST "OVERSELL?+TWIN+LEAK?+STALE?"

const struct claim claims[] = {
    {"process-lock",
     MADE "1",
     "A lock inside one process fails as soon as a second process sells.",
     "Each instance has a lock of its own, and its first sale stands still for 1 s between reading "
     "and writing; meanwhile the other sells the same units. As there are more requests than "
     "units, either all are sold or none is refused, so that the sale is oversold, too.",
     {{"failure", &two,
       "--strategy mutex,fail=after-read:delay=1s@1 --expect "
       "mutex=OVERSELL+TWIN+LEAK?+STALE?" SALE},
      {"cure", &two, "--strategy redis,fail=after-read:delay=1s@1" SALE}}},
    {"holder-stops",
     MADE "3.3",
     "Renewal does not help when the holder itself stops.",
     "The holder has asked whether the lease is still its own, and then the whole process stops "
     "for "
     "three TTLs, renewal with it. The lease ends, the other instance sells the unit, and the late "
     "write sells it again. A statement that checks the stock as it takes it has no such gap.",
     {{"failure", &two,
       "--strategy redis,ttl=1s,fail=before-write:pause=3s@5 --expect redis=" LOST SALE},
      {"cure", &two, "--strategy atomic,fail=before-write:pause=3s@5" SALE}}},
};

const size_t claim_count = sizeof claims / sizeof claims[0];

const struct claim *claim_find(const char *id) {
    for (size_t i = 0; i < claim_count; i++)
        if (strcmp(claims[i].id, id) == 0)
            return &claims[i];
    return NULL;
}
