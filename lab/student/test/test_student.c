/* Tests which students' files are refused, with which message, and which are accepted. */
#include "machine.h"
#include "strategies.h"
#include "student.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HEAD "#include \"strategy.h\"\n"
#define TAIL                                                                                       \
    "\nconst struct strategy strategy_exercise = {.name = \"exercise\", .family = \"f\",\n"        \
    " .summary = \"s\", .promise = \"p\", .breaks = \"b\", .source = \"s\",\n"                     \
    " .default_shards = 1, .sell = sell};\n"
#define SELL(body) HEAD "static enum outcome sell(struct sale *sale) {\n" body "\n}\n" TAIL
#define RIGHT      SELL("return store_take_stock(sale, 0);")

static char folder[] = "/tmp/test-student-XXXXXX";
static char path[64];

static int make_folder(void **state) {
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/exercise.c", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)unlink(path);
    return rmdir(folder);
}

static void write_file(const char *text, size_t size) {
    FILE *to = fopen(path, "w");

    assert_non_null(to);
    assert_int_equal(fwrite(text, 1, size, to), size);
    assert_int_equal(fclose(to), 0);
}

static void assert_built(enum student_end wanted, const char *says) {
    struct student_file file;
    const enum student_end end = student_build(path, "exercise.c", &file);
    char was[sizeof file.folder];

    strcpy(was, file.folder);
    if (end != wanted || strstr(file.message, says) == NULL)
        fail_msg("it ended with %d: \"%s\", not with %d: \"%s\"", end, file.message, wanted, says);
    student_remove(&file);
    assert_int_not_equal(was[0] != '\0' ? access(was, F_OK) : -1, 0);
}

