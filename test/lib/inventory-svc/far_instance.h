/* The instance of instance.h with a proxy before each of its servers, for one test, and without a
 * statement_timeout: how long what is stuck stays so is for the test to say. */
#ifndef TEST_FAR_INSTANCE_H
#define TEST_FAR_INSTANCE_H

#include "instance.h"

#include "fault_proxy.h"

extern struct fault_proxy *to_postgres, *to_redis;

/* Before and after each test, in place of set_up() and tear_down(). */
int go_far(void **state);
int come_back(void **state);
#define FAR_TEST(name) cmocka_unit_test_setup_teardown(name, go_far, come_back)

#endif
