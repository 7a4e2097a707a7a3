/* Who is named, of those that are not let in: a terminal stays readable whoever tries. */
#include <stdio.h>

#include "check.h"
#include "stream/link/strangers.h"

static void each_is_named_once_and_few_at_all(void **state)
{
	struct strangers strangers;
	unsigned int said = 0;
	uint64_t unsaid;
	char text[64];

	(void)state;
	strangers_init(&strangers);
	for (unsigned int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "10.0.%u.%u:%u: wrong key", i / 250, i % 250, i);
		said += strangers_note(&strangers, text, &unsaid);
		assert_int_equal(unsaid, 0);
	}
	assert_int_equal(said, STRANGERS_KEPT);
	// From another port, too.
	assert_false(strangers_note(&strangers, "10.0.0.0:99: wrong key", &unsaid));
	// Nobody who is named pushes out another one, so that it would be named again.
	assert_false(strangers_note(&strangers, "10.0.0.1:99: wrong key", &unsaid));
	strangers_deinit(&strangers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_named_once_and_few_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
