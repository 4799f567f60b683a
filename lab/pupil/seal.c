/* Sets limits and filters of system calls. */
#include "seal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Running needs memory, the exit, and the signal mask, with which a fiber begins. No call waits. The
 * filter forbids to make more memory executable. */
static const int running[] = {
    SCMP_SYS(brk),     SCMP_SYS(munmap),     SCMP_SYS(mremap), SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(madvise), SCMP_SYS(exit_group), SCMP_SYS(exit),
#ifdef SEAL_HAS_ASAN /* its runtime asks for these */
    SCMP_SYS(futex),   SCMP_SYS(getpid),     SCMP_SYS(gettid), SCMP_SYS(sigaltstack),
#endif
};

static const int loading[] = {
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(pread64),
    SCMP_SYS(fstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(close),
    SCMP_SYS(lseek),
    SCMP_SYS(mmap),
    SCMP_SYS(mprotect),
    SCMP_SYS(prctl),
    SCMP_SYS(seccomp),
    SCMP_SYS(access),
    SCMP_SYS(getrandom),
    SCMP_SYS(futex),
    SCMP_SYS(wait4),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(getpid),
    SCMP_SYS(getppid),
    SCMP_SYS(gettid),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(set_robust_list),
};

/* The flags of fork(). */
#define FORK (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD)

static int allow_all(scmp_filter_ctx filter, const int *calls, size_t count) {
    int err = 0;

    for (size_t i = 0; i < count && err == 0; i++)
        err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
    return err;
}

static int load_filter(scmp_filter_ctx filter, int err) {
    if (err == 0)
        err = seccomp_load(filter);
    seccomp_release(filter);
    if (err == 0)
        return 0;
    errno = -err;
    return -1;
}

#define LIMIT(what, most) setrlimit(what, &(struct rlimit){(rlim_t)(most), (rlim_t)(most)})

static int set_limits(size_t memory_bytes) {
    if (LIMIT(RLIMIT_CORE, 0) != 0 || LIMIT(RLIMIT_FSIZE, 0) != 0)
        return -1;
#ifdef SEAL_HAS_ASAN
    (void)memory_bytes;
#else
    if (LIMIT(RLIMIT_AS, memory_bytes) != 0)
        return -1;
#endif
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0
               ? -1
               : 0;
}

static int close_all_but(int keep) {
    assert(keep > STDERR_FILENO); /* the other two are closed here */
    if (keep > STDERR_FILENO + 1 && close_range(STDERR_FILENO + 1, (unsigned)keep - 1, 0) != 0)
        return -1;
    (void)close(STDIN_FILENO);
    (void)close(STDOUT_FILENO);
    return close_range((unsigned)keep + 1, ~0U, 0);
}

/* The kernel puts clocks that need no system call into each process, and names them in its map. */
#define CLOCK_PAGES 8
static struct { uintptr_t at, end; } clock_pages[CLOCK_PAGES];

static int find_clock_pages(void) {
#ifndef SEAL_HAS_ASAN /* its runtime looks at that clock */
    FILE *from = fopen("/proc/self/maps", "re");
    char line[512];
    size_t count = 0;

    if (from == NULL)
        return -1;
    while (count < CLOCK_PAGES && fgets(line, sizeof line, from) != NULL)
        if ((strstr(line, "[vdso]") != NULL || strstr(line, "[vvar") != NULL) &&
            sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &clock_pages[count].at,
                   &clock_pages[count].end) == 2)
            count++;
    (void)fclose(from);
#endif
    return 0;
}

/* ---- The second filter. Each player sets it, so it is made once, and nothing can write it. */

static struct sock_fprog second;

static int add_running(scmp_filter_ctx filter) {
    int err = allow_all(filter, running, sizeof running / sizeof *running);

    if (err == 0)
        err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
                               SCMP_A2(SCMP_CMP_MASKED_EQ, 4 /* PROT_EXEC */, 0));
    if (err == 0)
        err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
                               SCMP_A2(SCMP_CMP_MASKED_EQ, 4, 0));
    return err;
}

/* Map the filter's program from a file of it. 0, or a negative error number. */
static int map_second(scmp_filter_ctx filter, int file) {
    int err = seccomp_export_bpf(filter, file);
    const off_t size = err == 0 ? lseek(file, 0, SEEK_END) : -1;
    void *program;

    if (err != 0 || size <= 0)
        return err != 0 ? err : -EIO;
    program = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, file, 0);
    if (program == MAP_FAILED)
        return -errno;
    second.filter = program;
    second.len = (unsigned short)((size_t)size / sizeof *second.filter);
    return 0;
}

static int make_second(void) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    const int file = memfd_create("filter", MFD_CLOEXEC);
    int err = filter == NULL ? -ENOMEM : file < 0 ? -errno : add_running(filter);

    if (err == 0)
        err = map_second(filter, file);
    if (filter != NULL)
        seccomp_release(filter);
    if (file >= 0)
        (void)close(file);
    errno = -err;
    return err == 0 ? 0 : -1;
}

/* ---- the steps */

int seal_for_loading(size_t memory_bytes, int keep) {
    scmp_filter_ctx filter;
    int err;

    if (find_clock_pages() != 0 || make_second() != 0 || close_all_but(keep) != 0 ||
        set_limits(memory_bytes) != 0)
        return -1;
    filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    if (filter == NULL)
        return -1;
    err = allow_all(filter, running, sizeof running / sizeof *running);
    if (err == 0)
        err = allow_all(filter, loading, sizeof loading / sizeof *loading);
    if (err == 0) /* for reading only: O_RDONLY is 0, so no bit that writes or creates is set */
        err = seccomp_rule_add(
            filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
            SCMP_A2(SCMP_CMP_MASKED_EQ, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_TMPFILE, 0));
    if (err == 0)
        err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                               SCMP_A0(SCMP_CMP_EQ, FORK, 0));
    if (err == 0) /* seal_for_running() sets it */
        err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2,
                               SCMP_A0(SCMP_CMP_EQ, 0, 0), SCMP_A1(SCMP_CMP_EQ, RLIMIT_CPU, 0));
    if (err == 0) /* a process ends itself */
        err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                               SCMP_A2(SCMP_CMP_EQ, SIGKILL, 0));
    return load_filter(filter, err);
}

/* The loader reads the names in the clocks' pages, so they stay until then. */
int seal_after_loading(void) {
    for (size_t i = 0; i < CLOCK_PAGES && clock_pages[i].end > 0; i++)
        if (munmap((void *)clock_pages[i].at, clock_pages[i].end - clock_pages[i].at) != 0)
            return -1;
#ifdef __x86_64__
    return prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
#else
    return 0;
#endif
}

int seal_for_running(int cpu_s) {
    const struct rlimit limit = {(rlim_t)cpu_s, (rlim_t)cpu_s + 1};

    if (setrlimit(RLIMIT_CPU, &limit) != 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &second);
}
