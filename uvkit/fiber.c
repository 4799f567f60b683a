/* Fibers: the pool of stacks, the switch, and the two ways to wait.
 *
 * A switch is _setjmp and _longjmp, without a system call. Only a stack that is entered for the
 * first time needs ucontext. Then fiber_main() stays at its top for good, and each later fiber on
 * this stack begins with a jump into that frame. */
#include "fiber.h"

#include <assert.h>
#include <setjmp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
/* Tell AddressSanitizer that the stack will change, and that it has changed. */
#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#define BEFORE_SWITCH __sanitizer_start_switch_fiber
#define AFTER_SWITCH  __sanitizer_finish_switch_fiber
#define UNPOISON      __asan_unpoison_memory_region
#else
#define BEFORE_SWITCH(own_save, bottom, size)         ((void)0)
#define AFTER_SWITCH(own_saved, old_bottom, old_size) ((void)0)
#define UNPOISON(start, size)                         ((void)0)
#endif
#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif
#ifndef VALGRIND_STACK_REGISTER
#define VALGRIND_STACK_REGISTER(start, end) 0U
#define VALGRIND_STACK_DEREGISTER(id)       ((void)(id))
#endif

/* Lives at the top of its own mapping: guard page | stack ... | struct fiber. So a stack overflow
 * hits the guard page, and a fiber costs one mapping and no malloc. */
struct fiber {
    jmp_buf top;              /* in fiber_main(), where each fiber on this stack begins */
    jmp_buf wait;             /* the place where it waits */
    jmp_buf resumer;          /* the place to return to, at a wait or at the end */
    struct fiber *outer;      /* the fiber that resumed this one, or NULL for the loop */
    SLIST_ENTRY(fiber) entry; /* in the pool */
    fiber_fn fn;
    void *arg;
    bool is_finished;
    bool has_top; /* fiber_main() is on the stack */
    unsigned valgrind_id;
    void *asan_own;            /* fake stack of this fiber while it is away */
    void *asan_resumer;        /* fake stack of the resumer while the fiber runs */
    const void *resumer_stack; /* learned on arrival, passed on at departure */
    size_t resumer_stack_size;
};

/* Stacks kept for reuse: 128 MiB of address space. Touched pages stay resident: some 10 MB after
 * 1,000 fibers were alive at once. */
#define POOL_MAX 1024

static struct {
    struct fiber *current;
    SLIST_HEAD(, fiber) pool;
    unsigned pooled;
    unsigned alive;
} fibers;

