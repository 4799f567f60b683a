/* The table of claims, and its print as text, JSON and Markdown.
 *
 * Detection is not left to luck. A failpoint holds one sale of a named instance at the harmful
 * place, for several times as long as the other sales need to do the harm. A failpoint waits for a
 * count or a condition, never for a moment. If any process stands still for some 100 ms, no failure
 * vanishes and no cure fails. Claims that need the same stack stand together. */
#include "claim.h"

#include "json_text.h"
#include "shell_word.h"
#include "table.h"
#include "user_command.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The articles; docs/claims.md has their own titles. */
#define MADE     "How a distributed lock is made, "
#define PRACTICE "Locks in practice, "
#define OVERVIEW "An overview of locks, "
#define THREE    "Three distributed locks, "

#define LAB      "INVENTORY_SVC_FLAGS=--lab"

static const struct claim_stack two = {{LAB}, ""};
static const struct claim_stack own_disks = {{LAB, "LOCK_DIRS=own"}, ""};
static const struct claim_stack one = {{LAB}, "--instances 1"};
static const struct claim_stack returning = {{LAB, "ORDER_SVC_FLAGS=--lab --fail-record 50%"},
                                             "--instances 1"};
static const struct claim_stack forgetful = {{LAB, "REDIS_DURABILITY=none"}, ""};
static const struct claim_stack replica = {{LAB}, "--with replica"};
static const struct claim_stack replicas = {{LAB}, "--with replica=2"};
static const struct claim_stack cluster = {{LAB}, "--with cluster"};
static const struct claim_stack sessions = {{LAB}, "--with zookeeper,etcd"};
static const struct claim_stack pooled = {{LAB}, "--with pgbouncer"};
static const struct claim_stack five = {{LAB}, "--with redlock"};

/* The claims do not judge how punctual the machine is. A repeat would be one more request. */
#define CALM " --late 1h --dup-rate 0"
/* More requests than units, all within a second. Each waits longer than any fault lasts. */
#define SALE " --stock 60 --requests 150 -R 150 --work 2ms --wait 8s --timeout 20s" CALM
/* After a crash some answers are missing, so the verdict waits longer than a sale may last. */
#define SHORT " --stock 60 --requests 150 -R 150 --work 2ms --wait 4s --timeout 20s" CALM
/* Demand with short waits: if a lock is held for ever, the others get busy. It outlasts the restart
 * of a killed instance on a busy machine, because before that nobody is called STUCK. */
#define DEMAND " --stock 400 -R 200 -d 5s --work 2ms --wait 300ms" CALM
/* A sale holds the lock for half of its TTL. Nothing is sold out. The demand outlasts the
 * faults. */
#define SLOW  " --ttl 2s --work 1s --stock 60 -R 12 -d 2500ms --wait 3s --timeout 20s" CALM

#define CROWD " --stock 200 --requests 400 -R 800 --work 5ms --wait 8s --timeout 20s" CALM
/* Each order is served in its turn, the last some seconds after its request. */
#define LINE " --stock 200 --requests 160 -R 80 --work 25ms --wait 10s --timeout 20s" CALM
/* Fewer requests than units. */
#define PLENTY " --stock 200 --requests 150 -R 150 --work 2ms --wait 8s --timeout 20s" CALM
#define HELD   " --stock 400 --requests 400 -R 400 --work 20ms --wait 500ms" CALM
#define EVEN   " --stock 200 --requests 200 -R 200 --work 2ms --wait 8s --timeout 20s" CALM
/* X, A and B come a third of a second apart, and then the same three again. X's order is recorded
 * second of the three. Every second order cannot be recorded, so X's fails in at least one group.
 * Then many more orders come, so that attempts overlap. */
#define RETURNS                                                                                    \
    " --keyless --arrival constant --stages 1s:3,1600ms:0,1s:3,1600ms:0,1s:150 --stock 400"        \
    " --work 10ms --wait 8s --timeout 20s --late 1h --fault after-write:delay=1200ms@1,"           \
    "after-read:delay=2s@2,after-write:delay=1300ms@4,after-read:delay=2100ms@5"
/* Only a few requests in the first second: all that must precede the fifth sale of inventory-1 has
 * then happened. */
