#include "symbols/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"
#include "hosted/cleanup.h"

/*
 * The longest name that is demangled. libiberty recurses at worst once for each character of a C++
 * name, and takes 170 bytes of stack each time (measured with forty shapes of hostile names): this
 * limit means 1.4 MiB of stack. libiberty's own limit of 1,024 characters is lifted, because
 * templates reach it.
 */
#define NAME_MAX_SIZE 8192
/*
 * The longest readable name. Substitutions can double the text again and again: a name of 100
 * characters could print for days.
 */
#define TEXT_MAX_SIZE (256u << 10)
/* How many suffixes of compilers' clones are taken off a name. */
#define SUFFIXES_MAX  8

/* For the callbacks that print. Only leaving them stops libiberty. */
struct output {
	struct buf *buf;
	size_t begin;
	jmp_buf too_long;
};

static void put_piece(const char *text, size_t size, void *argument)
{
	struct output *output = argument;

	if (size > TEXT_MAX_SIZE - (output->buf->size - output->begin))
		longjmp(output->too_long, 1);
	buf_put(output->buf, text, size);
}

/*
 * Appends the demangled name to buf. false: nothing is appended. Both printers keep all their state
 * on the stack, so leaving them by longjmp() leaks nothing.
 */
static bool demangle_whole(const char *name, struct buf *buf)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;
	struct output output = {.buf = buf, .begin = buf->size};

	if (!setjmp(output.too_long)) {
		// Rust first, as DMGL_AUTO does: a legacy Rust name is also a valid C++ one, with a
		// hash. Rust keeps libiberty's own limit, because a back reference in a Rust name
		// can lead to itself.
		if (rust_demangle_callback(name, options, put_piece, &output))
			return true;
		buf->size = output.begin;
		if (cplus_demangle_v3_callback(name, options | DMGL_NO_RECURSE_LIMIT, put_piece,
					       &output))
			return true;
	}
	buf->size = output.begin;
	return false;
}

/* The length of name without ".llvm.<digits>", which ThinLTO appends and libiberty rejects. */
static size_t without_llvm(const char *name, size_t length)
{
	size_t digits = length;

	while (digits && name[digits - 1] >= '0' && name[digits - 1] <= '9')
		digits--;
	if (digits == length || digits <= strlen(".llvm."))
		return length;
	digits -= strlen(".llvm.");
	return memcmp(name + digits, ".llvm.", strlen(".llvm.")) ? length : digits;
}

/* Where the last ".word" or ".word.digits" of name begins: a clone's suffix is cut off there. */
static size_t last_suffix(const char *name, size_t length)
{
	const char *dot = memrchr(name, '.', length);

	if (!dot)
		return 0;

	size_t at = (size_t)(dot - name);
	size_t digits = strspn(dot + 1, "0123456789");

	if (digits && at + 1 + digits == length) {
		dot = memrchr(name, '.', at);
		if (dot && dot + 1 < name + at)
			at = (size_t)(dot - name);
	}
	return at;
}

/* Demangles the first length characters of name, of which the last may be suffixes of clones. */
static bool demangle_clone(char *name, size_t length, struct buf *buf)
{
	size_t end = length;

	for (int i = 0; end && i < SUFFIXES_MAX; i++) {
		char cut = name[end];

		name[end] = '\0';

		bool done = demangle_whole(name, buf);

		name[end] = cut;
		if (done) {
			if (end < length) {
				buf_text(buf, " [");
				buf_put(buf, name + end, length - end);
				buf_char(buf, ']');
			}
			return true;
		}
		end = last_suffix(name, end);
	}
	return false;
}

/* What is replaced in demangled text. The first row that fits counts. */
static const struct {
	const char *from;
	const char *to;
} replacements[] = {
#define STRING(its, of_traits)                                                                     \
	{                                                                                          \
		"std::" its "basic_string<char, std::" of_traits                                   \
		"char_traits<char>, std::" of_traits "allocator<char> >",                          \
			"std::string"                                                              \
	}
	STRING("", ""),
#define INLINE_NAMESPACE(name, of_traits) STRING(name, of_traits), {"std::" name, "std::"},
#include "symbols/library_namespaces.def"
	{" [clone .", " [."},
};

/*
 * If the text begins with something to replace, writes the replacement and returns the length of
 * what it replaces. 0: nothing.
 */
static size_t put_replacement(const char *text, struct buf *ret)
{
	size_t blank;

	if (!strncmp(text, "> >", 3)) {
		buf_char(ret, '>');
		return 2; // the second '>' may begin the next pair
	}
	for (size_t i = 0; i < ARRAY_COUNT(replacements); i++) {
		size_t size = strlen(replacements[i].from);

		if (!strncmp(text, replacements[i].from, size)) {
			buf_text(ret, replacements[i].to);
			// "less<basic_string<…> >": without the first '>' the blank has no use.
			blank = text[size - 1] == '>' && !strncmp(text + size, " >", 2);
			return size + blank;
		}
	}
	return 0;
}

static void put_tidied(const char *text, struct buf *ret)
{
	while (*text) {
		// Everything to replace begins with one of these.
		size_t plain = strcspn(text, "s> ");

		buf_put(ret, text, plain);
		text += plain;
		if (!*text)
			break;

		size_t size = put_replacement(text, ret);

		if (!size)
			buf_char(ret, *text++);
		text += size;
	}
}

/* Whether word is a suffix that compilers give to optimised copies of a function. */
static bool is_clone(const char *word, size_t length)
{
	static const char *const words[] = {"isra",  "constprop", "part",      "cold",
					    "clone", "lto_priv",  "localalias"};

	for (size_t i = 0; i < ARRAY_COUNT(words); i++)
		if (strlen(words[i]) == length && !memcmp(words[i], word, length))
			return true;
	return false;
}

size_t demangle_without_clone(const char *name)
{
	size_t length = strlen(name);

	for (;;) {
		bool bracket = length && name[length - 1] == ']';
		size_t end = length - bracket, at = last_suffix(name, end);

		if (!at || !is_clone(name + at + 1, strcspn(name + at + 1, ".]")))
			return length;
		if (bracket && (at < 2 || memcmp(name + at - 2, " [", 2) != 0))
			return length;
		length = bracket ? at - 2 : at;
	}
}

void demangle(const char *name, struct buf *ret)
{
	size_t length = strnlen(name, NAME_MAX_SIZE + 1);

	if (length > NAME_MAX_SIZE) {
		buf_text(ret, name);
		return;
	}
	length = without_llvm(name, length);
	if (length < 2 || name[0] != '_' || !strchr("ZR_", name[1])) {
		buf_put(ret, name, length);
		return;
	}

	char copy[NAME_MAX_SIZE + 1];
	cleanup(buf_deinit) struct buf text = BUF_EMPTY;

	memcpy(copy, name, length);
	copy[length] = '\0';
	if (!demangle_clone(copy, length, &text))
		buf_put(ret, name, length);
	else if (buf_string(&text))
		put_tidied(buf_string(&text), ret);
}
