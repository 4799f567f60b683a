#include "wall.h"

#include "clock_page.h"
#include "fiber.h"
#include "group.h"
#include "worker.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HOUR_NS      INT64_C(3600000000000)
#define GROUP_MAX    256
#define BEGINNING_MS 500 /* a process that has just begun may not have loaded the library yet */

struct wall {
    int fd;
    struct clock_page *page;
    char path[PATH_MAX + 32], preload[3 * PATH_MAX], *variables[3];
};

/* ---- the library and its page */

/* In a folder `lib` above our program, in the build folder and in an installed copy. */
static int library_path(char path[PATH_MAX], struct why *why) {
    static const char library[] = "/lib/lockjudge-clock.so";
    const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - sizeof library);
    char *slash;

    path[length > 0 ? length : 0] = '\0';
    do {
        slash = strrchr(path, '/');
        if (slash == NULL)
            return why_set(why, "there is no %s, which moves a clock, above this program",
                           library + 1);
        memcpy(slash, library, sizeof library);
    } while (access(path, R_OK) != 0 && (*slash = '\0', true));
    return path[strcspn(path, " :")] != '\0'
               ? why_set(why, "LD_PRELOAD takes no blank and no colon in %.300s", path)
               : 0;
}

static int page_make(struct wall *wall, struct why *why) {
    char name[48];

    (void)snprintf(name, sizeof name, CLOCK_PAGE_NAME "%d", (int)getpid());
    wall->fd = memfd_create(name, MFD_CLOEXEC);
    if (wall->fd < 0 || ftruncate(wall->fd, sizeof *wall->page) != 0)
        return why_set(why, "there is no memory for the clock of the worker: %s", strerror(errno));
    wall->page = mmap(NULL, sizeof *wall->page, PROT_READ | PROT_WRITE, MAP_SHARED, wall->fd, 0);
    if (wall->page == MAP_FAILED)
        return why_set(why, "there is no memory for the clock of the worker: %s", strerror(errno));
    return 0;
}

int wall_prepare(struct fault_site *site, struct why *why) {
    char library[PATH_MAX];
    const char *others = getenv("LD_PRELOAD");
    struct wall *wall = calloc(1, sizeof *wall);

    if (wall == NULL)
        return why_set(why, "out of memory");
    site->kept = wall;
    wall->fd = -1;
    wall->page = MAP_FAILED;
    if (library_path(library, why) != 0)
        return FAULT_UNASKED;
    if (page_make(wall, why) != 0)
        return FAULT_UNASKED; /* a container may forbid it */
    (void)snprintf(wall->path, sizeof wall->path, CLOCK_PAGE_VARIABLE "=/proc/%d/fd/%d",
                   (int)getpid(), wall->fd);
    (void)snprintf(wall->preload, sizeof wall->preload, "LD_PRELOAD=%s%s%s", library,
                   others != NULL ? ":" : "", others != NULL ? others : "");
    wall->variables[0] = wall->path;
    wall->variables[1] = wall->preload;
    site->variables = wall->variables;
    return 0;
}

int wall_restore(struct fault_site *site, struct why *why) {
    struct wall *wall = site->kept;

    (void)why;
    if (wall == NULL)
        return 0;
    if (wall->page != MAP_FAILED)
        (void)munmap(wall->page, sizeof *wall->page);
    if (wall->fd >= 0)
        (void)close(wall->fd);
    free(wall);
    site->kept = NULL;
    site->variables = NULL;
    return 0;
}

/* ---- the processes of the victim */

static bool has_page(pid_t pid) {
    char path[64], name[48], line[PATH_MAX + 128];
    bool has = false;
    FILE *maps;

    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    (void)snprintf(name, sizeof name, "/memfd:" CLOCK_PAGE_NAME "%d ", (int)getpid());
    maps = fopen(path, "re");
    while (maps != NULL && !has && fgets(line, sizeof line, maps) != NULL)
        has = strstr(line, name) != NULL;
    if (maps != NULL)
        (void)fclose(maps);
    return has;
}

static void name_of(pid_t pid, char name[32]) {
    char path[64];
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    file = fopen(path, "re");
    if (file == NULL || fgets(name, 32, file) == NULL)
        (void)snprintf(name, 32, "?");
    if (file != NULL)
        (void)fclose(file);
    name[strcspn(name, "\n")] = '\0';
}

/* Whether the clocks of all processes of the victim follow the page. */
static int wall_check(const struct fault_site *site, struct why *why) {
    const pid_t group = worker_group(site->victim);
    pid_t pids[GROUP_MAX];
    const size_t count = group_members(group, pids, GROUP_MAX);

    for (size_t i = 0; i < count; i++) {
        char name[32];

        for (int ms = 0; ms < BEGINNING_MS && group_has(group, pids[i]) && !has_page(pids[i]); ms++)
            fiber_sleep(site->loop, 1);
        if (!group_has(group, pids[i]) || has_page(pids[i]))
            continue;
        name_of(pids[i], name);
        (void)why_set(why, "the wall clock of \"%s\" cannot be moved: it does not read it by libc",
                      name);
        return FAULT_UNASKED;
    }
    return 0;
}

static int wall_move(const struct fault_site *site, int64_t by_ns, struct why *why) {
    const struct wall *wall = site->kept;
    const int code = wall_check(site, why);

    if (code == 0)
        __atomic_store_n(&wall->page->shift_ns, by_ns, __ATOMIC_RELAXED);
    return code;
}

int wall_ahead_begin(struct fault_site *site, struct why *why) {
    return wall_move(site, HOUR_NS, why);
}

int wall_behind_begin(struct fault_site *site, struct why *why) {
    return wall_move(site, -HOUR_NS, why);
}

/* Programs that the victim has started since then count, too. */
int wall_end(struct fault_site *site, struct why *why) {
    return wall_check(site, why);
}
