/* Tokens: the key that TLS makes of them, and their files. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "stream/link/token.h"

static char folder[] = "/tmp/mallow_token_XXXXXX";
static char path[64];

static int make_folder(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/token", folder);
	return 0;
}

static int remove_folder(void **state)
{
	unlink(path);
	return rmdir(folder);
}

static void put(const char *text, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	close(fd);
}

/* Python: hmac.new(hmac.new(b"mallow stream 1", token, "sha256").digest(), b"psk\1", "sha256") */
static void key_is_hkdf(void **state)
{
	static const uint8_t expected[LINK_KEY_SIZE] = {
		0x2b, 0x49, 0xae, 0x0a, 0xa4, 0x6d, 0x6d, 0x55, 0xa7, 0x94, 0x87,
		0x95, 0xb9, 0x68, 0xb5, 0xac, 0xee, 0x0b, 0x81, 0x3d, 0x74, 0x71,
		0xe5, 0xa5, 0xd3, 0x36, 0x75, 0x28, 0x21, 0x99, 0xd1, 0x44};
	struct link_key key = {0};

	assert_ok(token_key("correct horse battery staple", &key));
	assert_true(key.set);
	assert_memory_equal(key.bytes, expected, LINK_KEY_SIZE);
}

static void short_tokens_are_refused(void **state)
{
	struct link_key key = {0};

	assert_err(token_key("", &key), "16 characters at least");
	assert_err(token_key("123456789012345", &key), "16 characters at least");
	assert_false(key.set);
	assert_ok(token_key("1234567890123456", &key));
}

static void first_line_of_a_file(void **state)
{
	static const char *const texts[] = {
		"correct horse battery staple",
		"correct horse battery staple\n",
		"correct horse battery staple \t\r\nanother line\n\n",
	};
	struct link_key key, expected;

	assert_ok(token_key(texts[0], &expected));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		memset(&key, 0, sizeof(key));
		put(texts[i], strlen(texts[i]));
		assert_ok(token_file_read(path, &key));
		assert_true(key.set);
		assert_memory_equal(key.bytes, expected.bytes, LINK_KEY_SIZE);
	}
}

static void files_that_are_none(void **state)
{
	static char large[5000];
	struct link_key key = {0};

	put("", 0);
	assert_err(token_file_read(path, &key), path);
	put("\ncorrect horse battery staple\n", 30);
	assert_err(token_file_read(path, &key), "16 characters at least");
	put("too short       \n", 17);
	assert_err(token_file_read(path, &key), "16 characters at least");
	put("correct horse\0battery staple", 28);
	assert_err(token_file_read(path, &key), "zero byte");
	memset(large, 'a', sizeof(large));
	put(large, 4096);
	assert_ok(token_file_read(path, &key));
	put(large, 4097);
	assert_err(token_file_read(path, &key), "too large for a token");
	assert_err(token_file_read("/dev/zero", &key), "too large for a token");
	assert_err(token_file_read(folder, &key), "Is a directory");
	unlink(path);
	assert_err(token_file_read(path, &key), "No such file");
}

static void made_files(void **state)
{
	struct link_key first, second;
	struct stat status;
	struct err *err;

	unlink(path);
	assert_ok(token_file_make(path));
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(status.st_size, 65);
	assert_ok(token_file_read(path, &first));
	// One that is there stays.
	err = token_file_make(path);
	assert_non_null(err);
	assert_int_equal(err_number(err), EEXIST);
	err_destroy(err);
	assert_ok(token_file_read(path, &second));
	assert_memory_equal(first.bytes, second.bytes, LINK_KEY_SIZE);
	unlink(path);
	assert_ok(token_file_make(path));
	assert_ok(token_file_read(path, &second));
	assert_memory_not_equal(first.bytes, second.bytes, LINK_KEY_SIZE);
	assert_err(token_file_make("/nonexistent/token"),
		   "cannot make a token: /nonexistent/token");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(key_is_hkdf),          cmocka_unit_test(short_tokens_are_refused),
		cmocka_unit_test(first_line_of_a_file), cmocka_unit_test(files_that_are_none),
		cmocka_unit_test(made_files),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