static const struct {
    const char *source, *says;
} refused[] = {
    {SELL("static int n; return store_take_stock(sale, n++);"), "a variable that sales share"},
    {HEAD "#include <stdlib.h>\n" TAIL, "exercise.c:2: #include <stdlib.h>"},
    {"#include \"../store/store_live.h\"\n", "exercise.c:1: #include"},
    {"#  include\t<unistd.h>\n", "exercise.c:1: #include <unistd.h>"},
    {"/* */ #include <unistd.h>\n", "exercise.c:1: #include <unistd.h>"},
    {"#define H <unistd.h>\n#include H\n", "exercise.c:2: #include H"},
    {"%:include <unistd.h>\n", "write # instead of %:"},
    {"#inc\\\nlude <unistd.h>\n", "exercise.c:1: #inc"},
    {"#include \\\n<unistd.h>\n", "exercise.c:1: #include"},
    {"#\\ \n include <unistd.h>\n", "exercise.c:1: #include <unistd.h>"},
    {"int x;\\\n\n\\\n#include <unistd.h>\n", "exercise.c:3: #include <unistd.h>"},
    {"/\\\n* \" */ #include \"/dev/zero\" /* \" */\n" RIGHT,
     "exercise.c:1: #include \"/dev/zero\""},
    {"\f#include <unistd.h>\n" RIGHT, "without form feeds"},
    {"\v#include <unistd.h>\n" RIGHT, "without form feeds"},
    {"int f(void);\r#include <unistd.h>\n" RIGHT, "lone carriage returns"},
    {"static const char *const a = R\"(\" /*)\";\n#include <unistd.h>\n//*/\n" RIGHT,
     "without R\""},
    {"#define P(a, b) a##b\n" SELL("P(__as, m__)(\"nop\"); return OUTCOME_BUSY;"),
     "exercise.c:1: ## has no place"},
    {SELL("__as\\\nm__(\"nop\"); return OUTCOME_BUSY;"), "exercise.c:3: __asm__"},
    {"#if __has_include(</etc/passwd>)\n#endif\n" RIGHT, "exercise.c:1: __has_include"},
    {SELL("return __TIME__[7] % 2 ? OUTCOME_BUSY : OUTCOME_FAILED;"), "exercise.c:3: __TIME__"},
    {HEAD "const char large[1 << 26] = {1};\n" RIGHT, "the compiler could not finish it"},
    {"#pragma GCC poison x\n", "#pragma has no place"},
    {"#include_next <stdio.h>\n", "#include_next"},
    {SELL("__asm__(\"syscall\"); return OUTCOME_BUSY;"), "exercise.c:3: __asm__"},
    {HEAD "[[gnu::section(\".data.rel.rox\")]] static int n;\n" SELL(
         "return store_take_stock(sale, n++);"),
     "exercise.c:2: an attribute has no place"},
    {HEAD "<:<:gnu::constructor:>:> static void f(void) {}\n" RIGHT, "exercise.c:2: an attribute"},
    {HEAD "[ /* */ [gnu::constructor]] static void f(void) {}\n" RIGHT,
     "exercise.c:2: an attribute"},
    {HEAD "#define OPEN [\nOPEN\nOPEN gnu::constructor]] static void f(void) {}\n" RIGHT,
     "exercise.c:4: an attribute"},
    {HEAD "#define NO\n[NO[gnu::constructor]] static void f(void) {}\n" RIGHT,
     "exercise.c:3: an attribute"},
    {HEAD "#define B(x) [x]\nB([gnu::constructor]) static void f(void) {}\n" RIGHT,
     "exercise.c:3: an attribute"},
    {HEAD
     "[[gnu::section(\".rodata\\n\\t.incbin \\\"/etc/hostname\\\"\\n#\")]] const char spy = 1;\n" RIGHT,
     "exercise.c:2: an attribute"},
    {HEAD "__attribute__((constructor)) static void f(void) {}\n", "exercise.c:2: __attribute__"},
    {HEAD
     "enum outcome store_take_stock(struct sale *sale, int shard) { return OUTCOME_SOLD; }\n" RIGHT,
     "exercise.c:2: store_take_stock: the store or the C library has a function of this name"},
    {HEAD "void _init(void) {}\n" RIGHT, "exercise.c:2: _init"},
    {HEAD "static int sales;\n" SELL("sales++; return store_take_stock(sale, sales);"),
     "exercise.c:2: sales: a variable that sales share"},
    {HEAD "int sales;\n" RIGHT, "exercise.c:2: sales"},
    {SELL("static _Thread_local int n; return store_take_stock(sale, n++);"), "exercise.c:3: "},
    {SELL("extern int system(const char *); system(\"id\"); return OUTCOME_BUSY;"),
     "exercise.c:3: system: a strategy may not call this"},
    {SELL("extern long syscall(long); return (enum outcome)syscall(39);"), "exercise.c:3: syscall"},
    {SELL("extern int live_sale_confirm(void); return (enum outcome)live_sale_confirm();"),
     "live_sale_confirm"},
    {SELL("return store_read(sale);"), "exercise.c:3"},
    {SELL("return sale->nothing;"), "nothing"},
    {HEAD "int x;\n#if 0\n" RIGHT "#endif\n", "x: a variable"},
    {HEAD, "strategy_exercise"},
};

static void test_a_file_that_goes_beyond_the_seam_is_refused_with_its_line(void **state) {
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        write_file(refused[i].source, strlen(refused[i].source));
        assert_built(STUDENT_REFUSED, refused[i].says);
    }
}

