/* Under the sanitizers, which are slow, a loop goes half as far; `make check-long` has it without,
 * too. */
#ifndef MALLOW_TESTS_OFTEN_H
#define MALLOW_TESTS_OFTEN_H

#ifdef __SANITIZE_ADDRESS__
#define OFTEN(count) ((count) / 2)
#else
#define OFTEN(count) (count)
#endif

#endif