static size_t page_bytes(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

static char *stack_bottom(struct fiber *fiber) {
    return (char *)(fiber + 1) - FIBER_STACK_BYTES;
}

static size_t stack_bytes(void) {
    return FIBER_STACK_BYTES - sizeof(struct fiber);
}

static struct fiber *map_fiber(void) {
    size_t guard = page_bytes();
    char *base = mmap(NULL, guard + FIBER_STACK_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    struct fiber *fiber;

    if (base == MAP_FAILED)
        return NULL;
    if (mprotect(base, guard, PROT_NONE) != 0) {
        (void)munmap(base, guard + FIBER_STACK_BYTES);
        return NULL;
    }
    fiber = (struct fiber *)(void *)(base + guard + FIBER_STACK_BYTES) - 1;
    fiber->valgrind_id = VALGRIND_STACK_REGISTER(stack_bottom(fiber), fiber);
    return fiber;
}

static void unmap_fiber(struct fiber *fiber) {
    char *base = stack_bottom(fiber) - page_bytes();

    VALGRIND_STACK_DEREGISTER(fiber->valgrind_id);
    (void)munmap(base, page_bytes() + FIBER_STACK_BYTES);
}

static struct fiber *take_fiber(void) {
    struct fiber *fiber = SLIST_FIRST(&fibers.pool);

    if (fiber == NULL)
        return map_fiber();
    assert(fibers.pooled > 0);
    SLIST_REMOVE_HEAD(&fibers.pool, entry);
    fibers.pooled--;
    return fiber;
}

static void give_back_fiber(struct fiber *fiber) {
    if (fibers.pooled >= POOL_MAX) {
        unmap_fiber(fiber);
        return;
    }
    SLIST_INSERT_HEAD(&fibers.pool, fiber, entry);
    fibers.pooled++;
}

/* The first frame of every stack. It never returns: fiber_start() jumps back into it. It finds its
 * fiber in `fibers.current`, because makecontext() passes only ints. */
static void fiber_main(void) {
    struct fiber *self;

    (void)_setjmp(fibers.current->top);
    self = fibers.current;
    self->has_top = true;
    AFTER_SWITCH(self->asan_own, &self->resumer_stack, &self->resumer_stack_size);
    self->fn(self->arg);
    self->is_finished = true;
    BEFORE_SWITCH(NULL, self->resumer_stack, self->resumer_stack_size); /* NULL: fake stack freed */
    _longjmp(self->resumer, 1);
}

/* A function of its own, because for the compiler getcontext() may return twice. The context is not
 * on the stack: this frame is left for good, and AddressSanitizer's guards around it would stay. */
static __attribute__((noinline)) void enter_fresh_stack(struct fiber *fiber) {
    static ucontext_t context;

    (void)getcontext(&context);
    context.uc_stack.ss_sp = stack_bottom(fiber);
    context.uc_stack.ss_size = stack_bytes();
    context.uc_link = NULL;
    makecontext(&context, fiber_main, 0);
    (void)setcontext(&context);
}

static void resume(struct fiber *fiber, jmp_buf *place) {
    assert(!fiber->is_finished && fiber != fibers.current);
    fiber->outer = fibers.current;
    fibers.current = fiber;
    BEFORE_SWITCH(&fiber->asan_resumer, stack_bottom(fiber), stack_bytes());
    if (_setjmp(fiber->resumer) == 0) {
        if (!fiber->has_top)
            enter_fresh_stack(fiber);
        _longjmp(*place, 1);
    }
    AFTER_SWITCH(fiber->asan_resumer, NULL, NULL);
    fibers.current = fiber->outer;
    if (fiber->is_finished) {
        fibers.alive--;
        give_back_fiber(fiber);
    }
}

static void suspend(struct fiber *self) {
    BEFORE_SWITCH(&self->asan_own, self->resumer_stack, self->resumer_stack_size);
    if (_setjmp(self->wait) == 0)
        _longjmp(self->resumer, 1);
    AFTER_SWITCH(self->asan_own, &self->resumer_stack, &self->resumer_stack_size);
}

int fiber_start(fiber_fn fn, void *arg) {
    struct fiber *fiber = take_fiber();

    if (fiber == NULL)
        return UV_ENOMEM;
    fiber->fn = fn;
    fiber->arg = arg;
    fiber->is_finished = false;
    fiber->asan_own = NULL;
    fibers.alive++;
    resume(fiber, &fiber->top);
    return 0;
}

void fiber_cleanup(void) {
    assert(fibers.alive == 0);
    while (!SLIST_EMPTY(&fibers.pool))
        unmap_fiber(take_fiber());
}

void fiber_event_wait(struct fiber_event *event) {
    struct fiber *self = fibers.current;

    assert(self != NULL && event->waiter == NULL);
    if (event->is_set)
        return;
    event->waiter = self;
    suspend(self);
    assert(event->is_set);
}

void fiber_event_set(struct fiber_event *event) {
    struct fiber *waiter = event->waiter;

    event->is_set = true;
    event->waiter = NULL;
    if (waiter != NULL)
        resume(waiter, &waiter->wait);
}

static void do_nothing(void *arg) {
    (void)arg;
}

/* The fiber begins again at its top with nothing to do, so it ends there like every fiber, and its
 * fake stack is freed. No frame below unpoisons the memory that it poisoned. */
void fiber_discard(struct fiber_event *event) {
    struct fiber *waiter = event->waiter;

    assert(waiter != NULL && waiter != fibers.current);
    event->waiter = NULL; /* first: the event may be on that stack */
    waiter->fn = do_nothing;
    UNPOISON(stack_bottom(waiter), stack_bytes());
    resume(waiter, &waiter->top);
}

struct nap {
    uv_timer_t timer;
    struct fiber_event *awaited, is_closed;
    bool is_over;
};

static void on_nap_closed(uv_handle_t *timer) {
    struct nap *nap = timer->data;

    fiber_event_set(&nap->is_closed);
}

static void on_nap_over(uv_timer_t *timer) {
    struct nap *nap = timer->data;

    nap->is_over = true;
    fiber_event_set(nap->awaited);
}

bool fiber_event_wait_for(uv_loop_t *loop, struct fiber_event *event, uint64_t ms) {
    struct nap nap = {.awaited = event, .is_closed = FIBER_EVENT_INIT};

    if (event->is_set)
        return true;
    (void)uv_timer_init(loop, &nap.timer); /* cannot fail */
    nap.timer.data = &nap;
    uv_update_time(loop); /* a stale loop time would make the nap too short */
    (void)uv_timer_start(&nap.timer, on_nap_over, ms, 0);
    fiber_event_wait(event);
    event->is_set = !nap.is_over;
    uv_close((uv_handle_t *)&nap.timer, on_nap_closed);
    fiber_event_wait(&nap.is_closed);
    return !nap.is_over;
}

void fiber_sleep(uv_loop_t *loop, uint64_t ms) {
    struct fiber_event never = FIBER_EVENT_INIT;

    (void)fiber_event_wait_for(loop, &never, ms);
}
