/* The JSON of a run is read back; any other file is refused. */
#include "replay.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct why why;

static int read_text(const char *text, struct replay *replay) {
    char path[] = "/tmp/test-replay-XXXXXX";
    const int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    int code;

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    code = replay_read(path, replay, &why);
    (void)unlink(path);
    return code;
}

#define NUMBERS "\"ttl_ms\":2000,\"slack_ms\":500,\"workers\":3,\"trials\":2,\"seed\":7"

static void test_a_run_is_read_back(void **state) {
    struct replay replay;

    assert_int_equal(read_text("{\"command\":[\"sh\",\"{url}\"]," NUMBERS
                               ",\"rows\":[{\"fault\":\"none\"},{\"fault\":\"stop-held\"}]}",
                               &replay),
                     0);
    assert_string_equal(replay.command[0], "sh");
    assert_string_equal(replay.command[1], "{url}");
    assert_null(replay.command[2]);
    assert_string_equal(replay.faults, "none,stop-held");
    assert_int_equal(replay.ttl_ms, 2000);
    assert_int_equal(replay.slack_ms, 500);
    assert_int_equal(replay.workers, 3);
    assert_int_equal(replay.trials, 2);
    assert_int_equal(replay.seed, 7);
    replay_free(&replay);
}

static void test_another_file_is_refused(void **state) {
    static const char *const texts[] = {
        "{}",
        "[]",
        "{\"command\":[]," NUMBERS ",\"rows\":[{\"fault\":\"none\"}]}",
        "{\"command\":[5]," NUMBERS ",\"rows\":[{\"fault\":\"none\"}]}",
        "{\"command\":[\"sh\"]," NUMBERS ",\"rows\":[]}",
        "{\"command\":[\"sh\"]," NUMBERS ",\"rows\":[{}]}",
        "{\"command\":[\"sh\"],\"ttl_ms\":-1,\"rows\":[{\"fault\":\"none\"}]}",
    };
    struct replay replay;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(read_text(texts[i], &replay), -1);
        assert_non_null(strstr(why.text, "is not the JSON of a run"));
    }
    assert_int_equal(read_text("no JSON", &replay), -1);
    assert_int_equal(replay_read("/no/such/file", &replay, &why), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_is_read_back),
        cmocka_unit_test(test_another_file_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
