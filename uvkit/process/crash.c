/* Installs the handlers, and reads the registers and the stack that a signal left. */
#include "crash.h"

#include <assert.h>
#include <link.h>
#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

#define STACK_BYTES 32768
#define NEAR_BYTES  65536 /* a fault so near to the stack pointer is the stack's */
#define WORDS       65536 /* of the stack to look at */

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGXCPU};

static struct {
    crash_cb cb;
    uintptr_t base, code, code_end; /* of the object */
    volatile sig_atomic_t is_looking;
} watch;

struct looked_for {
    uintptr_t symbol;
};

/* Find the object's segment with code, and the segment that has the symbol. */
static int crash_on_object(struct dl_phdr_info *info, size_t size, void *data) {
    const struct looked_for *looked_for = data;
    uintptr_t code = 0, end = 0;
    bool is_it = false;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t from = info->dlpi_addr + part->p_vaddr, to = from + part->p_memsz;

        if (part->p_type != PT_LOAD)
            continue;
        is_it = is_it || (looked_for->symbol >= from && looked_for->symbol < to);
        if ((part->p_flags & PF_X) != 0)
            code = from, end = to;
    }
    if (is_it)
        watch.base = info->dlpi_addr, watch.code = code, watch.code_end = end;
    return is_it;
}

static bool is_code(uintptr_t address) {
    return address >= watch.code && address < watch.code_end;
}

static void read_registers(const ucontext_t *context, uintptr_t *at, uintptr_t *stack) {
#if defined(__x86_64__)
    *at = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
    *stack = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    *at = context->uc_mcontext.pc;
    *stack = context->uc_mcontext.sp;
#else
    (void)context;
    *at = *stack = 0;
#endif
}

/* The stack may end before WORDS: that is a second fault, and it ends the search. */
__attribute__((no_sanitize("address"))) static uintptr_t find_call(uintptr_t stack) {
    const uintptr_t *word = (const uintptr_t *)(stack & ~(sizeof(uintptr_t) - 1));

    for (size_t i = 0; i < WORDS && stack != 0; i++)
        if (is_code(word[i]))
            return word[i] - 1; /* it is the address after the call */
    return 0;
}

static void tell_crash(int number, bool is_overflow, uintptr_t at) {
    watch.cb(&(struct crash){number, is_overflow, at != 0 ? at - watch.base : 0});
    watch.is_looking = 0;
    if (number != SIGXCPU)
        (void)signal(number, SIG_DFL); /* the instruction, or abort(), repeats it */
}

static void crash_on_signal(int number, siginfo_t *info, void *data) {
    static int first;
    static bool was_overflow;
    uintptr_t at, stack, fault = (uintptr_t)info->si_addr;

    if (watch.is_looking != 0) {
        tell_crash(first, was_overflow, 0);
        (void)signal(SIGSEGV, SIG_DFL);
        return;
    }
    read_registers(data, &at, &stack);
    watch.is_looking = 1;
    first = number;
    was_overflow = number == SIGSEGV && fault + NEAR_BYTES > stack && fault < stack + NEAR_BYTES;
    tell_crash(number, was_overflow, is_code(at) ? at : find_call(stack));
}

int crash_watch(const void *symbol, crash_cb cb) {
    static char room[STACK_BYTES];
    const stack_t own = {.ss_sp = room, .ss_size = sizeof room};
    const struct sigaction action = {.sa_sigaction = crash_on_signal,
                                     .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART};
    struct looked_for looked_for = {(uintptr_t)symbol};

    assert(cb != NULL);
    watch.cb = cb;
    (void)dl_iterate_phdr(crash_on_object, &looked_for);
    if (sigaltstack(&own, NULL) != 0)
        return -1;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], &action, NULL) != 0)
            return -1;
    return 0;
}

const char *crash_advice(int signal, bool is_overflow) {
    switch (signal) {
    case SIGSEGV:
    case SIGBUS:
        return is_overflow ? "the stack is full: look for a function that calls itself without end"
                           : "look for a NULL or wild pointer, or an index past an array's end";
    case SIGFPE:
        return "it divided by zero";
    case SIGXCPU:
        return "it used up its time: a loop without a store call does not end";
    default:
        return "C defines no result for this operation";
    }
}
