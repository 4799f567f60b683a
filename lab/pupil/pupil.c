/* Starts the pupil, brings it questions, and tells how the student's code ended. */
#include "pupil.h"

#include "clock.h"
#include "fiber.h"
#include "machine.h"
#include "seal.h"
#include "student.h"

#include <assert.h>
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CPU_S   1  /* of a player; usually it takes less than a tenth of a millisecond */
#define MANY_S  10 /* of a player that rehearses: it plays hundreds of sales */
#define MEMORY  ((size_t)600 << 20)
#define PAGE    ((size_t)4096)
#define PLACES  1024 /* for the desk, and for the stack's begin */

#define PLAYED  90   /* a player's exit code: the answer is on the paper */
#define CRASHED 91   /* the same: the crash is on the paper */
#define NO_FORK (-1) /* instead of a player's status */

/* ---- the player: it plays a sale, up to the first call without an answer */

/* All that the student's code may see of a sale, in memory of its own. */
struct desk {
    struct sale sale;
    struct sale_options options;
    char order_id[40], instance[24], message[MESSAGE_BYTES];
};

static struct {
    struct paper *paper, *last;
    struct desk *places; /* for a desk */
    const struct strategy *strategy;
    size_t trace;             /* bytes on the paper */
    uint32_t at, rehearsals;  /* the calls so far; the plays that are left before the last one */
    struct fiber_event never; /* a sale waits for it after its last call, if others follow */
    bool has_ended;
} player;

/* Write the newest call. It returns if another play follows. */
static void hand_in(const struct call *call) {
    player.paper->calls[player.at] = *call;
    player.paper->calls_count = player.at + 1;
    player.paper->is_answered = player.rehearsals == 0;
    if (player.rehearsals == 0 && player.paper == player.last)
        _exit(PLAYED);
}

/* Guess the reply to this call, unless a text was shown: the paper has no room for texts before an
 * earlier call than its last. */
static void guess_reply(struct paper *paper, const struct call *call) {
    const struct reply *reply = guesses_find(&paper->guesses, call);

    if (reply == NULL || player.trace > 0 || paper->guessed_count == GUESSED_MOST ||
        paper->replies_count + 2 > PAPER_CALLS)
        return;
    paper->replies[paper->replies_count++] = *reply;
    paper->guessed_count++;
}

static void pupil_on_call(const struct call *call, struct reply *reply) {
    struct paper *paper = player.paper;

    if (player.at == paper->replies_count)
        guess_reply(paper, call);
    if (player.at == paper->replies_count) {
        hand_in(call);
        fiber_event_wait(&player.never);
    }
    paper->calls[player.at] = *call;
    *reply = paper->replies[player.at++];
    memset(paper->trace, 0, player.trace);
    player.trace = 0;
}

/* A text that has no room is not shown. */
static void pupil_on_trace(const char *text) {
    const size_t length = strnlen(text, TRACE_TEXT - 1);

    if (length == 0 || player.trace + length + 1 >= PAPER_TRACE)
        return;
    memcpy(player.paper->trace + player.trace, text, length);
    player.trace += length + 1;
}

static void lay_desk(const struct paper *paper, struct desk *desk) {
    memset(desk, 0, sizeof *desk);
    desk->options = paper->options;
    memcpy(desk->order_id, paper->order_id, sizeof desk->order_id);
    memcpy(desk->instance, paper->instance, sizeof desk->instance);
    desk->sale = (struct sale){.ops = &call_ops,
                               .options = &desk->options,
                               .order_id = desk->order_id,
                               .instance = desk->instance,
                               .message = desk->message};
}

/* In a fiber, because a live sale has a fiber's stack. */
static void play_sale(void *arg) {
    struct desk *desk = arg;
    const enum outcome outcome = player.paper->is_prepare ? player.strategy->prepare(&desk->sale)
                                                          : player.strategy->sell(&desk->sale);
    const struct call call = call_end(&desk->sale, outcome);

    memcpy(player.paper->message, desk->message, sizeof desk->message);
    hand_in(&call);
    player.has_ended = true;
}

/* The desk and the stack begin where the question says. */
static void play_sale_elsewhere(void *arg) {
    volatile char *room = __builtin_alloca(16 + 16 * (player.paper->shift % PLACES));

    room[0] = 0;
    play_sale(arg);
}

static void play(void) {
    struct desk *desk = player.places + player.paper->shift % PLACES;

    lay_desk(player.paper, desk);
    player.at = 0;
    memset(player.paper->trace, 0, PAPER_TRACE);
    player.trace = 0;
    player.has_ended = false;
    player.never = (struct fiber_event)FIBER_EVENT_INIT;
    if (fiber_start(play_sale_elsewhere, desk) != 0) /* never: there is a stack for it */
        _exit(0);
    if (!player.has_ended)
        fiber_discard(&player.never);
}

