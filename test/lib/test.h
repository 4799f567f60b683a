/* cmocka, the headers that it needs first, and headers that nearly each test needs. */
#ifndef TEST_TEST_H
#define TEST_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#endif
