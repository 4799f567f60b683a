/* The spool: what goes in comes out, however slow the disk; and a disk that fails is told. */
#include "spool.h"

#include "fault.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static struct spool *spool;
static const void *bytes;

static int tear_down(void **state) {
    (void)state;
    spool_close(spool);
    spool = NULL;
    return 0;
}

/* 24 bytes a number: a block's size is no multiple of that. */
static int write_numbers(size_t count) {
    for (uint64_t i = 0; i < count; i++) {
        uint64_t three[3] = {i, ~i, i * 3};

        spool_write(spool, three, sizeof three);
    }
    return spool_seal(spool, &bytes);
}

static void assert_numbers(size_t count) {
    const uint64_t *numbers = bytes;

    assert_non_null(bytes);
    for (uint64_t i = 0; i < count; i++) {
        assert_int_equal(numbers[3 * i], i);
        assert_int_equal(numbers[3 * i + 1], ~i);
        assert_int_equal(numbers[3 * i + 2], i * 3);
    }
}

/* None is full; some are full; and more than the ring holds, faster than a disk. */
static void test_what_goes_in_comes_out(void **state) {
    static const size_t counts[] = {10, 200000, 3 * SPOOL_BLOCKS * SPOOL_BLOCK_BYTES / 24};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(spool_open(&spool, i == 0 ? "/tmp" : NULL), 0);
        assert_int_equal(write_numbers(counts[i]), 0);
        assert_numbers(counts[i]);
        spool_close(spool);
        spool = NULL;
    }
}

/* On one CPU, and only when nobody else wants it: then the thread writes next to nothing. */
static void open_slow_spool(void) {
    static const struct sched_param none = {.sched_priority = 0};
    cpu_set_t all, one;
    size_t cpu = 0;

    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(sched_setscheduler(0, SCHED_IDLE, &none), 0);
    assert_int_equal(spool_open(&spool, NULL), 0);
    (void)sched_setscheduler(0, SCHED_OTHER, &none); /* not permitted: then both are slow */
}

static void test_a_slow_disk_loses_nothing(void **state) {
    const size_t count = 3 * SPOOL_BLOCKS * SPOOL_BLOCK_BYTES / 24;
    cpu_set_t before;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    open_slow_spool();
    assert_int_equal(write_numbers(count), 0);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_numbers(count);
}

static void test_one_write_may_be_larger_than_the_ring(void **state) {
    const size_t length = (SPOOL_BLOCKS + 4) * SPOOL_BLOCK_BYTES + 5;
    char *all = malloc(length);

    (void)state;
    assert_non_null(all);
    for (size_t i = 0; i < length; i++)
        all[i] = (char)(i * 31 >> 5);
    assert_int_equal(spool_open(&spool, NULL), 0);
    spool_write(spool, all, length);
    assert_int_equal(spool_seal(spool, &bytes), 0);
    assert_memory_equal(bytes, all, length);
    free(all);
}

static void test_nothing_is_sealed(void **state) {
    (void)state;
    assert_int_equal(spool_open(&spool, NULL), 0);
    assert_int_equal(write_numbers(0), 0);
    assert_null(bytes);
}

static void test_a_place_that_is_not_there_is_told(void **state) {
    char name[5000];

    (void)state;
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_int_equal(spool_open(&spool, "/nowhere/at/all"), -ENOENT);
    assert_int_equal(spool_open(&spool, "/dev/null"), -ENOTDIR);
    assert_int_equal(spool_open(&spool, name), -ENAMETOOLONG);
}

/* Nothing is left to clear away after a crash: the directory is empty while the file is written. */
static void test_the_file_has_no_name(void **state) {
    char directory[] = "/tmp/test_spool-XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(directory));
    assert_int_equal(spool_open(&spool, directory), 0);
    assert_int_equal(rmdir(directory), 0);
    assert_int_equal(write_numbers(100000), 0);
    assert_numbers(100000);
}

static void test_the_environment_names_the_place(void **state) {
    (void)state;
    assert_int_equal(setenv("TMPDIR", "/nowhere/at/all", 1), 0);
    assert_int_equal(spool_open(&spool, NULL), -ENOENT);
    assert_int_equal(setenv("TMPDIR", "", 1), 0);
    assert_int_equal(spool_open(&spool, NULL), 0);
    assert_int_equal(unsetenv("TMPDIR"), 0);
}

/* A file may grow to 3.5 MB: a write is cut short, and the rest of it fails. */
static void test_a_full_disk_is_told(void **state) {
    struct rlimit before, small;
    int rc;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 7 * SPOOL_BLOCK_BYTES / 2;
    assert_int_equal(spool_open(&spool, NULL), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    rc = write_numbers(1000000);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(rc, -EFBIG);
    assert_null(bytes);
}

static void test_it_may_be_closed_while_it_writes(void **state) {
    static const char zeros[3 * SPOOL_BLOCK_BYTES];

    (void)state;
    assert_int_equal(spool_open(&spool, NULL), 0);
    spool_write(spool, zeros, sizeof zeros);
}

static void write_some(void *arg) {
    (void)arg;
    if (spool_open(&spool, NULL) != 0)
        return;
    assert_int_equal(write_numbers(150000), 0); /* needs more than one block */
    assert_numbers(150000);
    spool_close(spool);
    spool = NULL;
}

/* Without memory for a second block, the first is written at once. */
static void test_without_memory_nothing_is_lost(void **state) {
    (void)state;
    fault_each_allocation(write_some, NULL);
}

#define SPOOLED(test) cmocka_unit_test_teardown(test, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        SPOOLED(test_what_goes_in_comes_out),
        SPOOLED(test_a_slow_disk_loses_nothing),
        SPOOLED(test_one_write_may_be_larger_than_the_ring),
        SPOOLED(test_nothing_is_sealed),
        SPOOLED(test_a_place_that_is_not_there_is_told),
        SPOOLED(test_the_file_has_no_name),
        SPOOLED(test_the_environment_names_the_place),
        SPOOLED(test_a_full_disk_is_told),
        SPOOLED(test_it_may_be_closed_while_it_writes),
        SPOOLED(test_without_memory_nothing_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
