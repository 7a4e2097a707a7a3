/*
 * Functions whose address a resolver decides when they are first called, in the middle of lazy
 * binding: what the resolver calls back runs on top of the loader's _dl_runtime_resolve, whose
 * frame is found by rbx alone. Each binds once.
 */
static void (*callback)(void);

static int answer(void)
{
	return 42;
}

#define LAZY(n)                                                                                    \
	int lazy_function_##n(void);                                                               \
	/* clang does not see that the attribute below uses it. */                                 \
	__attribute__((used)) static int (*resolve_##n(void))(void)                                \
	{                                                                                          \
		callback();                                                                        \
		return answer;                                                                     \
	}                                                                                          \
	int lazy_function_##n(void) __attribute__((ifunc("resolve_" #n)))

LAZY(0);
LAZY(1);
LAZY(2);
LAZY(3);
LAZY(4);
LAZY(5);
LAZY(6);
LAZY(7);

/* Binds function n; called more than once for one n, calls nothing back. */
int lazy_run(int n, void (*call)(void));

int lazy_run(int n, void (*call)(void))
{
	callback = call;
	switch (n) {
	case 0:
		return lazy_function_0() + 1;
	case 1:
		return lazy_function_1() + 1;
	case 2:
		return lazy_function_2() + 1;
	case 3:
		return lazy_function_3() + 1;
	case 4:
		return lazy_function_4() + 1;
	case 5:
		return lazy_function_5() + 1;
	case 6:
		return lazy_function_6() + 1;
	default:
		return lazy_function_7() + 1;
	}
}
