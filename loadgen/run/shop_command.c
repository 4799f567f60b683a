/* loadgen shop: helps to describe a shop. */
#include "shop_command.h"

#include "complain.h"
#include "draft.h"
#include "exit_code.h"
#include "shop_check.h"
#include "shop_order.h"
#include "utf8.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int shop_new(const char *name, FILE *to) {
    struct why why;

    if (draft_write(name, &why) != 0) {
        complain("loadgen", "%s", why.text);
        return EXIT_USAGE;
    }
    fprintf(to, "%s.shop is written: change its lines to fit your shop\n", name);
    return EXIT_AS_EXPECTED;
}

int shop_command_read(struct shop *shop, const char *path) {
    struct why why;

    if (access(path, R_OK) != 0) {
        complain("loadgen", "%s: %s", path, strerror(errno));
        return EXIT_NO_INPUT;
    }
    if (shop_read(shop, path, &why) != 0) {
        utf8_make_printable(why.text);
        complain("loadgen", "%s", why.text);
        return EXIT_USAGE;
    }
    return EXIT_AS_EXPECTED;
}

static int with_shop(int (*act)(uv_loop_t *loop, const struct options *options,
                                const struct shop *shop, FILE *to),
                     uv_loop_t *loop, const struct options *options, FILE *to) {
    struct shop shop;
    int exit_code = shop_command_read(&shop, options->arguments[1]);

    if (exit_code != EXIT_AS_EXPECTED)
        return exit_code;
    exit_code = act(loop, options, &shop, to);
    shop_free(&shop);
    return exit_code;
}

int shop_command(uv_loop_t *loop, const struct options *options, FILE *to) {
    const char *word = options->arguments[0];

    if (strcmp(word, "new") == 0)
        return shop_new(options->arguments[1], to);
    if (strcmp(word, "order") == 0)
        return with_shop(shop_order, loop, options, to);
    if (strcmp(word, "check") == 0)
        return with_shop(shop_check, loop, options, to);
    complain("loadgen", "there is no command \"shop %.40s\"; see loadgen shop --help", word);
    return EXIT_USAGE;
}
