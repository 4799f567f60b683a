/* Any text inside XML or HTML. XML forbids bytes that are not UTF-8, control characters, U+FFFE and
 * U+FFFF. The replacement character, U+FFFD, stands in their place. */
#ifndef UVKIT_XML_TEXT_H
#define UVKIT_XML_TEXT_H

#include <stdbool.h>
#include <stdio.h>

/* Write it escaped. `is_attribute`: it stands in double quotes. */
void xml_text_put(const char *text, bool is_attribute, FILE *to);

#endif