#define SPAN "500ms:2,2s:80 --stock 60 --work 2ms --wait 8s --timeout 20s" CALM
#define FORGET                                                                                     \
    " --fault inventory-1/before-write:delay=5s@5,redis:kill@2s,redis:start@2300ms --stages " SPAN
/* No order while the replication ends: the replica could get its lock, for a whole TTL. */
#define FAILOVER                                                                                   \
    " --fault redis:cut@0s,inventory-1/before-write:delay=5s@5,redis:failover@3s --stages "        \
    "1s:0," SPAN

/* One of 16 segments is at cluster-1 in all but one of 650 sales. */
#define SEGMENTS "prewarm,shards=16"
#define TAKEOVER                                                                                   \
    " --fault cluster-1:cut@0s,cluster-1:kill@4s --keyless "                                       \
    "--stages 500ms:0,9s:60 --stock 400 --wait 12s --timeout 25s --late 1h"
#define MIGRATION                                                                                  \
    " --fault cluster-1:reshard@500ms,cluster-2:reshard@1500ms --keyless "                         \
    "--stages 3s:100 --stock 200 --wait 12s --timeout 25s --late 1h"

#define LOST "TWIN+OVERSELL?+LEAK?+STALE?+UNDERSELL?+EARLY-SOLD-OUT?"

/* LOST with more requests than units. */
#define SOLD_OUT "OVERSELL+TWIN+LEAK?+STALE?+UNDERSELL?+EARLY-SOLD-OUT?"

#define CHAIN(stack, run)                                                                          \
    { "failure", stack, run, true }
#define CONTROL(label, stack, run)                                                                 \
    { label, stack, run, false }
#define FAILURE(stack, run) CONTROL("failure", stack, run)
#define CURE(stack, run)    CONTROL("cure", stack, run)

