/* The contract of lockkit.h, held by every backend: the same cases run over each, as far as its
 * caps promise them. */
#ifndef LOCKKIT_TEST_CONTRACT_H
#define LOCKKIT_TEST_CONTRACT_H

#include "fixture.h"

/* What is under test. */
struct contract {
    const char *name, *url;
    const char *far; /* the server to fail, as the URL of a client; NULL: none is */
    bool peeks;      /* LK_TRY looks before it creates: the reply to its grant is not the first */
    int crowd;       /* how many contend at once [200] */
};
extern const struct contract *contract;

int contract_set_up(void **state);
bool has(const struct fixture *fixture, enum lk_caps cap);
/* The lock can be had. */
void assert_free(struct fixture *fixture, lk_lock *lock);

#define CONTRACT(test) cmocka_unit_test_setup_teardown(test, contract_set_up, fixture_close)

extern const struct CMUnitTest contract_basics[], contract_modes[], contract_moments[],
    contract_faults[];
extern const size_t contract_basics_count, contract_modes_count, contract_moments_count,
    contract_faults_count;

/* Run all cases on its servers. Returns how many failed. */
int run_contract(const struct contract *on);
/* Only those in which its server fails. */
int run_faults(const struct contract *on);

#endif
