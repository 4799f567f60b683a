/* serve finds results folders on every file system, and nothing else. */
#include "serve.h"
#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[32];
static bool is_untold; /* like file systems that do not tell the type of an entry */
static int (*given)(const struct dirent *entry);

static int choose(const struct dirent *entry) {
    struct dirent *changed = (struct dirent *)(uintptr_t)entry;

    changed->d_type = is_untold ? DT_UNKNOWN : entry->d_type;
    return given(entry);
}

/* Replaces the function of the C library. */
int scandirat(int at, const char *path, struct dirent ***found,
              int (*filter)(const struct dirent *),
              int (*order)(const struct dirent **, const struct dirent **)) {
    int (*library)(int, const char *, struct dirent ***, int (*)(const struct dirent *),
                   int (*)(const struct dirent **, const struct dirent **));

    *(void **)&library = dlsym(RTLD_NEXT, "scandirat");
    given = filter;
    return library(at, path, found, choose, order);
}

static void in_root(const char *commands) {
    char line[256];

    assert_true(snprintf(line, sizeof line, "cd %s && %s", root, commands) < (int)sizeof line);
    assert_int_equal(system(line), 0);
}

static int set_up(void **state) {
    snprintf(root, sizeof root, "/tmp/sale-serve-XXXXXX");
    assert_non_null(mkdtemp(root));
    in_root("mkdir 20261121T100102Z-old 20261122T100102Z-new run-1 .hidden 'a b' && touch file && "
            "ln -s run-1 latest");
    return 0;
}

static int tear_down(void **state) {
    is_untold = false;
    in_root("rm -r * .hidden");
    assert_int_equal(rmdir(root), 0);
    return 0;
}

static void assert_only_folders_are_listed(void) {
    static const char *const expected[] = {"20261122T100102Z-new", "20261121T100102Z-old", "run-1"};
    struct dirent **folders;
    size_t count;

    assert_int_equal(serve_list(root, &folders, &count), 0);
    assert_int_equal(count, 3);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(folders[i]->d_name, expected[i]);
    serve_list_free(folders, count);
}

static void test_folders_are_listed_the_newest_first(void **state) {
    assert_only_folders_are_listed();
}

static void test_only_folders_are_listed_where_entries_have_no_type(void **state) {
    is_untold = true;
    assert_only_folders_are_listed();
}

static void test_a_root_that_is_gone_is_told(void **state) {
    struct dirent **folders;
    size_t count;

    assert_int_equal(serve_list("/tmp/sale-serve-nowhere", &folders, &count), -ENOENT);
    serve_list_free(folders, count);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_folders_are_listed_the_newest_first),
        TEST(test_only_folders_are_listed_where_entries_have_no_type),
        TEST(test_a_root_that_is_gone_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
