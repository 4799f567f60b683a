/* Tests which calls a sealed process can still make. Each call runs in a child of its own. */
#include "seal.h"
#include "test.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CANNOT 77 /* the child's exit code if there is no seccomp here */

enum sealed { FOR_LOADING, FOR_RUNNING };

/* Return the end of a child that makes one call behind the seal. */
static int end_of(enum sealed sealed, void (*call)(void)) {
    const int keep = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int status = 0;
    pid_t child;

    assert_true(keep >= 0);
    child = fork();
    if (child == 0) {
        (void)signal(SIGSEGV, SIG_DFL); /* cmocka's handler writes */
        if (seal_for_loading((size_t)600 << 20, keep) != 0 ||
            (sealed == FOR_RUNNING && (seal_after_loading() != 0 || seal_for_running(1) != 0)))
            _exit(CANNOT);
        call();
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    (void)close(keep);
    return status;
}

static void assert_ended(enum sealed sealed, void (*call)(void), const char *what) {
    const int status = end_of(sealed, call);

    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
        fail_msg("%s: status %x, and not SIGSYS", what, (unsigned)status);
}

static void assert_goes(enum sealed sealed, void (*call)(void), const char *what) {
    const int status = end_of(sealed, call);

    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s: status %x", what, (unsigned)status);
}

static void nothing(void) {
}

#if defined(__SANITIZE_THREAD__)
#define HAS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_TSAN 1
#endif
#endif

static void skip_without_seccomp(void) {
#ifdef HAS_TSAN
    print_message("the thread sanitizer makes calls of its own: nothing was tested\n");
    skip();
#endif
    const int status = end_of(FOR_LOADING, nothing);

    if (!WIFEXITED(status) || WEXITSTATUS(status) != CANNOT)
        return;
    print_message("this kernel, or this container, has no seccomp: nothing was tested\n");
    skip();
}

/* ---- the calls */

#define CALL(name, what)                                                                           \
    static void name(void) {                                                                       \
        if ((what) < 0)                                                                            \
            _exit(0);                                                                              \
    }

CALL(read_file, open("/etc/passwd", O_RDONLY))
CALL(write_file, open("/tmp/test-seal", O_WRONLY))
CALL(make_file, open("/tmp/test-seal", O_RDONLY | O_CREAT, 0600))
CALL(append_file, open("/tmp/test-seal", O_RDWR | O_APPEND))
CALL(hidden_file, open("/tmp", O_TMPFILE | O_RDWR, 0600))
CALL(old_open, syscall(SYS_open, "/etc/passwd", O_RDONLY))
CALL(remove_file, unlink("/tmp/test-seal"))
CALL(make_socket, socket(AF_INET, SOCK_STREAM, 0))
CALL(make_pair, socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){0, 0}))
CALL(make_child, syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0L))
CALL(make_fork, syscall(SYS_fork))
CALL(run_program, execl("/bin/true", "true", (char *)NULL))
CALL(signal_parent, kill(getppid(), SIGUSR1))
CALL(trace_parent, ptrace(PTRACE_ATTACH, getppid(), NULL, NULL))
CALL(read_parent, syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0))
CALL(ask_io_uring, syscall(SYS_io_uring_setup, 1, NULL))
CALL(map_code,
     mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1
                                                                                               : 0)
CALL(take_memory,
     mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
         ? -1
         : 0)
CALL(block_signals, sigaction(SIGXCPU, &(struct sigaction){.sa_handler = SIG_IGN}, NULL))
CALL(see_clock, syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &(struct timespec){0, 0}))
CALL(see_day, syscall(SYS_gettimeofday, &(struct timeval){0, 0}, NULL))
CALL(kill_itself, syscall(SYS_tgkill, getpid(), getpid(), SIGKILL))
CALL(read_line, read(STDIN_FILENO, (char[1]){0}, 1))
CALL(write_line, write(STDOUT_FILENO, "", 1))
CALL(raise_limit, setrlimit(RLIMIT_CPU, &(struct rlimit){99, 99}))
CALL(rename_process, prctl(PR_SET_NAME, "other", 0, 0, 0))

static void make_memory_executable(void) {
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)mprotect(memory, 4096, PROT_READ | PROT_EXEC);
}

/* Fork as the pupil does. */
static void make_player(void) {
    const pid_t child = fork();

    if (child == 0)
        _exit(0);
    if (child < 0 || waitpid(child, NULL, 0) != child)
        _exit(1);
}

static void loop(void) {
    sigset_t all;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    for (volatile unsigned i = 0;; i++)
        ;
}

#define TRIED(call)                                                                                \
    { call, #call }
struct tried {
    void (*call)(void);
    const char *name;
};

static const struct tried never[] = {TRIED(write_file),   TRIED(make_file),   TRIED(append_file),
                                     TRIED(hidden_file),  TRIED(old_open),    TRIED(remove_file),
                                     TRIED(make_socket),  TRIED(make_pair),   TRIED(make_child),
                                     TRIED(make_fork),    TRIED(run_program), TRIED(signal_parent),
                                     TRIED(trace_parent), TRIED(read_parent), TRIED(ask_io_uring),
                                     TRIED(see_clock),    TRIED(see_day)};
static const struct tried not_while_it_runs[] = {
    TRIED(read_file),   TRIED(map_code),      TRIED(rename_process), TRIED(make_memory_executable),
    TRIED(make_player), TRIED(block_signals), TRIED(kill_itself),    TRIED(raise_limit),
    TRIED(read_line),   TRIED(write_line)};

/* ---- tests */

static void test_a_sealed_process_reaches_no_other(void **state) {
    skip_without_seccomp();
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        assert_ended(FOR_LOADING, never[i].call, never[i].name);
        assert_ended(FOR_RUNNING, never[i].call, never[i].name);
    }
}

static void test_a_running_process_reads_nothing_and_makes_no_code(void **state) {
    skip_without_seccomp();
    for (size_t i = 0; i < sizeof not_while_it_runs / sizeof *not_while_it_runs; i++) {
        const struct tried *tried = &not_while_it_runs[i];

        if (tried->call != kill_itself)
            assert_goes(FOR_LOADING, tried->call, tried->name);
        assert_ended(FOR_RUNNING, tried->call, tried->name);
    }
}

static void test_memory_is_left(void **state) {
    skip_without_seccomp();
    assert_goes(FOR_RUNNING, take_memory, "memory");
}

#if defined(__x86_64__) && !defined(SEAL_HAS_ASAN)
#define TAKES_CLOCKS 1

static void read_counter(void) {
    (void)__builtin_ia32_rdtsc();
}

static void read_kernel_page(void) {
    (void)*(volatile char *)getauxval(AT_SYSINFO_EHDR);
}

/* These clocks need no system call. */
static void test_the_clocks_of_the_processor_are_away(void **state) {
    void (*const clocks[])(void) = {read_counter, read_kernel_page};

    skip_without_seccomp();
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        const int status = end_of(FOR_RUNNING, clocks[i]);

        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGSEGV);
    }
}
#endif

static void test_a_loop_ends_with_its_time(void **state) {
    int status;

    skip_without_seccomp();
    status = end_of(FOR_RUNNING, loop);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sealed_process_reaches_no_other),
        cmocka_unit_test(test_a_running_process_reads_nothing_and_makes_no_code),
        cmocka_unit_test(test_memory_is_left),
#ifdef TAKES_CLOCKS
        cmocka_unit_test(test_the_clocks_of_the_processor_are_away),
#endif
        cmocka_unit_test(test_a_loop_ends_with_its_time),
    };

    return cmocka_run_group_tests_name("seal", tests, NULL, NULL);
}
