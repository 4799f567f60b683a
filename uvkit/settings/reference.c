/* Markdown, in GitHub's form, and mdoc(7) are a struct style each. */
#include "reference.h"

#include "complain.h"
#include "settings_internal.h"
#include "version.h"

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#define EXIT_CODES "Exit codes:"

struct style {
    const char *name;
    const char *paragraph, *literal, *literal_end;
    void (*text)(const char *text, size_t length);
    void (*print)(const struct reference *it);
};

/* ---- the table, read */

static bool is_shown(const struct setting *setting, bool is_secret) {
    return setting->help != NULL && (setting->type == SETTING_SECRET) == is_secret;
}

/* The program itself shows this setting, so the command only names it. */
static bool is_told_above(const struct reference *it, const struct reference_command *command,
                          const struct setting *setting) {
    const struct setting *at = command != it->commands ? it->commands->table : NULL;

    while (at != NULL && at->name != NULL && strcmp(at->name, setting->name) != 0)
        at++;
    return at != NULL && at->name != NULL && at->help != NULL;
}

/* The usage line without the command's word: `rest` may begin with it. */
static const char *arguments_of(const struct reference_command *command) {
    const char *rest = command->program->rest != NULL ? command->program->rest : "";
    const size_t length = strlen(command->word);

    return length > 0 && strncmp(rest, command->word, length) == 0
               ? rest + length + strspn(rest + length, " ")
               : rest;
}

/* `about` begins with the name of the program or the command, and a colon. */
static const char *purpose_of(const struct reference_command *command) {
    const char *about = command->program->about, *colon = strstr(about, ": ");

    return colon != NULL ? colon + 2 : about;
}

/* The first sentence, up to one of `ends`, on one line. */
static void print_purpose(const struct reference_command *command, const char *ends) {
    const char *at = purpose_of(command);

    for (; *at != '\0' && strncmp(at, "\n\n", 2) != 0; at++) {
        if (strchr(ends, *at) != NULL && (at[1] == ' ' || at[1] == '\n' || at[1] == '\0'))
            break;
        (void)putchar(*at == '\n' ? ' ' : *at);
    }
    (void)putchar('\n');
}

static void print_about(const struct style *style, const char *text) {
    bool is_literal = false, is_new = false;

    for (;;) {
        const size_t length = strcspn(text, "\n");

        if (is_literal != (text[0] == ' ')) {
            (void)fputs(is_literal ? style->literal_end : style->literal, stdout);
            is_literal = !is_literal;
            is_new = false;
        }
        if (length == 0) {
            is_new = true;
        } else {
            if (is_new || strncmp(text, EXIT_CODES, strlen(EXIT_CODES)) == 0)
                (void)fputs(style->paragraph, stdout);
            is_new = false;
            if (is_literal && style->literal[0] != '.')
                (void)printf("%.*s", (int)length, text);
            else
                style->text(text, length);
            (void)putchar('\n');
        }
        if (text[length] == '\0')
            break;
        text += length + 1;
    }
    if (is_literal)
        (void)fputs(style->literal_end, stdout);
}

/* ---- markdown */

/* In a table's cell: only backticks keep their meaning. */
static void print_markdown(const char *text, size_t length) {
    bool is_code = false;

    for (const char *at = text; at < text + length; at++) {
        is_code = is_code != (*at == '`');
        if (*at == '<' && !is_code)
            (void)fputs("&lt;", stdout);
        else
            (void)printf(*at == '|' || (*at == '*' && !is_code) ? "\\%c" : "%c", *at);
    }
}

static void print_row(const struct setting *setting, const char *prefix) {
    const char *placeholder = settings_placeholder(setting), *range = setting->range;
    const char *shown = settings_default(setting);
    char variable[SETTINGS_VARIABLE_BYTES];

    settings_variable(setting, prefix, variable);
    if (setting->type == SETTING_SECRET)
        (void)printf("| `%s` | | ", variable);
    else if (setting->letter != 0)
        (void)printf("| `-%c`, `--%s`%s | ", setting->letter, setting->name, placeholder);
    else
        (void)printf("| `--%s`%s | ", setting->name, placeholder);
    if (setting->type != SETTING_SECRET)
        (void)printf(strcmp(shown, "empty") == 0 ? "| " : "`%s` | ", shown);
    print_markdown(setting->help, strlen(setting->help));
    (void)printf(range != NULL ? " (%s) |\n" : " |\n", range);
}