const struct claim claims[] = {
    {"process-lock",
     MADE "1",
     "A lock inside one process fails as soon as a second process sells.",
     "Each instance has a lock of its own. The first sale of inventory-1 stands still for 1 s "
     "between reading and writing. Meanwhile inventory-2 sells the same units. There are more "
     "requests than units. So either every unit is sold at least once, or no customer is refused. "
     "In both cases the sale is oversold, too. With one instance the same lock is right.",
     {FAILURE(&two, "--strategy mutex --expect mutex=" SOLD_OUT
                    " --fault inventory-1/after-read:delay=1s@1" SALE),
      CURE(&two, "--strategy redis --fault inventory-1/after-read:delay=1s@1" SALE),
      CONTROL("one instance", &one,
              "--strategy mutex --fault inventory-1/after-read:delay=1s@1" SALE)}},
    {"setnx-crash",
     MADE "3.1",
     "SETNX without a TTL deadlocks when the holder crashes.",
     "inventory-1 is killed while it holds the lock. No other client may delete the lock, so "
     "nothing more is sold, however long the demand lasts. With a TTL the lock is free 1 s later, "
     "and a customer that waits longer buys.",
     {FAILURE(&two, "--strategy redis-setnx --expect redis-setnx=STUCK "
                    "--fault inventory-1/after-lock:crash@5" DEMAND),
      CURE(&two, "--strategy redis-ttl --ttl 1s --fault inventory-1/after-lock:crash@5" SHORT)}},
    {"expire-crash",
     MADE "3.2",
     "SETNX followed by EXPIRE is not atomic: a crash between the two leaves a deadlock.",
     "inventory-1 is killed after it has set the key and before it sets the TTL. SET NX PX does "
     "both or nothing, and the TTL frees the lock after a later crash.",
     {FAILURE(&two, "--strategy redis-expire --ttl 1s --expect redis-expire=STUCK "
                    "--fault inventory-1/before-expire:crash@5" DEMAND),
      CURE(&two, "--strategy redis-ttl --ttl 1s --fault inventory-1/after-lock:crash@5" SHORT)}},
    {"abc",
     MADE "3.3",
     "If the TTL is shorter than the work, B gets A's lock, A frees B's lock, and C enters.",
     "The first sale, A, writes after 1 s and is then held for 1.5 s before it deletes the key. Its "
     "TTL ends after 2 s; B takes the lock and works until 3 s. In the middle of that, at 2.5 s, A "
     "deletes B's key: C enters and reads the same count as B. An owner token keeps A from deleting "
     "B's key. B works for only half of its TTL, so nothing else can end its lock too early.",
     {CHAIN(&two, "--strategy redis-ttl --expect redis-ttl=" LOST
                  " --fault before-delete:delay=1500ms@1" SLOW),
      CURE(&two, "--strategy redis-owner --fault before-delete:delay=1500ms@1" SLOW)}},
    {"get-del",
     MADE "3.4",
     "GET, compare, DEL is not atomic: it can free the lock of another client.",
     "As in abc, but A has read the key and found its own token; it is held between GET and DEL. "
     "A script that compares and deletes in one step finds B's token and leaves the key.",
     {CHAIN(&two, "--strategy redis-get-del --expect redis-get-del=" LOST
                  " --fault before-delete:delay=1500ms@1" SLOW),
      CURE(&two, "--strategy redis-owner --fault before-delete:delay=1500ms@1" SLOW)}},
    {"owner-outlived",
     MADE "3.3",
     "An owner token alone does not help when the work outlives the TTL; renewal does.",
     "The first sale of inventory-1 is held for three TTLs between reading and writing. Its lock "
     "expires, other sales sell the unit that it has read, and then it writes. With renewal the "
     "lease lasts as long as the work.",
     {FAILURE(&two, "--strategy redis-owner --ttl 1s --expect redis-owner=" LOST
                    " --fault inventory-1/after-read:delay=3s@1" SALE),
      CURE(&two, "--strategy redis --ttl 1s --fault inventory-1/after-read:delay=3s@1" SALE)}},
    {"holder-stops",
     MADE "3.6",
     "Renewal does not help when the holder itself stops; a fencing token does.",
     "The holder checks that it still has the lease. Then its whole process stops for three TTLs, "
     "and renewal stops with it. The lease expires, the other instance sells the unit, and the late "
     "write sells it again. With a fence the row has seen a newer token by then and refuses the "
     "older one: no unit is sold twice, and none is lost.",
     {FAILURE(&two, "--strategy redis --ttl 1s --expect redis=" LOST
                    " --fault inventory-1/before-write:pause=3s@5" SALE),
      CURE(&two,
           "--strategy redis-fenced --ttl 1s --fault inventory-1/before-write:pause=3s@5" SALE)}},
    {"optimistic-retries",
     OVERVIEW "optimistic locks",
     "Under contention an optimistic lock spends its time in retries.",
     "Every sale works for 5 ms between reading the version and writing it, and 800 sales a second "
     "try. Of all sales that read the same version one wins; the others begin again. The run judges "
     "the number of retries per unit sold, and no time.",
     {FAILURE(&two, "--strategy pg-version --threshold retries>=5" CROWD),
      CURE(&two, "--strategy pg-row,atomic --threshold retries<0.1" CROWD)}},
    {"nowait",
     THREE "3.1",
     "NOWAIT turns contention into refusals.",
     "A sale at inventory-1 keeps its row for 1 s. Orders that come meanwhile are refused at once, "
     "although there are more units than requests. With a lock that waits, all are served.",
     {FAILURE(&two, "--strategy pg-nowait --threshold busy>=20 "
                    "--fault inventory-1/after-read:delay=1s@5" PLENTY),
      CURE(&two, "--strategy pg-row --threshold busy==0 "
                 "--fault inventory-1/after-read:delay=1s@5" PLENTY)}},
    {"early-unlock",
     MADE "3.3",
     "A lock that is released before the commit guards nothing.",
     "The fifth sale of inventory-1 writes and unlocks, and commits 1 s later. Until then no other "
     "sale sees its write, so the others sell the same unit.",
     {FAILURE(&two, "--strategy early-unlock --expect early-unlock=" LOST
                    " --fault inventory-1/before-commit:delay=1s@5" SALE),
      CURE(&two, "--strategy pg-row --fault inventory-1/before-commit:delay=1s@5" SALE)}},
    {"one-lock",
     MADE "5",
     "One lock limits the sale to 1 / hold time; shards multiply the limit.",
     "A lock that is held for 20 ms per sale allows at most 50 sales a second, so at most 75 in "
     "the 1.5 s in which orders wait for it. The threshold is twice that, for a machine that is "
     "late. Twenty locks sell more than that, even on a slow machine. The run judges only counts.",
     {FAILURE(&two, "--strategy redis --threshold sold<=150 --threshold busy>=100" HELD),
      CURE(&two, "--strategy sharded,shards=20 --threshold sold>=200" HELD)}},
    {"stranded",
     MADE "5",
     "Shards that do not borrow strand stock.",
     "There are as many requests as units, dealt to ten rows at random. Only once in a billion "
     "times does each row get exactly as many requests as it has units. Otherwise one row refuses "
     "customers while another keeps units.",
     {FAILURE(&two, "--strategy sharded,borrow=off,deal=random --expect "
                    "sharded=UNDERSELL+EARLY-SOLD-OUT" EVEN),
      CURE(&two, "--strategy sharded,borrow=on,deal=random" EVEN)}},
    {"database",
     PRACTICE "3.1",
     "The database alone is enough: its own row lock is right under every fault.",
     "The holder stops, commits late, or is killed with its transaction open; Redis dies and "
     "forgets. A row lock ends with its transaction, and the next holder reads the committed row.",
     {CONTROL("cure: its holder stops, and Redis is killed", &two,
              "--strategy atomic,pg-row --fault "
              "inventory-1/before-write:pause=2s@5,redis:kill@100ms" SALE),
      CONTROL("cure: one holder is slow, one is killed before its commit", &two,
              "--strategy pg-row --fault inventory-1/after-read:delay=1s@3,"
              "inventory-2/before-commit:crash@5" SHORT),
      CONTROL("cure: killed after its write", &two,
              "--strategy atomic --fault inventory-1/after-write:crash@5" CROWD)}},
    {"own-disk",
     MADE "2",
     "A lock on one machine's disk guards one machine.",
     "Each instance makes its lock directory in a folder of its own, as on two machines. Both hold "
     "the lock, and while the first sale of inventory-1 stands still, the other instance sells the "
     "same units. In one folder, as on one machine, the same lock is right.",
     {FAILURE(&own_disks, "--strategy mkdir --expect mkdir=" SOLD_OUT
                          " --fault inventory-1/after-read:delay=1s@1" SALE),
      CONTROL("cure: a shared service", &own_disks,
              "--strategy redis --fault inventory-1/after-read:delay=1s@1" SALE),
      CONTROL("one machine", &two,
              "--strategy mkdir --fault inventory-1/after-read:delay=1s@1" SALE)}},
    {"aba",
     OVERVIEW "optimistic locks",
     "Comparing the stock itself suffers ABA once units come back.",
     "Every second order cannot be recorded, and its unit comes back. X sells the last unit and is "
     "held. A reads the count and is held. B sells the unit that A has read, and its order is "
     "recorded. The order of X is not recorded, so its unit comes back: the count is again the one "
     "that A has read, but another unit is now the last. A writes, and sells B's unit again. A "
     "version only grows, so A begins again.",
     {FAILURE(&returning, "--strategy pg-value,return=count --expect pg-value=" LOST RETURNS),
      CURE(&returning, "--strategy pg-version,return=count" RETURNS)}},
    {"forgetful",
     THREE "4",
     "If Redis may forget its last second, it forgets locks.",
     "Redis keeps nothing on disk. It is killed and started again while a sale of inventory-1 has "
     "the lock and is held before its write. The others find no lock and sell the unit; then the "
     "late write sells it again. If Redis writes each grant to disk before it answers, it still "
     "knows the lock. A fence refuses the late write: its counter starts from a clock and never "
     "falls.",
     {FAILURE(&forgetful, "--strategy redis --expect redis=" LOST FORGET),
      CONTROL("cure: the fence", &forgetful, "--strategy redis-fenced" FORGET),
      CONTROL("cure: each grant on disk", &two, "--strategy redis" FORGET)}},
    {"failover",
     MADE "3.5",
     "A replica that is promoted before it has the lock loses the lock.",
     "The replication is cut. Then a sale of inventory-1 gets the lock and is held before its "
     "write. Then the replica takes over the address: it knows no lock, and the others sell the "
     "unit. The fence in the row refuses the late write.",
     {FAILURE(&replica, "--strategy redis --expect redis=" LOST FAILOVER),
      CURE(&replica, "--strategy redis-fenced" FAILOVER)}},
    {"wait-other",
     MADE "3.5",
     "WAIT proves that some replica has the lock, and a failover may promote another one.",
     "Two replicas follow, and a lock counts once one of them has it. The first replica is cut off; "
     "the second confirms, and a sale of inventory-1 gets the lock and is held before its write. "
     "Then the first replica takes over: it knows no lock, and the others sell the unit. The fence "
     "in the row refuses the late write.",
     {FAILURE(&replicas, "--strategy redis-wait --expect redis-wait=" LOST FAILOVER),
      CURE(&replicas, "--strategy redis-wait,fence=on" FAILOVER)}},
    {"cluster-failover",
     MADE "5",
     "A replica that takes over in a cluster sells again what it did not know was sold.",
     "The stock has 16 segments, and cluster-1 has a third of the slots. Its replication is cut. "
     "Orders come, and after 4 s cluster-1 is killed. Its replica takes over without these sales, "
     "and sells their units again. The ledger takes one order for each unit, so promises are "
     "broken. Under ack=ledger a customer hears yes once the ledger has the order. "
     "With replicas=1 a sale that no replica confirms waits for the ledger, too.",
     {FAILURE(&cluster, "--strategy " SEGMENTS " --expect prewarm=GHOST" TAKEOVER),
      CONTROL("cure: the ledger", &cluster, "--strategy " SEGMENTS ",ack=ledger" TAKEOVER),
      CONTROL("cure: a replica confirms", &cluster,
              "--strategy " SEGMENTS ",replicas=1" TAKEOVER)}},
    {"slot-migration",
     MADE "5",
     "A slot that moves in the middle of a sale takes its segment along.",
     "The slots of cluster-1 move to cluster-2, and then those of cluster-2 to cluster-1, so that "
     "some segments certainly move. A server that a key has left names the new one (MOVED, ASK). "
     "While it has only a part of a segment's keys it refuses (TRYAGAIN), and the sale asks again. "
     "All keys of a segment are in one slot. No unit is lost, and none is sold twice.",
     {CURE(&cluster, "--strategy " SEGMENTS "," SEGMENTS ",ack=ledger" MIGRATION)}},
    {"redlock",
     THREE "4",
     "Redlock survives the loss of two Redis of five, but it is still a lease.",
     "Two of the five are killed in the middle of the sale, and it goes on: three are a majority. "
     "In the failure, as in holder-stops, a holder checks that it still has the lease, and its whole "
     "process stops for three TTLs. The lease expires at all five, the other instance sells the "
     "unit, and the late write sells it again. With a fence the row refuses that write.",
     {CONTROL("two of five killed", &five,
              "--strategy redlock --threshold sold>=60 "
              "--fault redlock-2:kill@100ms,redlock-4:kill@100ms" SALE),
      FAILURE(&five, "--strategy redlock --ttl 1s --expect redlock=" LOST
                     " --fault inventory-1/before-write:pause=3s@5" SALE),
      CURE(&five, "--strategy redlock,fence=on --ttl 1s "
                  "--fault inventory-1/before-write:pause=3s@5" SALE)}},
    {"session-pause",
     THREE "5",
     "A lock in ZooKeeper or etcd is a session, and a pause ends a session, too.",
     "The holder checks that it still has the lock. Then its whole process stops for longer than "
     "its session (ZooKeeper) or its lease (etcd) lasts. The server deletes its node or key, the "
     "other instance sells the unit, and the late write sells it again. Both servers number the "
     "nodes and keys, and each holder gets a higher number: a row that knows the newest number "
     "refuses the late write.",
     {FAILURE(&sessions, "--strategy zookeeper,etcd --ttl 2s --expect zookeeper=" LOST ",etcd=" LOST
                         " --fault inventory-1/before-write:pause=5s@5" SALE),
      CURE(&sessions, "--strategy zookeeper,fence=on,etcd,fence=on --ttl 2s "
                      "--fault inventory-1/before-write:pause=5s@5" SALE)}},
    {"pooler",
     "PostgreSQL, Advisory Locks; pgbouncer, Features",
     "An advisory lock through a transaction pooler is no lock.",
     "The lock belongs to a session, and a session that has it may take it again. A transaction "
     "pooler lends the same session to the next transaction. While the first sale of inventory-1 "
     "stands still for 1 s, the others use its session, get the lock, and sell the same unit. If "
     "each sale has a connection of its own, the same lock keeps the others out.",
     {FAILURE(&pooled, "--strategy pg-advisory-raw --expect pg-advisory-raw=" LOST
                       " --fault inventory-1/before-write:delay=1s@1" SALE),
      CURE(&pooled, "--strategy pg-advisory --fault inventory-1/before-write:delay=1s@1" SALE)}},
    {"fair-order",
     MADE "3.3",
     "Clients that poll a lock overtake each other; a queue serves them in order.",
     "Twice as many orders want the lock as it can serve. Under redis-owner a refused order pauses "
     "and asks again, so luck decides: some order is overtaken by many that came a quarter of a "
     "second later or more. With a queue at the server no order is. The threshold allows 20: if the "
     "machine stands still, that many come to the other instance in half a second.",
     {FAILURE(&two, "--strategy redis-owner --threshold overtaken>=40" LINE),
      CURE(&two, "--strategy redis-fair --threshold overtaken<=20" LINE)}},
};