static const char *const accepted[] = {
    RIGHT,
    "\xef\xbb\xbf" RIGHT,
    "/* asm? ?"
    "?/ __attribute__ #include <stdlib.h>\n*/\n// #include <unistd.h>\n" RIGHT,
    "#include <stdio.h>\r\n" SELL(
        "char t[9]; (void)snprintf(t, sizeof t, \"asm %s\", \"#x\"); return "
        "store_take_stock(sale, t[0] == 'a' ? 0 : 1);"),
    "static const int table[] = {0, 1};\n" SELL("return store_take_stock(sale, table[0]);"),
    "static const char *const texts[] = {\"/*\", \"//\"};\n" SELL(
        "return texts[0][0] == '\"' ? OUTCOME_BUSY : store_take_stock(sale, 0);"),
    "#define TWO \\\n    2\n" RIGHT,
    "#define FIRST(x) (x)[0]\nstatic const int t[2][2] = {[0] = {1}, [1] = {[0] = 1}};\n" SELL(
        "return t[t[0][0]][FIRST(t[0]) - 1] ? store_take_stock(sale, 0) : OUTCOME_BUSY;"),
    "#include \\\n<stddef.h>\n// a line \\ \n that goes on\n" RIGHT,
    "/* R\"x\" */\n#define TEXT(x) #x \" R\"\n" SELL(
        "return TEXT(R)[0] == 'R' ? store_take_stock(sale, 0) : "
        "OUTCOME_BUSY;"),
};

static void test_a_file_that_keeps_to_the_seam_is_accepted(void **state) {
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        write_file(accepted[i], strlen(accepted[i]));
        assert_built(STUDENT_OK, "");
    }
}

static void test_a_path_without_a_text_is_refused(void **state) {
    static char large[STUDENT_SOURCE + 1];

    memset(large, '\n', sizeof large);
    write_file(large, sizeof large);
    assert_built(STUDENT_REFUSED, "more than 65536 bytes");
    write_file("int x;\0int y;", 13);
    assert_built(STUDENT_REFUSED, "not a text");
    (void)unlink(path);
    assert_built(STUDENT_REFUSED, "No such file");
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_built(STUDENT_REFUSED, "it is a link");
    (void)unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_built(STUDENT_REFUSED, "not a file");
    (void)unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_built(STUDENT_REFUSED, "not a file");
    assert_int_equal(rmdir(path), 0);
}

/* Builds each shipped strategy that has steps of its own like a student's file. */
static void test_the_shipped_strategies_are_accepted(void **state) {
    char command[400];
    int count = 0;

    for (size_t i = 0; strategies[i] != NULL; i++) {
        char name[40];

        if (strategies[i]->sell == NULL)
            continue;
        count++;
        (void)snprintf(name, sizeof name, "strategy_%s = {", strategies[i]->name);
        for (char *at = name; (at = strchr(at, '-')) != NULL;)
            *at = '_';
        (void)snprintf(command, sizeof command,
                       "sed 's/%s/strategy_exercise = {/' $(grep -l '%s' strategies/*/*.c) >%s",
                       name, name, path);
        assert_int_equal(system(command), 0);
        assert_built(STUDENT_OK, "");
    }
    assert_true(count > 20);
}

static void test_a_compiler_that_is_missing_is_no_fault_of_the_student(void **state) {
    write_file(RIGHT, strlen(RIGHT));
    assert_int_equal(setenv("CC", "no-such-compiler", 1), 0);
    assert_built(STUDENT_BROKEN, "could not be run");
    assert_int_equal(unsetenv("CC"), 0);
}

/* A compiler that says `text` and ends with 1. */
static void make_compiler(const char *compiler, const char *text) {
    FILE *to = fopen(compiler, "w");

    assert_non_null(to);
    fprintf(to, "#!/bin/sh\n%s\nexit 1\n", text);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(chmod(compiler, 0700), 0);
}

