/* Reads --fault. */
#include "fault_list.h"

#include "number.h"

#include <stdio.h>
#include <string.h>

#define X(id, name) name,
static const char *const verbs[] = {FAULT_VERBS(X)};
#undef X
#define VERBS (sizeof verbs / sizeof *verbs)

const char *fault_verb_name(enum fault_verb verb) {
    return verbs[verb];
}

static bool is_server(const char *name) {
    static const char *const names[] = {"postgres",  "redis",     "replica",
                                        "replica-2", "pgbouncer", "order-svc"};
    static const struct {
        const char *prefix;
        char last;
    } families[] = {{"inventory-", '9'},
                    {"redlock-", '5'},
                    {"cluster-", '6'},
                    {"zookeeper-", '3'},
                    {"etcd-", '3'}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const size_t prefix = strlen(families[i].prefix);

        if (strncmp(name, families[i].prefix, prefix) == 0 && name[prefix] >= '1' &&
            name[prefix] <= families[i].last && name[prefix + 1] == '\0')
            return true;
    }
    return false;
}

/* The parts of a SPEC, `name:action=value@at`; NULL for a missing part. */
struct parts {
    char text[FAULT_TEXT];
    const char *name, *action, *value, *at;
};

static void fault_list_take_apart(const char *text, struct parts *parts) {
    char *rest = parts->text, *action;

    strcpy(parts->text, text);
    parts->name = strsep(&rest, ":");
    action = strsep(&rest, "@");
    parts->at = rest;
    parts->action = strsep(&action, "=");
    parts->value = action;
}

/* A failpoint has a point as its name, and @N instead of a moment. A SPEC of neither form is
 * treated as a fault of a server, so that its error explains that form: the inventory service
 * explains failpoints. */
static bool is_of_server(const struct parts *parts) {
    int64_t number;

    if (parts->action == NULL || strchr(parts->name, '/') != NULL)
        return parts->action == NULL;
    if (is_server(parts->name))
        return true;
    for (size_t i = 0; i < VERBS; i++)
        if (i != FAULT_PAUSE && strcmp(parts->action, verbs[i]) == 0)
            return true;
    return parts->at != NULL && number_read_int(parts->at, &number) != 0 &&
           number_read_duration(parts->at, &number) == 0;
}

/* Returns NULL, or the error. */
static const char *check_server(enum fault_verb verb, const char *name) {
    const bool is_redis = strcmp(name, "redis") == 0;
    const bool is_of_cluster = strncmp(name, "cluster-", 8) == 0;

    if (verb == FAULT_FAILOVER && !is_redis)
        return "only redis has this verb";
    if (verb == FAULT_CUT && !is_redis && !is_of_cluster)
        return "only redis and cluster-1, ... have this verb";
    if (verb == FAULT_RESHARD && !is_of_cluster)
        return "only cluster-1, ... have this verb";
    return NULL;
}

static const char *read_verb(const struct parts *parts, struct fault *fault) {
    const char *wrong;
    size_t verb = 0;

    while (verb < VERBS && strcmp(parts->action, verbs[verb]) != 0)
        verb++;
    if (verb == VERBS)
        return "there is no such verb";
    fault->verb = (enum fault_verb)verb;
    wrong = check_server(fault->verb, parts->name);
    if (wrong != NULL)
        return wrong;
    if (fault->verb != FAULT_PAUSE)
        return parts->value == NULL ? NULL : "only pause takes a duration";
    if (parts->value == NULL || number_read_duration(parts->value, &fault->span_ns) != 0 ||
        fault->span_ns <= 0)
        return "pause takes a duration, such as pause=2s";
    return NULL;
}

/* Returns NULL, or the error. */
static const char *read_server(const struct parts *parts, int64_t demand_ns, struct fault *fault) {
    const char *wrong;

    if (parts->action == NULL)
        return "a : is missing";
    if (!is_server(parts->name))
        return "there is no such server";
    wrong = read_verb(parts, fault);
    if (wrong != NULL)
        return wrong;
    if (parts->at == NULL || number_read_duration(parts->at, &fault->at_ns) != 0 ||
        fault->at_ns < 0)
        return "a moment such as @2s is missing";
    if (fault->at_ns >= demand_ns)
        return "the demand has ended by that moment; see --duration";
    snprintf(fault->server, sizeof fault->server, "%s", parts->name);
    return NULL;
}

static const char *fault_list_read_one(const char *text, int64_t demand_ns,
                                       struct fault_list *list) {
    struct fault *fault = &list->items[list->count];
    struct parts parts;

    if (text[0] == '\0')
        return "it is empty";
    if (list->count == FAULT_LIST_MAX || list->failpoint_count == FAULT_LIST_MAX)
        return "there are too many";
    fault_list_take_apart(text, &parts);
    if (!is_of_server(&parts)) {
        strcpy(list->failpoints[list->failpoint_count++], text);
        return NULL;
    }
    *fault = (struct fault){.verb = FAULT_KILL};
    strcpy(fault->text, text);
    list->count++;
    return read_server(&parts, demand_ns, fault);
}

int fault_list_parse(const char *text, int64_t demand_ns, struct fault_list *list,
                     struct why *why) {
    list->count = list->failpoint_count = 0;
    while (*text != '\0') {
        char one[FAULT_TEXT];
        size_t length = strcspn(text, ",\n");
        const char *wrong = "it is too long";

        snprintf(one, sizeof one, "%.*s", (int)(length < sizeof one ? length : sizeof one), text);
        if (length < sizeof one)
            wrong = fault_list_read_one(one, demand_ns, list);
        if (wrong != NULL)
            return why_set(
                why,
                "--fault %s: %s; write SERVER:VERB@MOMENT or a failpoint, such as "
                "inventory-1/after-read:pause=4s@100. Servers: postgres, redis, replica, redlock-1, "
                "cluster-1, zookeeper-1, etcd-1, pgbouncer, order-svc, inventory-1, ... Verbs: "
                "kill, restart, start, pause=DURATION; for redis also failover, cut; for "
                "cluster-1, ... also cut, reshard",
                one, wrong);
        text += length;
        text += *text != '\0';
    }
    return 0;
}

bool fault_list_needs_mending(const struct fault_list *list) {
    for (size_t i = 0; i < list->failpoint_count; i++)
        if (strstr(list->failpoints[i], ":crash") != NULL)
            return true;
    return list->count > 0;
}
