/* A fixture on the backend under test. */
#include "contract.h"

const struct contract *contract;

int contract_set_up(void **state) {
    (void)fixture_open(state, sizeof(struct fixture), contract->url);
    return 0;
}

bool has(const struct fixture *fixture, enum lk_caps cap) {
    return (lk_client_caps(fixture->client) & cap) != 0;
}

void assert_free(struct fixture *fixture, lk_lock *lock) {
    (void)use_once(fixture, lock, 10000);
}

int run_faults(const struct contract *on) {
    contract = on;
    return _cmocka_run_group_tests(on->name, contract_faults, contract_faults_count, NULL, NULL);
}

int run_contract(const struct contract *on) {
    contract = on;
    return _cmocka_run_group_tests(on->name, contract_basics, contract_basics_count, NULL, NULL) +
           _cmocka_run_group_tests(on->name, contract_modes, contract_modes_count, NULL, NULL) +
           _cmocka_run_group_tests(on->name, contract_moments, contract_moments_count, NULL, NULL) +
           (on->far != NULL ? run_faults(on) : 0);
}
