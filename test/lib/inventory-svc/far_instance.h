/* The instance of instance.h with a proxy before each of its servers, for one test. It has no
 * statement_timeout: the test decides how long a stuck statement stays stuck. */
#ifndef TEST_FAR_INSTANCE_H
#define TEST_FAR_INSTANCE_H

#include "instance.h"

#include "fault_proxy.h"

extern struct fault_proxy *to_postgres, *to_redis;

/* Run them before and after each test, instead of set_up() and tear_down(). */
int go_far(void **state);
int come_back(void **state);
#define FAR_TEST(name) cmocka_unit_test_setup_teardown(name, go_far, come_back)

#endif
