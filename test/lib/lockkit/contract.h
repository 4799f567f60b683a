/* The contract of lockkit.h for every backend: the same cases run over each backend, as far as its
 * caps promise them. */
#ifndef LOCKKIT_TEST_CONTRACT_H
#define LOCKKIT_TEST_CONTRACT_H

#include "fixture.h"

/* The backend under test. */
struct contract {
    const char *name, *url;
    const char *far; /* the URL of a server that the tests may break; NULL: there is none */
    bool peeks; /* LK_TRY looks before it creates: the reply to its grant is not the first one */
    int crowd;  /* the number of clients in a crowd [200] */
};
extern const struct contract *contract;

int contract_set_up(void **state);
bool has(const struct fixture *fixture, enum lk_caps cap);
/* Wait until the lock is free. */
void assert_free(struct fixture *fixture, lk_lock *lock);

#define CONTRACT(test) cmocka_unit_test_setup_teardown(test, contract_set_up, fixture_close)

extern const struct CMUnitTest contract_basics[], contract_modes[], contract_moments[],
    contract_faults[];
extern const size_t contract_basics_count, contract_modes_count, contract_moments_count,
    contract_faults_count;

/* Run all cases on its servers. Returns the number of failures. */
int run_contract(const struct contract *on);
/* Run only the cases that break its server. */
int run_faults(const struct contract *on);

#endif