const size_t claim_count = sizeof claims / sizeof claims[0];

const struct claim *claim_find(const char *id) {
    for (size_t i = 0; i < claim_count; i++)
        if (strcmp(claims[i].id, id) == 0)
            return &claims[i];
    return NULL;
}

#define MARKDOWN_WIDTH 120

/* ---- commands */

/* The state of printing one command. */
struct line {
    FILE *to;
    size_t indent, width, column; /* column 0: nothing is printed yet */
};

static void claim_put(struct line *line, const char *words) {
    size_t length = strlen(words);

    if (line->column == 0) {
        line->column = line->indent;
        fprintf(line->to, "%*s", (int)line->indent, "");
    } else if (line->column + 1 + length + 2 > line->width) {
        line->column = line->indent + 4;
        fprintf(line->to, " \\\n%*s", (int)line->column, "");
    } else {
        line->column++;
        fputc(' ', line->to);
    }
    fwrite(words, 1, length, line->to);
    line->column += length;
}

/* A flag and its value stay on one line. Returns the start of the next flag. */
static const char *put_flag(struct line *line, const char *at) {
    char *words = NULL;
    size_t size;
    FILE *to = open_memstream(&words, &size);

    if (to == NULL)
        return "";
    do {
        size_t length = strcspn(at, " ");

        if (ftell(to) > 0)
            fputc(' ', to);
        shell_word_print(at, length, to);
        at += length;
        at += *at == ' ';
    } while (*at != '\0' && *at != '-');
    if (fclose(to) == 0)
        claim_put(line, words);
    free(words);
    return at;
}

