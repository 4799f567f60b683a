/* A pupil sees its own paper alone. */
#include "pupil.h"

#include "student.h"
#include "test.h"

#include <stdio.h>
#include <unistd.h>

/* It calls nothing, so it loads without the seam. */
static const char source[] =
    "#include \"strategy.h\"\n"
    "static enum outcome sell(struct sale *sale) { (void)sale; return OUTCOME_SOLD; }\n"
    "const struct strategy strategy_exercise = {.name = \"exercise\", .family = \"f\", .summary = "
    "\"s\", .promise = \"p\", .breaks = \"b\", .source = \"s\", .default_shards = 1, .sell = "
    "sell};\n";

static const volatile bool never;

/* The mappings that a process shares with others; -1 if this user may not see them. */
static int shared_by(pid_t process) {
    char path[64], line[512], modes[8];
    int count = 0;
    FILE *from;

    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)process);
    from = fopen(path, "r");
    if (from == NULL)
        return -1;
    while (fgets(line, sizeof line, from) != NULL)
        if (sscanf(line, "%*s %7s", modes) == 1 && modes[3] == 's')
            count++;
    (void)fclose(from);
    return count;
}

static void test_a_second_pupil_does_not_see_the_paper_of_the_first(void **state) {
    char path[] = "/tmp/pupil-XXXXXX.c";
    const int fd = mkstemps(path, 2);
    struct student_file file;
    struct pupil_hello hello;
    struct pupil first, second;
    struct why why;
    int by_first, by_second;

    assert_int_equal(write(fd, source, sizeof source - 1), sizeof source - 1);
    (void)close(fd);
    assert_int_equal(student_build(path, "01.c", &file), STUDENT_OK);
    (void)unlink(path);
    assert_int_equal(pupil_start(&first, file.object, 0, &never, &hello, &why), PUPIL_OK);
    assert_int_equal(pupil_start(&second, file.object, 1, &never, &hello, &why), PUPIL_OK);
    assert_int_equal(hello.loaded, STUDENT_OK);
    by_first = shared_by(first.process);
    by_second = shared_by(second.process);
    pupil_stop(&first);
    pupil_stop(&second);
    student_remove(&file);
    if (by_first < 0)
        skip();
    assert_int_equal(by_second, by_first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_second_pupil_does_not_see_the_paper_of_the_first)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
