/* Numbers as people write them in settings: plain, without sign, exponent, hex, nan or inf. */
#ifndef UVKIT_NUMBER_H
#define UVKIT_NUMBER_H

/* Digits, perhaps with a point among them: returns what follows, or NULL when it is none. */
const char *number_read(const char *text, double *value);

/* The whole of `text` as a part of something, 0..1: "5%" or "0.05". 0, or -1 when it is none. */
__attribute__((warn_unused_result)) int number_read_part(const char *text, double *part);
/* The whole of `text` as a number, perhaps in thousands or millions: "100", "20k" or "1.5m". */
__attribute__((warn_unused_result)) int number_read_scaled(const char *text, double *value);

#endif