static void put_flags(struct line *line, const char *flags) {
    while (*flags != '\0')
        flags = put_flag(line, flags);
    fputc('\n', line->to);
}

static void put_stack(struct line *line, const char *stack) {
    char text[PATH_MAX + 16];

    (void)snprintf(text, sizeof text, "%s up", stack);
    claim_put(line, text);
}

static void put_variable(struct line *line, const char *variable) {
    size_t name = strcspn(variable, "=") + 1;
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    assert(variable[name - 1] == '='); /* the table has "NAME=value" */
    if (to == NULL)
        return;
    fwrite(variable, 1, name, to);
    shell_word_print(variable + name, strlen(variable + name), to);
    if (fclose(to) == 0)
        claim_put(line, text);
    free(text);
}

static void put_commands(const struct claim_step *step, bool has_stack, struct line up,
                         const char *stack_command, const char *loadgen) {
    struct line run = up;
    const struct claim_stack *stack = step->stack;

    for (size_t i = 0; !has_stack && i < CLAIM_VARIABLES && stack->variables[i] != NULL; i++)
        put_variable(&up, stack->variables[i]);
    if (!has_stack) {
        put_stack(&up, stack_command);
        put_flags(&up, stack->arguments);
    }
    claim_put(&run, loadgen);
    put_flags(&run, step->run);
}