static void print_rows(const struct reference *it, const struct reference_command *command) {
    bool is_begun = false, is_named = false;

    for (const struct setting *at = command->table; at != NULL && at->name != NULL; at++) {
        if (at->help == NULL || is_told_above(it, command, at))
            continue;
        if (!is_begun)
            (void)fputs("\n| setting | default | meaning |\n|---|---|---|\n", stdout);
        is_begun = true;
        print_row(at, command->program->prefix);
    }
    for (const struct setting *at = command->table; at != NULL && at->name != NULL; at++)
        if (is_shown(at, false) && is_told_above(it, command, at)) {
            if (!is_named)
                (void)printf("\nIt also takes these settings of %s: ", it->name);
            (void)printf(is_named ? ", `--%s`" : "`--%s`", at->name);
            is_named = true;
        }
    if (is_named)
        (void)puts(".");
}

static const struct style markdown_style;

static void print_document(const struct reference *it) {
    for (const struct reference_command *at = it->commands; at < it->commands + it->count; at++) {
        const char *arguments = arguments_of(at);

        (void)printf(at == it->commands ? "### %s\n\n" : "\n#### %s %s\n\n", it->name, at->word);
        print_about(&markdown_style, at->program->about);
        if (at->table != NULL)
            (void)printf("\n    %s%s%s [settings]%s%s\n", it->name, at->word[0] != '\0' ? " " : "",
                         at->word, arguments[0] != '\0' ? " " : "", arguments);
        print_rows(it, at);
    }
}

/* ---- the man page */

/* mdoc wants each sentence on a line of its own. Lines of a literal block begin with a space. */
static void print_mdoc(const char *text, size_t length) {
    if (length > 0 && (text[0] == '.' || text[0] == '\''))
        (void)fputs("\\&", stdout);
    for (const char *at = text; at < text + length; at++)
        if (*at == ' ' && at > text && at[-1] == '.' && text[0] != ' ')
            (void)putchar('\n');
        else
            (void)fputs(*at == '\\' ? "\\e" : (char[]){*at, '\0'}, stdout);
}

static void print_item(const struct setting *setting) {
    const char *placeholder = settings_placeholder(setting);

    (void)fputs(".It ", stdout);
    if (setting->letter != 0)
        (void)printf("Fl %c , ", setting->letter);
    (void)printf("Fl -%s", setting->name);
    if (placeholder[0] != '\0')
        (void)printf(" Ar%s", placeholder);
    (void)putchar('\n');
    print_mdoc(setting->help, strlen(setting->help));
    (void)printf("\n.Pq default %s%s%s\n", settings_default(setting),
                 setting->range != NULL ? "; " : "", setting->range != NULL ? setting->range : "");
}

static void print_items(const struct reference *it, const struct reference_command *command) {
    bool is_begun = false, is_named = false;

    for (const struct setting *at = command->table; at != NULL && at->name != NULL; at++) {
        if (!is_shown(at, false) || is_told_above(it, command, at))
            continue;
        if (!is_begun)
            (void)puts(".Bl -tag -width Ds");
        is_begun = true;
        print_item(at);
    }
    if (is_begun)
        (void)puts(".El");
    for (const struct setting *at = command->table; at != NULL && at->name != NULL; at++)
        if (is_shown(at, false) && is_told_above(it, command, at)) {
            if (!is_named)
                (void)printf(".Pp\nIt also takes these settings of\n.Nm :");
            (void)printf(is_named ? " ,\n.Fl -%s" : "\n.Fl -%s", at->name);
            is_named = true;
        }
    if (is_named)
        (void)puts(" .");
}

static const struct style man_style;

static void print_synopsis(const struct reference *it) {
    (void)puts(".Sh SYNOPSIS");
    for (const struct reference_command *at = it->commands; at < it->commands + it->count; at++) {
        const char *arguments = arguments_of(at);

        if (at->table == NULL)
            continue;
        (void)printf(".Nm\n");
        if (at->word[0] != '\0')
            (void)printf(".Cm %s\n", at->word);
        (void)puts(".Op Ar settings");
        if (arguments[0] != '\0' && at->word[0] != '\0')
            (void)printf(".Ar %s\n", arguments);
    }
}