/* clang's AddressSanitizer would look for this stack in /proc before _exit(). */
__attribute__((no_sanitize("address"))) static void pupil_on_crash(const struct crash *crash) {
    player.paper->crash = *crash;
    _exit(CRASHED);
}

_Noreturn static void be_player(int line, unsigned char questions) {
    (void)close(line);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    player.last = player.paper + questions - 1;
    if (seal_for_running(player.paper->rehearsals > 0 ? MANY_S : CPU_S) != 0)
        (void)raise(SIGKILL); /* without memory */
    for (;; player.paper++) { /* the last play does not return */
        for (player.rehearsals = player.paper->rehearsals; player.rehearsals > 0;
             player.rehearsals--)
            play();
        play();
    }
}

/* ---- the pupil */

/* The environment may hold secrets, and this process has a copy of its parent's. */
static void forget_environment(void) {
    extern char **environ;

    for (char **each = environ; each != NULL && *each != NULL; each++)
        memset(*each, 0, strlen(*each));
    (void)clearenv();
}

/* The player's status. SIGXCPU if it has used up its time: it may have blocked this signal, and
 * then SIGKILL ended it. */
static int status_of(pid_t forked) {
    struct rusage used;
    int status;

    if (TEMP_FAILURE_RETRY(wait4(forked, &status, 0, &used)) < 0)
        return NO_FORK;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
                   2 * (used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                           (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 500000 >=
                       CPU_S
               ? SIGXCPU
               : status;
}

#ifdef SEAL_HAS_ASAN /* its runtime is a library, too */
static void leave_libraries(void) {
}
#else
/* True if the object has this address. */
static bool is_of(const struct dl_phdr_info *object, uintptr_t address) {
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];

        if (part->p_type == PT_LOAD && address - object->dlpi_addr - part->p_vaddr < part->p_memsz)
            return true;
    }
    return false;
}

/* Forks need not copy a library that no player calls: all but this program, the C library, the
 * loader and the object at `data`. */
static int pupil_on_library(struct dl_phdr_info *object, size_t size, void *data) {
    (void)size;
    if (is_of(object, (uintptr_t)data) || is_of(object, (uintptr_t)&player) ||
        is_of(object, (uintptr_t)&strlen) || is_of(object, getauxval(AT_BASE)))
        return 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        const uintptr_t from = object->dlpi_addr + part->p_vaddr, page = from & ~(PAGE - 1);

        if (part->p_type == PT_LOAD)
            (void)madvise((void *)page, from + part->p_memsz - page, MADV_DONTFORK);
    }
    return 0;
}

static void leave_libraries(void) {
    (void)dl_iterate_phdr(pupil_on_library, (void *)(uintptr_t)player.strategy);
}
#endif

static void nothing(void *arg) {
    (void)arg;
}

/* Do here, once, all that a player needs. The first fiber makes the stack, because that needs calls
 * that the seal forbids. */
static bool prepare_players(void) {
    call_ask = pupil_on_call;
    call_trace = pupil_on_trace;
    leave_libraries();
    return fiber_start(nothing, NULL) == 0 && crash_watch(player.strategy, pupil_on_crash) == 0 &&
           seal_after_loading() == 0;
}

/* Fork a player for each number of questions, and write its status. _Fork() calls no handler of a
 * library: a player may not have it. */
static void fork_players(int line) {
    unsigned char questions;

    while (read(line, &questions, 1) == 1) {
        const pid_t forked = _Fork();
        int status;

        if (forked == 0)
            be_player(line, questions);
        status = forked > 0 ? status_of(forked) : NO_FORK;
        if (write(line, &status, sizeof status) != sizeof status)
            break;
    }
}

static void say_hello(int line, const struct pupil_hello *hello) {
    if (write(line, hello, sizeof *hello) != sizeof *hello)
        _exit(0);
}

_Noreturn static void pupil_fail(int line, struct pupil_hello *hello, const char *what) {
    hello->loaded = STUDENT_BROKEN;
    (void)snprintf(hello->why, sizeof hello->why, "%s: %s", what, strerror(errno));
    machine_advise(hello->why, sizeof hello->why);
    say_hello(line, hello);
    _exit(0);
}

