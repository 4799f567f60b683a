/* Opens the shared object and checks the members of its strategy. */
#include "exercise.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#define SYMBOL        "strategy_exercise"
#define NAME          "exercise"
#define SHARDS_MAX    1000
#define TAKES_ALL     (TAKES_HANDOVER * 2U - 1)
#define X(name, with) +1
#define SERVERS       (0 STRATEGY_SERVERS(X))

/* The fault of the exercise, or NULL. */
static const char *fault_of(const struct strategy *it) {
    if (it->name == NULL || strcmp(it->name, NAME) != 0)
        return "its .name is not \"" NAME "\"";
    if (it->family == NULL || it->summary == NULL || it->promise == NULL || it->breaks == NULL ||
        it->source == NULL)
        return "it lacks one of the texts .family, .summary, .promise, .breaks, .source";
    if (it->sell == NULL)
        return "it has no .sell";
    if (it->takes > TAKES_ALL)
        return "its .takes has bits that are not options";
    if (it->needs > SERVERS)
        return "its .needs is not a server";
    if (it->default_shards < 1 || it->default_shards > SHARDS_MAX)
        return "its .default_shards is not 1..1000";
    return NULL;
}

static int exercise_refuse(int code, const char *what, struct why *why) {
    (void)why_set(why, "%s", what);
    return code;
}

int exercise_load(const char *file, const struct strategy **strategy, struct why *why) {
    char *path = realpath(file, NULL); /* dlopen() searches elsewhere for a name without a slash */
    const struct strategy *it;
    const char *fault;
    void *object;

    if (path == NULL)
        return exercise_refuse(EX_NOINPUT, strerror(errno), why);
    object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    free(path);
    if (object == NULL)
        return exercise_refuse(EX_DATAERR, dlerror(), why);
    it = dlsym(object, SYMBOL);
    fault = it == NULL ? "it defines no " SYMBOL : fault_of(it);
    if (fault != NULL) {
        (void)dlclose(object);
        return exercise_refuse(EX_DATAERR, fault, why);
    }
    *strategy = it;
    return 0;
}