void claim_print_commands(const struct claim_step *step, size_t indent, size_t width, FILE *to) {
    put_commands(step, false, (struct line){to, indent, width, 0}, user_command(USER_STACK),
                 user_command(USER_LOADGEN));
}

/* ---- the list */

static void claim_list_text(FILE *to) {
    const size_t width = table_columns(to);
    size_t indent = 0;

    for (size_t i = 0; i < claim_count; i++)
        indent = strlen(claims[i].id) + 2 > indent ? strlen(claims[i].id) + 2 : indent;
    for (size_t i = 0; i < claim_count; i++) {
        fprintf(to, "%-*s", (int)indent, claims[i].id);
        /* The id already indents the first line. */
        table_print_indented(claims[i].sentence, 0, indent, width - indent, to);
        fprintf(to, "%*s%s\n", (int)indent, "", claims[i].source);
    }
}

static json_t *steps_json(const struct claim *claim) {
    json_t *json = json_array();

    for (const struct claim_step *step = claim->steps; step->label != NULL; step++) {
        json_t *variables = json_array();

        for (size_t i = 0; i < CLAIM_VARIABLES && step->stack->variables[i] != NULL; i++)
            json_text_append(&variables, json_text(step->stack->variables[i]));
        json_text_append(&json, JSON_TEXT_OBJECT({"label", json_text(step->label)},
                                                 {"stack_variables", variables},
                                                 {"stack", json_text(step->stack->arguments)},
                                                 {"run", json_text(step->run)}));
    }
    return json;
}

