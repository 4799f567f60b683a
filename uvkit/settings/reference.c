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
    const char *rows, *rows_end;                /* around a table of settings */
    const char *also, *also_between, *also_end; /* around names of settings */
    void (*text)(const char *text, size_t length);
    void (*row)(const struct setting *setting, const char *variable);
    void (*print)(const struct reference *it);
};

/* ---- the table, read */

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
            is_new = is_literal;
            is_literal = !is_literal;
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

static void print_settings(const struct style *style, const struct reference *it,
                           const struct reference_command *command) {
    char variable[SETTINGS_VARIABLE_BYTES];
    bool is_begun = false, is_named = false;

    for (const struct setting *at = command->table; at != NULL && at->name != NULL; at++) {
        if (at->help == NULL || is_told_above(it, command, at))
            continue;
        if (!is_begun)
            (void)fputs(style->rows, stdout);
        is_begun = true;
        settings_variable(at, command->program->prefix, variable);
        style->row(at, variable);
    }
    if (is_begun)
        (void)fputs(style->rows_end, stdout);
    for (const struct setting *at = command->table; at != NULL && at->name != NULL; at++) {
        if (at->help == NULL || at->type == SETTING_SECRET || !is_told_above(it, command, at))
            continue;
        (void)fputs(is_named ? style->also_between : style->also, stdout);
        (void)fputs(at->name, stdout);
        is_named = true;
    }
    if (is_named)
        (void)fputs(style->also_end, stdout);
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

static void print_row(const struct setting *setting, const char *variable) {
    const char *placeholder = settings_placeholder(setting), *range = setting->range;
    const char *shown = settings_default(setting);

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

static const struct style markdown_style;

static void print_document(const struct reference *it) {
    for (const struct reference_command *at = it->commands; at < it->commands + it->count; at++) {
        const char *arguments = arguments_of(at);

        (void)printf(at == it->commands ? "### %s\n\n" : "\n#### %s %s\n\n", it->name, at->word);
        print_about(&markdown_style, at->program->about);
        if (at->table != NULL)
            (void)printf("\n    %s%s%s [settings]%s%s\n", it->name, at->word[0] != '\0' ? " " : "",
                         at->word, arguments[0] != '\0' ? " " : "", arguments);
        print_settings(&markdown_style, it, at);
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

static void print_item(const struct setting *setting, const char *variable) {
    const bool is_secret = setting->type == SETTING_SECRET;
    const char *range = setting->range;

    if (is_secret)
        (void)printf(".It Ev %s", variable);
    else if (setting->letter != 0)
        (void)printf(".It Fl %c , Fl -%s", setting->letter, setting->name);
    else
        (void)printf(".It Fl -%s", setting->name);
    if (settings_placeholder(setting)[0] != '\0')
        (void)printf(" Ar%s", settings_placeholder(setting));
    (void)putchar('\n');
    print_mdoc(setting->help, strlen(setting->help));
    if (is_secret)
        (void)puts("\n.Pq a secret, without a flag");
    else
        (void)printf("\n.Pq default %s%s%s\n", settings_default(setting), range != NULL ? "; " : "",
                     range != NULL ? range : "");
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
    print_settings(&man_style, it, it->commands);
    for (const struct reference_command *at = it->commands + 1; at < it->commands + it->count;
         at++) {
        (void)printf("%s.Ss %s %s\n", at == it->commands + 1 ? ".Sh COMMANDS\n" : "", it->name,
                     at->word);
        print_about(&man_style, at->program->about);
        print_settings(&man_style, it, at);
    }
    (void)printf(".Sh ENVIRONMENT\nA setting may also stand in a variable:\n.Ev %s_\n"
                 "and its name in capitals, with _ for -.\nThe command line overrides it.\n",
                 it->commands->program->prefix);
    if (it->also != NULL)
        (void)printf(".Sh SEE ALSO\n%s", it->also);
}

static const struct style markdown_style =
                              {.name = "markdown",
                               .paragraph = "\n",
                               .literal = "\n```\n",
                               .literal_end = "```\n",
                               .rows = "\n| setting | default | meaning |\n|---|---|---|\n",
                               .rows_end = "",
                               .also = "\nIt also takes these settings of the program: `--",
                               .also_between = "`, `--",
                               .also_end = "`.\n",
                               .text = print_markdown,
                               .row = print_row,
                               .print = print_document},
                          man_style = {.name = "man",
                                       .paragraph = ".Pp\n",
                                       .literal = ".Bd -literal -offset indent\n",
                                       .literal_end = ".Ed\n",
                                       .rows = ".Bl -tag -width Ds\n",
                                       .rows_end = ".El\n",
                                       .also = ".Pp\nIt also takes these settings of\n.Nm :\n.Fl -",
                                       .also_between = " ,\n.Fl -",
                                       .also_end = " .\n",
                                       .text = print_mdoc,
                                       .row = print_item,
                                       .print = print_page};

/* ---- the words that a shell completes */

static bool takes_value(const struct reference_command *command, const char *word) {
    for (const struct setting *at = command->table; at != NULL && at->name != NULL; at++)
        if ((strncmp(word, "--", 2) == 0 && strcmp(word + 2, at->name) == 0) ||
            (at->letter != 0 && word[0] == '-' && word[1] == at->letter && word[2] == '\0'))
            return at->type != SETTING_FLAG;
    return strcmp(word, "=") == 0; /* bash gives it a word of its own */
}

/* A word that is a flag's value names no command. */
static const struct reference_command *command_of(const struct reference *it, int argc,
                                                  char **argv) {
    for (int i = 0; i < argc; i++)
        for (size_t j = 1; j < it->count; j++)
            if (strcmp(argv[i], it->commands[j].word) == 0 &&
                (i == 0 || !takes_value(it->commands, argv[i - 1])))
                return &it->commands[j];
    return it->commands;
}

/* Flags after a dash; else commands, if none is given. Nothing where a value must stand, or after
 * a word that is only two dashes. */
static void print_words(const struct reference *it, int argc, char **argv) {
    const char *typed = argc > 0 ? argv[argc - 1] : "";
    const struct reference_command *command = command_of(it, argc - 1, argv);

    assert(it->count > 0);
    for (int i = 0; i + 1 < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            return;
    if (argc > 1 && takes_value(command, argv[argc - 2]))
        return;
    for (size_t i = 1; i < it->count && typed[0] != '-' && command == it->commands; i++) {
        (void)printf("%s\t", it->commands[i].word);
        print_purpose(&it->commands[i], ".:;,");
    }
    if (typed[0] != '-')
        return;
    for (const struct setting *at = command->table; at != NULL && at->name != NULL; at++)
        if (at->help != NULL && at->type != SETTING_SECRET)
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
