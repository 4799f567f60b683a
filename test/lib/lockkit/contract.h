/* What the contract's tests share: they run once over each backend. */
#ifndef LOCKKIT_TEST_CONTRACT_H
#define LOCKKIT_TEST_CONTRACT_H

#include "fixture.h"

extern const char *url; /* of the backend under test */

int contract_set_up(void **state);
int contract_tear_down(void **state);
bool has(const struct fixture *fixture, enum lk_caps cap);
/* The lock can be had. */
void assert_free(struct fixture *fixture, lk_lock *lock);
void turn(struct fixture *fixture, int times); /* of the loop */

#define CONTRACT(test) cmocka_unit_test_setup_teardown(test, contract_set_up, contract_tear_down)

/* Run `count` tests over every backend, named in the output. Returns how many failed. */
int run_contract(const struct CMUnitTest *tests, size_t count);

#endif