static void print_variables(const struct reference *it) {
    const char *prefix = it->commands->program->prefix;
    char variable[SETTINGS_VARIABLE_BYTES];
    bool is_begun = false;

    (void)printf(".Sh ENVIRONMENT\nA setting may also stand in a variable:\n.Ev %s_\n"
                 "and its name in capitals, with _ for -.\nThe command line overrides it.\n",
                 prefix);
    for (const struct setting *at = it->commands->table; at != NULL && at->name != NULL; at++) {
        if (!is_shown(at, true))
            continue;
        if (!is_begun)
            (void)puts("Secrets stand in variables only:\n.Bl -tag -width Ds");
        is_begun = true;
        settings_variable(at, prefix, variable);
        (void)printf(".It Ev %s\n", variable);
        print_mdoc(at->help, strlen(at->help));
        (void)putchar('\n');
    }
    if (is_begun)
        (void)puts(".El");
}

static void print_page(const struct reference *it) {
    (void)fputs(".Dd " VERSION_DATE "\n.Dt ", stdout);
    for (const char *at = it->name; *at != '\0'; at++)
        (void)putchar(toupper((unsigned char)*at));
    (void)printf(" %d\n.Os\n.Sh NAME\n.Nm %s\n.Nd ", it->section, it->name);
    print_purpose(it->commands, ".:;");
    print_synopsis(it);
    (void)puts(".Sh DESCRIPTION");
    print_about(&man_style, it->commands->program->about);
    if (it->commands->table != NULL)
        (void)puts(".Sh SETTINGS");
    print_items(it, it->commands);
    for (const struct reference_command *at = it->commands + 1; at < it->commands + it->count;
         at++) {
        (void)printf("%s.Ss %s %s\n", at == it->commands + 1 ? ".Sh COMMANDS\n" : "", it->name,
                     at->word);
        print_about(&man_style, at->program->about);
        print_items(it, at);
    }
    print_variables(it);
    (void)printf(it->also != NULL ? ".Sh SEE ALSO\n%s" : "", it->also);
}

static const struct style markdown_style = {"markdown", "\n",           "\n```\n",
                                            "```\n",    print_markdown, print_document};
static const struct style man_style = {"man",   ".Pp\n",    ".Bd -literal -offset indent\n",
                                       ".Ed\n", print_mdoc, print_page};

/* ---- what a shell completes */

static const struct reference_command *command_of(const struct reference *it, int argc,
                                                  char **argv) {
    for (int i = 0; i < argc; i++)
        for (size_t j = 1; j < it->count; j++)
            if (strcmp(argv[i], it->commands[j].word) == 0)
                return &it->commands[j];
    return it->commands;
}

static bool takes_value(const struct reference_command *command, const char *word) {
    for (const struct setting *at = command->table; at != NULL && at->name != NULL; at++)
        if ((strncmp(word, "--", 2) == 0 && strcmp(word + 2, at->name) == 0) ||
            (at->letter != 0 && word[0] == '-' && word[1] == at->letter && word[2] == '\0'))
            return at->type != SETTING_FLAG;
    return strcmp(word, "=") == 0; /* bash gives it a word of its own */
}

/* Flags after a dash; else commands, if none is given. Nothing where a value must stand. */
static void print_words(const struct reference *it, int argc, char **argv) {
    const char *typed = argc > 0 ? argv[argc - 1] : "";
    const struct reference_command *command = command_of(it, argc - 1, argv);

    assert(it->count > 0);
    if (argc > 1 && takes_value(command, argv[argc - 2]))
        return;
    for (size_t i = 1; i < it->count && typed[0] != '-' && command == it->commands; i++) {
        (void)printf("%s\t", it->commands[i].word);
        print_purpose(&it->commands[i], ".:;,");
    }
    if (typed[0] != '-')
        return;
    for (const struct setting *at = command->table; at != NULL && at->name != NULL; at++)
        if (is_shown(at, false))
            (void)printf("--%s\t%s\n", at->name, at->help);
    (void)puts("--help\tprint the settings and exit\n--version\tprint the version and exit");
}

int reference_asked(const struct reference *it, int argc, char **argv) {
    static const struct style *const styles[] = {&markdown_style, &man_style};
    const char *format = argc > 2 ? argv[2] : "";
    const struct style *style = NULL;

    if (argc < 2 || strcmp(argv[1], "--help-format") != 0)
        return -1;
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++)
        if (strcmp(format, styles[i]->name) == 0)
            style = styles[i];
    if (style == NULL && strcmp(format, "words") != 0) {
        complain(it->name, "--help-format is markdown, man or words");
        return EX_USAGE;
    }
    if (style != NULL)
        style->print(it);
    else
        print_words(it, argc - 3, argv + 3);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EX_OK;
    complain(it->name, "the output cannot be written");
    return EX_IOERR;
}