/* The shift comes first, so that it moves all that follows: the desk, the object, the stack. */
static bool take_places(unsigned shift) {
    const size_t size = sizeof *player.places * PLACES;

    if (shift > 0 && mmap(NULL, shift * PAGE, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
        return false;
    player.places = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return player.places != MAP_FAILED;
}

_Noreturn static void be_pupil(const char *path, unsigned shift, struct paper *paper, int line) {
    struct pupil_hello hello = {.loaded = STUDENT_BROKEN};
    struct why why = {""};

    tzset();                       /* its first call reads a file */
    (void)signal(SIGINT, SIG_IGN); /* the parent ends us */
    (void)signal(SIGQUIT, SIG_IGN);
    forget_environment();
    fiber_cleanup(); /* the stacks of the grader */
    player.paper = paper;
    if (!take_places(shift))
        pupil_fail(line, &hello, "memory");
    if (seal_for_loading(MEMORY, line) != 0)
        pupil_fail(line, &hello, "sandbox");
    hello.loaded = student_load(path, &player.strategy, &why);
    (void)snprintf(hello.why, sizeof hello.why, "%.500s", why.text);
    if (hello.loaded == STUDENT_OK) {
        hello.takes = player.strategy->takes;
        hello.default_shards = player.strategy->default_shards;
        hello.default_handover = player.strategy->default_handover;
        hello.has_prepare = player.strategy->prepare != NULL;
    }
    if (hello.loaded == STUDENT_OK && !prepare_players())
        pupil_fail(line, &hello, "sandbox");
    say_hello(line, &hello);
    if (hello.loaded == STUDENT_OK)
        fork_players(line);
    _exit(0);
}

/* ---- the grader's process */

static enum pupil_end pupil_tell(struct why *why, enum pupil_end end, const char *text) {
    (void)why_set(why, "%s", text);
    return end;
}

static enum pupil_end pupil_broken(struct why *why, const char *what) {
    (void)why_set(why, "%s: %s", what, strerror(errno));
    machine_advise(why->text, sizeof why->text);
    return PUPIL_BROKEN;
}

static enum pupil_end tell_death(int status, bool is_overflow, struct why *why) {
    const int with = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

    switch (with) {
    case 0:
        return pupil_tell(why, PUPIL_DIED, "it ended its process in the middle of a sale");
    case SIGXCPU:
        return pupil_tell(why, PUPIL_ENDLESS, crash_advice(with, false));
    case SIGKILL:
        return pupil_tell(why, PUPIL_BROKEN,
                          "a check was killed: does this machine have too little memory?");
    case SIGSYS:
        return pupil_tell(why, PUPIL_DIED,
                          "it made a system call; a strategy may act only through the store");
    }
    (void)why_set(why, "signal %d (%s) ended it: %s", with, strsignal(with),
                  crash_advice(with, is_overflow));
    return PUPIL_DIED;
}

/* The newest call with an answer. The student's code can write all of it. */
static void tell_last_call(const struct paper *paper, struct why *why) {
    const size_t length = strlen(why->text);
    uint32_t made = 0;
    int32_t outcome;

    while (made < PAPER_CALLS && made < paper->replies_count && paper->calls[made].kind != 0)
        made++;
    if (made == 0)
        return;
    outcome = paper->replies[made - 1].outcome;
    (void)snprintf(why->text + length, sizeof why->text - length,
                   "; its last call, %s(), returned %s", call_name(&paper->calls[made - 1]),
                   outcome >= 0 && outcome <= OUTCOME_FAILED ? outcome_name((enum outcome)outcome)
                                                             : "something else");
}

/* The student's code can write the paper, so nothing on it decides more than the words. */
static enum pupil_end tell_crash(struct pupil *pupil, int status, struct why *why) {
    const struct paper *paper = &pupil->papers[pupil->answered];
    const struct crash *crash = &paper->crash;
    const bool is_told = WIFEXITED(status) && WEXITSTATUS(status) == CRASHED;
    const bool is_one = crash->signal == SIGSEGV || crash->signal == SIGBUS ||
                        crash->signal == SIGFPE || crash->signal == SIGILL ||
                        crash->signal == SIGTRAP || crash->signal == SIGXCPU;
    const unsigned char is_overflow = *(const unsigned char *)&crash->is_overflow;
    const enum pupil_end end =
        tell_death(is_told && is_one ? crash->signal : status, is_overflow == 1, why);

    pupil->crashed_at = is_told ? crash->at : 0;
    if (end != PUPIL_BROKEN)
        tell_last_call(paper, why);
    return end;
}

/* The pupil itself has ended: somebody killed it, or loading the object did. */
static enum pupil_end tell_end_of_pupil(struct pupil *pupil, struct why *why) {
    int status;

    if (TEMP_FAILURE_RETRY(waitpid(pupil->process, &status, 0)) < 0)
        return pupil_broken(why, "waitpid");
    return tell_death(status, false, why);
}

/* Read `size` bytes of the pupil. */
static enum pupil_end hear(struct pupil *pupil, void *to, size_t size, struct why *why) {
    const int64_t due_ms = clock_now_ms() + machine_wall_ms;
    size_t have = 0;

    while (have < size) {
        struct pollfd wanted = {.fd = pupil->line, .events = POLLIN};
        ssize_t got;

        if (*pupil->is_interrupted)
            return pupil_tell(why, PUPIL_STOPPED, "stopped");
        if (poll(&wanted, 1, 100) <= 0) { /* first: this process may have been stopped itself */
            if (clock_now_ms() < due_ms)
                continue;
            errno = ETIMEDOUT;
            return pupil_broken(why, "a check did not end");
        }
        got = read(pupil->line, (char *)to + have, size - have);
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
            return tell_end_of_pupil(pupil, why);
        have += got > 0 ? (size_t)got : 0;
    }
    return PUPIL_OK;
}

/* Orphans in the pupil's group become ours, so that pupil_stop() can wait for them. */
static bool adopt_orphans(void) {
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

static enum pupil_end pupil_fork(struct pupil *pupil, const char *path, unsigned shift,
                                 struct why *why) {
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return pupil_broken(why, "socketpair");
    (void)fflush(NULL);
    pupil->process = fork();
    if (pupil->process == 0) {
        (void)close(ends[0]);
        (void)setpgid(0, 0);
        be_pupil(path, shift, pupil->papers, ends[1]);
    }
    (void)close(ends[1]);
    pupil->line = ends[0];
    if (pupil->process < 0)
        return pupil_broken(why, "fork");
    (void)setpgid(pupil->process, 0); /* it does the same; one of us is first */
    /* The next pupil must not see the questions of this one. */
    (void)madvise(pupil->papers, PAPERS * sizeof *pupil->papers, MADV_DONTFORK);
    pupil->group = pupil->process;
    return PUPIL_OK;
}

enum pupil_end pupil_start(struct pupil *pupil, const char *path, unsigned shift,
                           const volatile bool *is_interrupted, struct pupil_hello *hello,
                           struct why *why) {
    enum pupil_end end;

    *pupil = (struct pupil){.line = -1, .is_interrupted = is_interrupted};
    pupil->papers = mmap(NULL, PAPERS * sizeof *pupil->papers, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (pupil->papers == MAP_FAILED || !adopt_orphans()) {
        end = pupil_broken(why, "memory");
        pupil->papers = pupil->papers != MAP_FAILED ? pupil->papers : NULL;
    } else {
        end = pupil_fork(pupil, path, shift, why);
    }
    if (end == PUPIL_OK)
        end = hear(pupil, hello, sizeof *hello, why);
    if (end != PUPIL_OK)
        pupil_stop(pupil);
    else
        hello->why[sizeof hello->why - 1] = '\0';
    return end;
}

/* Before the first question the kernel forgets the few pages of all papers that are in use: faster
 * than to overwrite them all. */
struct paper *pupil_paper(struct pupil *pupil) {
    const size_t size = PAPERS * sizeof *pupil->papers;

    assert(pupil->asked < PAPERS);
    if (pupil->asked == 0 && madvise(pupil->papers, size, MADV_REMOVE) != 0)
        memset(pupil->papers, 0, size);
    return &pupil->papers[pupil->asked++];
}

static uint32_t count_answers(const struct pupil *pupil, uint32_t asked) {
    uint32_t count = 0;

    while (count < asked && pupil->papers[count].is_answered != 0 &&
           pupil->papers[count].calls_count > 0)
        count++;
    return count;
}

enum pupil_end pupil_ask(struct pupil *pupil, struct why *why) {
    const unsigned char asked = (unsigned char)pupil->asked;
    enum pupil_end end;
    int status;

    assert(asked > 0);
    pupil->asked = pupil->answered = 0;
    if (send(pupil->line, &asked, 1, MSG_NOSIGNAL) != 1)
        return tell_end_of_pupil(pupil, why);
    pupil->crashed_at = 0;
    end = hear(pupil, &status, sizeof status, why);
    if (end != PUPIL_OK)
        return end;
    if (status == NO_FORK) {
        errno = EAGAIN;
        return pupil_broken(why, "fork");
    }
    pupil->answered = count_answers(pupil, asked);
    if (WIFEXITED(status) && WEXITSTATUS(status) == PLAYED && pupil->answered == asked)
        return PUPIL_OK;
    if (pupil->answered == asked) /* all of them: the player wrote it on the last paper, and died */
        pupil->answered--;
    return tell_crash(pupil, status, why);
}

void pupil_stop(struct pupil *pupil) {
    if (pupil->line >= 0)
        (void)close(pupil->line);
    if (pupil->group > 0) {
        (void)kill(-pupil->group, SIGKILL);
        while (waitpid(-pupil->group, NULL, 0) > 0 || errno == EINTR)
            ;
    }
    if (pupil->papers != NULL)
        (void)munmap(pupil->papers, PAPERS * sizeof *pupil->papers);
    *pupil = (struct pupil){.line = -1};
}