static int claim_list_json(FILE *to) {
    json_t *json = json_array();

    for (size_t i = 0; i < claim_count; i++)
        json_text_append(&json, JSON_TEXT_OBJECT({"id", json_text(claims[i].id)},
                                                 {"source", json_text(claims[i].source)},
                                                 {"sentence", json_text(claims[i].sentence)},
                                                 {"how", json_text(claims[i].how)},
                                                 {"steps", steps_json(&claims[i])}));
    return json_text_print(json, to);
}

/* ---- docs/claims.md */

static void print_section(const struct claim *claim, FILE *to) {
    const struct claim_stack *stack = NULL;

    fprintf(to, "\n## %s\n\n**%s** (%s)\n\n", claim->id, claim->sentence, claim->source);
    table_print_indented(claim->how, 0, 0, MARKDOWN_WIDTH, to);
    fprintf(to, "\n```\n");
    for (const struct claim_step *step = claim->steps; step->label != NULL; step++) {
        fprintf(to, "# %s\n", step->label);
        put_commands(step, step->stack == stack, (struct line){to, 0, MARKDOWN_WIDTH, 0},
                     "scripts/stack", "scripts/loadgen");
        stack = step->stack;
    }
    fprintf(to, "```\n");
}

static const char articles[] =
    "\nThe articles are Chinese:\n\n"
    "| here | its own title | author and source |\n|---|---|---|\n"
    "| How a distributed lock is made | 分布式锁的实现 | this project "
    "started from it; the copy at "
    "hand names neither author nor address |\n"
    "| Locks in practice | 终极锁实战：单JVM锁+分布式锁 | 只会一点java, 2017, jfox.info |\n"
    "| An overview of locks | 锁概述 | EastX, cnblogs.com/cnx01/p/16948315.html |\n"
    "| Three distributed locks | 分布式锁的实现 | Redis, ZooKeeper, "
    "database; no author, no address "
    "|\n";

static void claim_list_markdown(FILE *to) {
    fputs("# Every claim, one command\n\n", to);
    table_print_indented(
        "`loadgen claims ID` runs the failure and its cure on a stack of its own, and prints both "
        "verdicts and the evidence. It ends with 0 only if the failure appeared and the cure held. "
        "`loadgen claims all` runs all claims. The commands below do the same by hand. Without a "
        "failpoint it is luck whether a run catches a failure: [power.md](power.md) says how often. "
        "`loadgen claims --output-format markdown` prints this page.",
        0, 0, MARKDOWN_WIDTH, to);
    fputs("\n| id | claim | source |\n|---|---|---|\n", to);
    for (size_t i = 0; i < claim_count; i++)
        fprintf(to, "| [%s](#%s) | %s | %s |\n", claims[i].id, claims[i].id, claims[i].sentence,
                claims[i].source);
    fputs(articles, to);
    for (size_t i = 0; i < claim_count; i++)
        print_section(&claims[i], to);
}

int claim_list(const char *format, FILE *to) {
    if (strcmp(format, "json") == 0)
        return claim_list_json(to);
    if (strcmp(format, "markdown") == 0)
        claim_list_markdown(to);
    else
        claim_list_text(to);
    return fflush(to) == 0 && !ferror(to) ? 0 : -1;
}
