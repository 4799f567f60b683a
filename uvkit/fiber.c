/* Fibers on ucontext: the stack pool, the switch, and the two things a fiber waits with. */
#include "fiber.h"

#include <assert.h>
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
/* Tell AddressSanitizer that the stack is about to change, and that it has. */
#ifdef HAS_ASAN
#include <sanitizer/common_interface_defs.h>
#define BEFORE_SWITCH __sanitizer_start_switch_fiber
#define AFTER_SWITCH  __sanitizer_finish_switch_fiber
#else
#define BEFORE_SWITCH(own_save, bottom, size)         ((void)0)
#define AFTER_SWITCH(own_saved, old_bottom, old_size) ((void)0)
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
    ucontext_t context;
    ucontext_t resumer;       /* where to go back to at a wait or at the end */
    struct fiber *outer;      /* the fiber that resumed this one, or NULL for the loop */
    SLIST_ENTRY(fiber) entry; /* in the pool */
    fiber_fn fn;
    void *arg;
    bool is_finished;
    unsigned valgrind_id;
    void *asan_own;            /* fake stack of this fiber while it is away */
    void *asan_resumer;        /* fake stack of the resumer while the fiber runs */
    const void *resumer_stack; /* learned on arrival, told on departure */
    size_t resumer_stack_size;
};

/* Stacks kept for reuse: 32 MiB of address space, of which touched pages stay resident. */
#define POOL_MAX 256

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

static void resume(struct fiber *fiber) {
    assert(!fiber->is_finished && fiber != fibers.current);
    fiber->outer = fibers.current;
    fibers.current = fiber;
    BEFORE_SWITCH(&fiber->asan_resumer, stack_bottom(fiber), stack_bytes());
    (void)swapcontext(&fiber->resumer, &fiber->context);
    AFTER_SWITCH(fiber->asan_resumer, NULL, NULL);
    fibers.current = fiber->outer;
    if (fiber->is_finished) {
        fibers.alive--;
        give_back_fiber(fiber);
    }
}

static void suspend(struct fiber *self) {
    BEFORE_SWITCH(&self->asan_own, self->resumer_stack, self->resumer_stack_size);
    (void)swapcontext(&self->context, &self->resumer);
    AFTER_SWITCH(self->asan_own, &self->resumer_stack, &self->resumer_stack_size);
}

/* The first frame of every fiber. It learns which fiber it is from `fibers.current`, because
 * makecontext passes only ints. It never returns: the last switch leaves for good. */
static void fiber_main(void) {
    struct fiber *self = fibers.current;

    AFTER_SWITCH(NULL, &self->resumer_stack, &self->resumer_stack_size);
    self->fn(self->arg);
    self->is_finished = true;
    BEFORE_SWITCH(NULL, self->resumer_stack, self->resumer_stack_size); /* NULL: fake stack freed */
    (void)setcontext(&self->resumer);
}

/* Apart, because getcontext() may return twice for all that the compiler knows. */
static __attribute__((noinline)) void lay_out_context(struct fiber *fiber) {
    (void)getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = stack_bottom(fiber);
    fiber->context.uc_stack.ss_size = stack_bytes();
    fiber->context.uc_link = NULL;
    makecontext(&fiber->context, fiber_main, 0);
}

int fiber_start(fiber_fn fn, void *arg) {
    struct fiber *fiber = take_fiber();

    if (fiber == NULL)
        return UV_ENOMEM;
    fiber->fn = fn;
    fiber->arg = arg;
    fiber->is_finished = false;
    lay_out_context(fiber);
    fibers.alive++;
    resume(fiber);
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
        resume(waiter);
}

struct nap {
    uv_timer_t timer;
    struct fiber_event is_over;
};

static void on_nap_closed(uv_handle_t *timer) {
    struct nap *nap = timer->data;

    fiber_event_set(&nap->is_over);
}

static void on_nap_over(uv_timer_t *timer) {
    uv_close((uv_handle_t *)timer, on_nap_closed);
}

void fiber_sleep(uv_loop_t *loop, uint64_t ms) {
    struct nap nap = {.is_over = FIBER_EVENT_INIT};

    (void)uv_timer_init(loop, &nap.timer); /* cannot fail */
    nap.timer.data = &nap;
    uv_update_time(loop); /* a stale loop time would make the nap too short */
    (void)uv_timer_start(&nap.timer, on_nap_over, ms, 0);
    fiber_event_wait(&nap.is_over);
}
