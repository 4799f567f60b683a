/* Names with several addresses, from a scripted resolver. */
#include "instances.h"
#include "order_fixture.h"

#include <arpa/inet.h>
#include <netdb.h>

#define EVERY_MS 5

/* The addresses of the name. Without any, it cannot be looked up. */
static struct {
    const char *addresses[3];
    int count, look_ups;
} resolver;

/* Replaces the C library's function. libuv calls it in a thread of its own. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **found) {
    struct addrinfo **end = found;

    *found = NULL;
    __atomic_fetch_add(&resolver.look_ups, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < resolver.count; i++) {
        struct addrinfo *each = calloc(1, sizeof *each + sizeof(struct sockaddr_in6));
        struct sockaddr_in *v4 = (struct sockaddr_in *)(each + 1);
        const bool is_v6 = uv_ip4_addr(resolver.addresses[i], 0, v4) != 0;

        if (is_v6)
            assert_int_equal(
                uv_ip6_addr(resolver.addresses[i], 0, (struct sockaddr_in6 *)(each + 1)), 0);
        each->ai_addr = (struct sockaddr *)v4;
        each->ai_family = is_v6 ? AF_INET6 : AF_INET;
        each->ai_addrlen = is_v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
        *end = each;
        end = &each->ai_next;
    }
    return resolver.count > 0 ? 0 : EAI_AGAIN;
}

void freeaddrinfo(struct addrinfo *addresses) {
    while (addresses != NULL) {
        struct addrinfo *next = addresses->ai_next;

        free(addresses);
        addresses = next;
    }
}

static struct instances instances;

static void start(const char *urls) {
    catch_log();
    assert_int_equal(open_inventory_at(urls, ""), 0);
    assert_int_equal(instances_start(&instances, &fixture.loop, fixture.inventory, urls, EVERY_MS),
                     0);
}

static void stop(void) {
    unsigned open = ++fixture.open;

    instances_stop(&instances, on_something_closed, NULL);
    WAIT_FOR(&fixture.loop, fixture.open < open);
    close_inventory();
}

/* The look-up under way ends with the old addresses, the next one with these. Then one more begins.
 */
static void become(const char *first, const char *second) {
    int look_ups;

    WAIT_FOR(&fixture.loop, !instances.is_looking);
    resolver.addresses[0] = first;
    resolver.addresses[1] = second;
    resolver.count = (first != NULL) + (second != NULL);
    look_ups = resolver.look_ups;
    WAIT_FOR(&fixture.loop, resolver.look_ups > look_ups && !instances.is_looking);
}

static void test_a_name_is_an_instance_at_each_of_its_addresses(void **state) {
    start("http://shop:81,http://127.0.0.9:82");
    become("127.0.0.2", "127.0.0.3");
    assert_int_equal(said("inventory instance is new"), 2);
    assert_int_equal(said("url=http://127.0.0.2:81"), 1);
    assert_int_equal(said("url=http://127.0.0.3:81"), 1);
    assert_int_equal(said("inventory instance is gone"), 1);
    assert_int_equal(said("url=http://shop:81"), 1);
    become("127.0.0.4", "127.0.0.3");
    assert_int_equal(said("inventory instance is new"), 3);
    assert_int_equal(said("inventory instance is gone"), 2);
    stop();
}

static void test_what_was_found_last_outlasts_a_resolver_that_fails(void **state) {
    start("http://shop:81");
    become("127.0.0.2", "127.0.0.3");
    become(NULL, NULL);
    assert_int_equal(said("inventory instance is gone"), 1); /* the name itself */
    stop();
}

static void test_a_name_with_one_address_of_each_family_stays_a_name(void **state) {
    start("http://shop:81");
    become("::1", "127.0.0.1");
    assert_int_equal(said("inventory instance is"), 0);
    become("::1", "::2");
    assert_int_equal(said("url=http://[::1]:81"), 1);
    become("127.0.0.1", NULL);
    assert_int_equal(said("inventory instance is gone"), 3);
    stop();
}

static void test_without_a_name_nothing_is_looked_up(void **state) {
    int look_ups = resolver.look_ups;

    start("http://127.0.0.1:81,http://[::1]:82");
    for (int i = 0; i < 10; i++)
        (void)uv_run(&fixture.loop, UV_RUN_ONCE);
    stop();
    assert_int_equal(resolver.look_ups, look_ups);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        PEERS_TEST(test_a_name_is_an_instance_at_each_of_its_addresses),
        PEERS_TEST(test_what_was_found_last_outlasts_a_resolver_that_fails),
        PEERS_TEST(test_a_name_with_one_address_of_each_family_stays_a_name),
        PEERS_TEST(test_without_a_name_nothing_is_looked_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
