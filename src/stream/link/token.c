#include "stream/link/token.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/hex.h"
#include "hosted/cleanup.h"
#include "stream/link/gnutls_library.h"

#define SALT        "mallow stream 1"
#define INFO        "psk"
#define HASH_SIZE   32 /* of SHA-256 */
#define FILE_MOST   4096
#define TOKEN_BYTES 32

/* HKDF-SHA256 (RFC 5869). Returns a code of GnuTLS. */
static int derive_key(const char *token, uint8_t ret[LINK_KEY_SIZE])
{
	const gnutls_datum_t secret = {(unsigned char *)token, (unsigned int)strlen(token)};
	const gnutls_datum_t salt = {(unsigned char *)SALT, sizeof(SALT) - 1};
	const gnutls_datum_t info = {(unsigned char *)INFO, sizeof(INFO) - 1};
	uint8_t extracted[HASH_SIZE];
	const gnutls_datum_t middle = {extracted, sizeof(extracted)};
	int status = gnutls.hkdf_extract(GNUTLS_MAC_SHA256, &secret, &salt, extracted);

	if (status >= 0)
		status = gnutls.hkdf_expand(GNUTLS_MAC_SHA256, &middle, &info, ret, LINK_KEY_SIZE);
	explicit_bzero(extracted, sizeof(extracted));
	return status;
}

struct err *token_key(const char *token, struct link_key *ret)
{
	struct link_key key = {.set = true};
	struct err *err;
	int status;

	if (strlen(token) < SOCKET_TOKEN_LEAST)
		return err_create("a token has %d characters at least, and should be random",
				  SOCKET_TOKEN_LEAST);
	err = gnutls_library_open();
	if (err)
		return err;
	status = derive_key(token, key.bytes);
	if (status == GNUTLS_E_MEMORY_ERROR)
		return err_no_memory();
	if (status < 0)
		return err_create("cannot make a key of the token: %s", gnutls.strerror(status));
	*ret = key;
	explicit_bzero(&key, sizeof(key));
	return NULL;
}

/* Reads until the file's end, or until more is there than a token can have. */
static struct err *read_text(const char *path, char text[FILE_MOST + 2])
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t got = 1;

	if (fd < 0)
		return err_create_errno(errno, "%s", path);
	while (got && size <= FILE_MOST) {
		got = read(fd, text + size, FILE_MOST + 1 - size);
		if (got < 0 && errno != EINTR)
			return err_create_errno(errno, "%s", path);
		if (got > 0)
			size += (size_t)got;
	}
	if (size > FILE_MOST)
		return err_create("%s is too large for a token", path);
	text[size] = '\0';
	if (strlen(text) != size)
		return err_create("%s holds a zero byte: it is no token", path);
	return NULL;
}

struct err *token_file_read(const char *path, struct link_key *ret)
{
	char text[FILE_MOST + 2] = "";
	struct err *err = read_text(path, text);
	size_t size;

	if (!err) {
		size = strcspn(text, "\n");
		while (size && strchr(" \t\r", text[size - 1]))
			size--;
		text[size] = '\0';
		err = err_prefix(token_key(text, ret), "%s", path);
	}
	explicit_bzero(text, sizeof(text));
	return err;
}

/* Returns 0 or an errno. */
static int write_token(int fd)
{
	uint8_t random[TOKEN_BYTES];
	char text[2 * TOKEN_BYTES + 2];
	ssize_t wrote;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return errno;
	strcpy(hex_put(text, random, sizeof(random)), "\n");
	wrote = write(fd, text, 2 * TOKEN_BYTES + 1);
	explicit_bzero(random, sizeof(random));
	explicit_bzero(text, sizeof(text));
	if (wrote < 0)
		return errno;
	return wrote == 2 * TOKEN_BYTES + 1 ? 0 : ENOSPC;
}

struct err *token_file_make(const char *path)
{
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int failure = fd < 0 ? errno : write_token(fd);

	if (fd >= 0 && failure)
		unlink(path);
	return failure ? err_create_errno(failure, "cannot make a token: %s", path) : NULL;
}