static void test_a_compiler_that_fails_is_no_fault_of_the_student(void **state) {
    static const char *const machine[] = {
        "echo 'exercise.c:1:10: fatal error: strategy.h: No such file or directory'",
        "echo 'exercise.c:9:1: fatal error: error writing to /tmp/cc.s: No space left on device'",
        "echo '/tmp/cc.s: Fatal error: exercise.o: No space left on device'",
        "echo \"gcc: fatal error: cannot execute 'cc1': vfork: Resource temporarily unavailable\"",
        "echo 'cc1: out of memory allocating 65536 bytes after a total of 1 bytes'",
        "echo 'gcc: fatal error: Killed signal terminated program cc1'",
        "kill -9 $$",
        ":",
    };
    char compiler[80];

    (void)snprintf(compiler, sizeof compiler, "%s/cc", folder);
    write_file(RIGHT, strlen(RIGHT));
    assert_int_equal(setenv("CC", compiler, 1), 0);
    for (size_t i = 0; i < sizeof machine / sizeof *machine; i++) {
        make_compiler(compiler, machine[i]);
        assert_built(STUDENT_BROKEN, "not because of this file");
    }
    make_compiler(compiler,
                  "head -c 9000 /dev/zero | tr '\\0' x; echo; echo 'exercise.c:1:1: error: no'");
    assert_built(STUDENT_REFUSED, "xxx");
    make_compiler(compiler, "touch exercise.i; exit 0");
    assert_built(STUDENT_BROKEN, "the expanded file");
    assert_int_equal(unsetenv("CC"), 0);
    assert_int_equal(unlink(compiler), 0);
}

static void test_a_compiler_that_stands_still_is_ended(void **state) {
    const int64_t before_ms = machine_wall_ms;
    char compiler[80];

    (void)snprintf(compiler, sizeof compiler, "%s/cc", folder);
    write_file(RIGHT, strlen(RIGHT));
    make_compiler(compiler, "exec sleep 1000");
    assert_int_equal(setenv("CC", compiler, 1), 0);
    machine_wall_ms = 50;
    assert_built(STUDENT_BROKEN, "it did not end within");
    machine_wall_ms = before_ms;
    assert_int_equal(unsetenv("CC"), 0);
    assert_int_equal(unlink(compiler), 0);
}

/* A folder of temporary files in our folder, with one file, last changed `age_s` ago. */
static void leave_folder(char left[80], const char *name, time_t age_s) {
    const struct timespec then[2] = {{.tv_sec = time(NULL) - age_s},
                                     {.tv_sec = time(NULL) - age_s}};
    char file[100];
    FILE *to;

    (void)snprintf(left, 80, "%s/%s", folder, name);
    assert_int_equal(mkdir(left, 0700), 0);
    (void)snprintf(file, sizeof file, "%s/exercise.c", left);
    to = fopen(file, "w");
    assert_non_null(to);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(utimensat(AT_FDCWD, left, then, 0), 0);
}

static void remove_left(const char *left) {
    char file[100];

    (void)snprintf(file, sizeof file, "%s/exercise.c", left);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(left), 0);
}

static void test_folders_of_killed_processes_are_removed(void **state) {
    char dead[80], alive[80], young[80], other[80];
    int lock;

    leave_folder(dead, "lab-dead00", 7200);
    leave_folder(alive, "lab-alive0", 7200);
    leave_folder(young, "lab-young0", 60);
    leave_folder(other, "lab-of-others", 7200);
    lock = open(alive, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    write_file(RIGHT, strlen(RIGHT));
    assert_built(STUDENT_OK, "");
    assert_int_equal(unsetenv("TMPDIR"), 0);
    assert_int_not_equal(access(dead, F_OK), 0);
    remove_left(alive);
    remove_left(young);
    remove_left(other);
    assert_int_equal(close(lock), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_that_goes_beyond_the_seam_is_refused_with_its_line),
        cmocka_unit_test(test_a_file_that_keeps_to_the_seam_is_accepted),
        cmocka_unit_test(test_a_path_without_a_text_is_refused),
        cmocka_unit_test(test_the_shipped_strategies_are_accepted),
        cmocka_unit_test(test_a_compiler_that_is_missing_is_no_fault_of_the_student),
        cmocka_unit_test(test_a_compiler_that_fails_is_no_fault_of_the_student),
        cmocka_unit_test(test_a_compiler_that_stands_still_is_ended),
        cmocka_unit_test(test_folders_of_killed_processes_are_removed),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
