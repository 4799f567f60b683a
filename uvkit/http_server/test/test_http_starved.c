/* The HTTP server when libuv gets no more memory: it needs none beyond the first. */
#include "http_fixture.h"

#define PEERS 300

static bool is_starved;

static void *starved_malloc(size_t size) {
    return is_starved ? NULL : malloc(size);
}

static void *starved_calloc(size_t count, size_t size) {
    return is_starved ? NULL : calloc(count, size);
}

static void *starved_realloc(void *memory, size_t size) {
    return is_starved ? NULL : realloc(memory, size);
}

static int tear_down(void **state) {
    is_starved = false;
    http_fixture_close();
    return 0;
}

/* Each connection takes a descriptor that the loop has not seen before. */
static void test_connections_are_served_without_memory_for_libuv(void **state) {
    struct http_peer *peers = calloc(PEERS, sizeof *peers);

    assert_non_null(peers);
    is_starved = true;
    for (int i = 0; i < PEERS; i++) {
        http_peer_open(&peers[i], &http.loop, http.port);
        http_peer_ask(&peers[i], GET_HELLO, 200, "");
    }
    for (int i = 0; i < PEERS; i++)
        http_peer_close(&peers[i]);
    free(peers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_connections_are_served_without_memory_for_libuv,
                                        http_fixture_set_up, tear_down),
    };

    if (uv_replace_allocator(starved_malloc, starved_realloc, starved_calloc, free) != 0)
        return EXIT_FAILURE;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
