/* See shop.h. shop_file.c has shop_parse(). */
#include "shop.h"

#include "memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int shop_read(struct shop *shop, const char *path, struct why *why) {
    const size_t size = SHOP_FILE_BYTES + 1;
    FILE *from = fopen(path, "re");
    char *text = from != NULL ? malloc(size) : NULL;
    size_t length = 0;
    int code = 0;

    if (from == NULL)
        return why_set(why, "%.400s: %s", path, strerror(errno));
    if (text == NULL)
        code = why_set(why, "%.400s: out of memory", path);
    else if ((length = fread(text, 1, size, from)) < size && ferror(from))
        code = why_set(why, "%.400s: %s", path, strerror(errno));
    (void)fclose(from);
    if (code == 0)
        code = shop_parse(shop, path, text, length, why);
    free(text);
    return code;
}

void shop_free(struct shop *shop) {
    memory_free(shop->memory);
    *shop = (struct shop){0};
}
