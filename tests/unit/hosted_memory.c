/* Errors, arenas, vectors, interned strings, shared objects. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "hosted/arena.h"
#include "hosted/intern.h"
#include "hosted/shared.h"
#include "hosted/vec.h"

static void errors(void **state)
{
	struct err *err = err_create("offset %d", 5);

	assert_string_equal(err_message(err), "offset 5");
	assert_int_equal(err_number(err), 0);
	err = err_prefix(err, "file %s", "x");
	assert_string_equal(err_message(err), "file x: offset 5");
	err_destroy(err);
	err = err_create_errno(ENOENT, "open %s", "y");
	assert_string_equal(err_message(err), "open y: No such file or directory");
	assert_int_equal(err_number(err), ENOENT);
	err = err_prefix(err, "z");
	assert_int_equal(err_number(err), ENOENT);
	err_destroy(err);
	assert_int_equal(err_number(err_no_memory()), ENOMEM);
	assert_ptr_equal(err_prefix(err_no_memory(), "x"), err_no_memory());
	err_destroy(err_no_memory());
	assert_null(err_prefix(NULL, "x"));
	err_destroy(NULL);
}

static void arenas(void **state)
{
	struct arena arena = {0};
	char *last = NULL;

	for (size_t size = 0; size < 100000; size = size * 2 + 1) {
		unsigned char *p = arena_alloc(&arena, size);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xaa, size);
	}
	for (int i = 0; i < 100000; i++) {
		char *copy = arena_text(&arena, "text");

		assert_true(copy != last);
		last = copy;
	}
	assert_string_equal(last, "text");
	assert_null(arena_array(&arena, SIZE_MAX / 2, 3));
	assert_null(arena_alloc(&arena, SIZE_MAX));
	assert_string_equal(arena_copy(&arena, NULL, 0), "");
	arena_deinit(&arena);
}

static void vectors(void **state)
{
	VEC(uint32_t) vec = VEC_EMPTY;

	for (uint32_t i = 0; i < 1000; i++)
		assert_true(vec_push(&vec, i));
	assert_int_equal(vec.count, 1000);
	assert_int_equal(vec.items[999], 999);
	assert_false(vec_reserve(&vec, SIZE_MAX));
	assert_false(vec_reserve(&vec, SIZE_MAX / 4));
	assert_int_equal(vec.items[999], 999);
	vec_deinit(&vec);
	assert_null(vec.items);
}

static void interned(void **state)
{
	struct intern intern = {0};
	const char *first[2000];
	char text[20];

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 2000; i++) {
			const char *p;

			snprintf(text, sizeof(text), "%d", i);
			p = intern_text(&intern, text);
			assert_string_equal(p, text);
			if (round)
				assert_ptr_equal(p, first[i]);
			first[i] = p;
		}
	}
	assert_int_equal(intern.count, 2000);
	assert_ptr_not_equal(intern_bytes(&intern, "a\0b", 3), intern_bytes(&intern, "a\0c", 3));
	intern_deinit(&intern);
}

static int freed;

static void note_freed(void *object)
{
	freed += *(int *)object;
}

static void *hold_and_drop(void *object)
{
	for (int i = 0; i < 10000; i++)
		shared_drop(shared_hold(object));
	shared_drop(object);
	return NULL;
}

/* Freed once, by whoever is last: here two threads, and the test. */
static void shared_objects(void **state)
{
	pthread_t threads[2];
	int *object = shared_create(sizeof(*object), note_freed);

	assert_non_null(object);
	assert_int_equal(*object, 0);
	*object = 1;
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, hold_and_drop, shared_hold(object)), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(freed, 0);
	shared_drop(object);
	assert_int_equal(freed, 1);
	shared_drop(NULL);
	assert_null(shared_hold(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors),         cmocka_unit_test(arenas),
		cmocka_unit_test(vectors),        cmocka_unit_test(interned),
		cmocka_unit_test(shared_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
