/* Fills the options by hand. */
#include "options_fixture.h"

#include "test.h"

void options_fill(struct options *options, const char *strategies, const char *expect) {
    static char empty[] = "", poisson[] = "poisson", uniform[] = "uniform", none[] = "0",
                target[] = "http://127.0.0.1:8000", path[] = "/orders", text[] = "text",
                program[] = "scripts/loadgen";
    static const struct strategy_option no_options[] = {{NULL, NULL, false}};
    struct why why;

    *options = (struct options){.strategy = empty,
                                .rate = 800,
                                .duration_ns = 1000000000,
                                .requests = 800,
                                .stages = empty,
                                .arrival = poisson,
                                .seed = 1,
                                .repeat = 1,
                                .dup_rate = none,
                                .target = target,
                                .path = path,
                                .stock = 10,
                                .items = 1,
                                .skew = uniform,
                                .work = empty,
                                .wait = empty,
                                .ttl = empty,
                                .expect = empty,
                                .threshold = empty,
                                .fault = empty,
                                .name = empty,
                                .results = empty,
                                .output_format = text,
                                .output = empty,
                                .program = program,
                                .shape = {.count = 800, .seed = 1, .items = 1}};
    assert_int_equal(strategy_list_parse(strategies, no_options, &options->list, &why), 0);
    assert_int_equal(expect_parse(expect, &options->list, options->expectations, &why), 0);
}
