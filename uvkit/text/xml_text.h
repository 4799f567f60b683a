/* Any text inside XML or HTML. What these forbid becomes U+FFFD, the replacement character: bytes that
 * are not UTF-8, control characters, U+FFFE and U+FFFF. */
#ifndef UVKIT_XML_TEXT_H
#define UVKIT_XML_TEXT_H

#include <stdbool.h>
#include <stdio.h>

/* Write it escaped. `is_attribute`: it stands in double quotes. */
void xml_text_put(const char *text, bool is_attribute, FILE *to);

#endif
