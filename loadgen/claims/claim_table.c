/* The table of claims.
 *
 * Detection is no luck: a failpoint holds one sale at a named instance where it does harm, for
 * several times as long as the others need to do theirs, and what it waits for is a count or a
 * condition, never a moment. A process that stands still for some 100 ms anywhere makes no failure
 * vanish and no cure fail. Claims that need the same stack stand together. */
#include "claim.h"

#include <string.h>

/* The articles; docs/claims.md has their own titles. */
#define MADE     "How a distributed lock is made, "
#define PRACTICE "Locks in practice, "
#define OVERVIEW "An overview of locks, "
#define THREE    "Three distributed locks, "

#define LAB      "INVENTORY_SVC_FLAGS=--lab"

static const struct claim_stack two = {{LAB}, ""};
static const struct claim_stack one = {{LAB}, "--instances 1"};

/* How punctual the machine is, is not what these are about; a repeat would be a request more. */
#define CALM " --late 1h --dup-rate 0"
/* More requests than units, all within a second, and each waits longer than any fault lasts. */
#define SALE " --stock 60 --requests 150 -R 150 --work 2ms --wait 8s --timeout 20s" CALM
/* Demand for 2 s, and none waits for long: who holds a lock for ever leaves the others busy. */
#define DEMAND " --stock 400 -R 200 -d 2s --work 2ms --wait 300ms" CALM
/* A sale holds the lock for half of its TTL, and nothing is sold out. */
#define SLOW  " --ttl 2s --work 1s --stock 60 --requests 24 -R 24 --wait 5s --timeout 20s" CALM

#define CROWD " --stock 200 --requests 400 -R 800 --work 5ms --wait 8s --timeout 20s" CALM
/* Less requests than units. */
#define PLENTY  " --stock 200 --requests 150 -R 150 --work 2ms --wait 8s --timeout 20s" CALM
#define HELD    " --stock 400 --requests 400 -R 400 --work 20ms --wait 500ms" CALM
#define EVEN    " --stock 200 --requests 200 -R 200 --work 2ms --wait 8s --timeout 20s" CALM
#define RETURNS " --stock 400 --requests 400 -R 200 --work 20ms --wait 8s --timeout 20s --late 1h"
/* A few requests in the first second, so that what is to happen before the fifth sale of
 * inventory-1 has happened. */
#define SPAN     " --stages 500ms:2,2s:80 --stock 60 --work 2ms --wait 8s --timeout 20s" CALM
#define FORGET   " --fault inventory-1/before-write:delay=3s@5,redis:kill@1s,redis:start@1300ms" SPAN
#define FAILOVER " --fault redis:cut@0s,inventory-1/before-write:delay=3s@5,redis:failover@1s" SPAN

#define LOST     "OVERSELL?+TWIN+LEAK?+STALE?"

#define FAILURE(stack, run)                                                                        \
    { "failure", stack, run, false }
#define CHAIN(stack, run)                                                                          \
    { "failure", stack, run, true }
#define CONTROL(label, stack, run)                                                                 \
    { label, stack, run, false }
#define CURE(stack, run)                                                                           \
    { "cure", stack, run, false }

const struct claim claims[] = {
    {"process-lock",
     MADE "1",
     "A lock inside one process fails as soon as a second process sells.",
     "Each instance has a lock of its own. The first sale of inventory-1 stands still for 1 s "
     "between reading and writing, while inventory-2 sells the same units. As there are more "
     "requests than units, either the stock is sold down to 0, every unit at least once, or nobody "
     "is refused: the sale is oversold, too. With one instance the same lock is right.",
     {FAILURE(&two, "--strategy mutex --expect mutex=OVERSELL+TWIN+LEAK?+STALE? "
                    "--fault inventory-1/after-read:delay=1s@1" SALE),
      CURE(&two, "--strategy redis --fault inventory-1/after-read:delay=1s@1" SALE),
      CONTROL("one instance", &one,
              "--strategy mutex --fault inventory-1/after-read:delay=1s@1" SALE)}},
    {"one-lock",
     MADE "5",
     "One lock limits the sale to 1 / hold time; shards multiply it.",
     "A lock that is held for 20 ms a sale lets through 50 a second at most, and so at most 75 in "
     "the 1.5 s in which somebody waits for it; as many as twice that is left for a machine that "
     "is "
     "late. Twenty locks sell more than that even when it is slow. Counts are judged, no time.",
     {FAILURE(&two, "--strategy redis --threshold sold<=150 --threshold busy>=100" HELD),
      CURE(&two, "--strategy sharded,shards=20 --threshold sold>=200" HELD)}},
};

const size_t claim_count = sizeof claims / sizeof claims[0];

const struct claim *claim_find(const char *id) {
    for (size_t i = 0; i < claim_count; i++)
        if (strcmp(claims[i].id, id) == 0)
            return &claims[i];
    return NULL;
}
