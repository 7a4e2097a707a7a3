/* Which functions are those of an allocator, by their names, and which of them are watched. */
#include <string.h>

#include "../check.h"

#include "allocators/function_choice.h"

static void names(void **state)
{
	static const struct {
		const char *symbol, *name;
		uint32_t group;
	} right[] = {
		{"malloc", "malloc", ALLOCATOR_PLAIN},
		{"je_malloc", "malloc", ALLOCATOR_JE},
		{"_rjem_mallocx", "mallocx", ALLOCATOR_JE},
		{"_rjem_sdallocx", "sdallocx", ALLOCATOR_JE},
		{"__libc_malloc", "malloc", ALLOCATOR_LIBC},
		{"tc_new", "new", ALLOCATOR_TC},
		{"mi_heap_zalloc", "heap_zalloc", ALLOCATOR_MI},
		{"rpfree", "free", ALLOCATOR_RP},
		{"sn_rust_alloc", "rust_alloc", ALLOCATOR_SN},
		{"x_calloc", "calloc", ALLOCATOR_USER},
		{"_ZdlPvmSt11align_val_t", "_ZdlPvmSt11align_val_t", ALLOCATOR_CXX},
		{"mmap64", "mmap64", ALLOCATOR_MAP},
		{"__rust_alloc", "__rust_alloc", ALLOCATOR_RUST},
		{"_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc", "__rust_alloc", ALLOCATOR_RUST},
		{"_RNvCsfLfy6EI15iL_7___rustc10___rg_alloc", "__rg_alloc", ALLOCATOR_RUST},
	};
	static const char *const wrong[] = {
		"",
		"mallo",
		"malloc_",
		"je_",
		"x_",
		"je_zalloc",
		"zalloc",
		"new",
		"je_new",
		"je_mmap",
		"xallocx",
		"je_xallocx",
		"x__Znwm",
		"sn_new",
		"rust_alloc",
		"__libc_mi_malloc",
		"_ZdlPvi",
		"_RNvCsfLfy6EI15iL_7___rustc11___rdl_alloc",
		"_RNvCsfLfy6EI15iL_7___rustc13___rust_alloc",
		"_RNvCsfLfy6EI15iL_5other12___rust_alloc",
		"_RNvCsfLfy6EI15iL_7___rustc26___rust_alloc_error_handler",
	};
	struct function_names list;
	struct function_match match;

	function_names_init(&list, "x_");
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		if (!function_names_match(&list, right[i].symbol, &match))
			fail_msg("%s was not found", right[i].symbol);
		assert_string_equal(match.function->name, right[i].name);
		assert_int_equal(match.group, right[i].group);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (function_names_match(&list, wrong[i], &match))
			fail_msg("%s was found", wrong[i]);
}

/* Which of the functions, given by their names, are chosen. Their addresses are 1, 2, … */
static uint64_t chosen(const char *const *symbols, bool exported, bool c_library)
{
	struct file_signs signs = {.is_c_library = c_library};
	struct file_function list[16];
	struct function_names names;
	size_t count = 0;
	uint64_t ret = 0;

	function_names_init(&names, NULL);
	for (uint64_t i = 0; symbols[i]; i++) {
		struct file_function *function = &list[count++];

		*function = (struct file_function){
			.address = i + 1, .name = symbols[i], .exported = exported};
		assert_true(function_names_match(&names, symbols[i], &function->match));
	}
	count = function_choice_make(&signs, list, count);
	for (size_t i = 0; i < count; i++)
		ret |= UINT64_C(1) << (list[i].address - 1);
	return ret;
}

#define CHOSEN(exported, c_library, ...)                                                           \
	chosen((const char *const[]){__VA_ARGS__, NULL}, exported, c_library)

static void groups(void **state)
{
	assert_int_equal(CHOSEN(true, true, "malloc", "free", "mmap", "munmap"), 15);
	// A program that has some of the names by chance.
	assert_int_equal(CHOSEN(false, false, "free", "valloc"), 0);
	assert_int_equal(CHOSEN(false, false, "mi_free"), 0);
	assert_int_equal(CHOSEN(false, false, "mi_free", "mi_zalloc"), 3);
	// What replaces malloc may replace mmap, too.
	assert_int_equal(CHOSEN(true, false, "malloc", "free", "mmap", "munmap"), 15);
	assert_int_equal(CHOSEN(false, false, "malloc", "free", "mmap", "munmap"), 3);
	assert_int_equal(CHOSEN(true, false, "malloc", "free", "mmap"), 3);
	assert_int_equal(CHOSEN(true, false, "mmap", "munmap"), 0);
	// libstdc++ has only these.
	assert_int_equal(CHOSEN(true, false, "_Znwm", "_ZdlPv"), 0);
	assert_int_equal(CHOSEN(true, false, "_Znwm", "_ZdlPv", "je_malloc", "je_free"), 15);
	assert_int_equal(CHOSEN(true, true, "malloc", "free", "__libc_malloc", "__libc_free"), 3);
	assert_int_equal(CHOSEN(true, true, "__libc_malloc", "__libc_free"), 3);
	// A compiler that inlined one would have us miss its calls.
	assert_int_equal(CHOSEN(false, false, "__rust_alloc", "__rust_realloc"), 0);
	assert_int_equal(CHOSEN(false, false, "__rust_alloc", "__rust_dealloc"), 3);
}

/* What other functions do at the same place is noted, and all are sorted by their places. */
static void same_address(void **state)
{
	static const char *const symbols[] = {"tc_delete", "free",    "_ZdlPv",
					      "malloc",    "tc_free", "_Znwm"};
	static const uint64_t addresses[] = {0x30, 0x30, 0x30, 0x20, 0x30, 0x10};
	struct file_signs signs = {0};
	struct file_function list[6];
	struct function_names names;

	function_names_init(&names, NULL);
	for (size_t i = 0; i < 6; i++) {
		list[i] = (struct file_function){.address = addresses[i], .size = i == 2 ? 8 : 0};
		assert_true(function_names_match(&names, symbols[i], &list[i].match));
	}
	assert_int_equal(function_choice_make(&signs, list, 6), 3);
	assert_int_equal(list[0].address, 0x10);
	assert_false(list[0].mixed);
	assert_int_equal(list[1].address, 0x20);
	assert_int_equal(list[2].address, 0x30);
	assert_string_equal(list[2].match.function->name, "free");
	assert_true(list[2].mixed);
	assert_int_equal(list[2].size, 8);
	assert_string_equal(function_choice_allocator(&signs, list, 3), "its own malloc");
	function_choice_note(&signs, "tc_malloc", false);
	assert_string_equal(function_choice_allocator(&signs, list, 3), "tcmalloc");
}

/* Numbers of arguments are within what the function has; each says what it does. */
static void sound(void **state)
{
	static const char *const symbols[] = {
		"malloc",          "_rjem_sdallocx",     "mi_heap_recalloc_aligned_at",
		"sn_rust_realloc", "moz_arena_memalign", "_ZdlPvmSt11align_val_t"};
	static const uint8_t arguments[] = {1, 3, 6, 4, 3, 3};
	struct function_names names;
	struct function_match match;

	function_names_init(&names, NULL);
	for (size_t i = 0; i < 6; i++) {
		assert_true(function_names_match(&names, symbols[i], &match));
		assert_int_equal(match.function->arguments, arguments[i]);
		assert_true(match.function->size <= match.function->arguments &&
			    match.function->times <= match.function->arguments &&
			    match.function->pointer <= match.function->arguments &&
			    match.function->alignment <= match.function->arguments);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(groups),
		cmocka_unit_test(same_address),
		cmocka_unit_test(sound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
