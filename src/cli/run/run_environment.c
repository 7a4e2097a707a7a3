#include "cli/run/run_environment.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/compiler.h"
#include "base/preload.h"
#include "cli/options/setting_options.h"
#include "hosted/cleanup.h"
#include "hosted/files/cache_folder.h"
#include "hosted/files/own_path.h"
#include "trace/registry.h"

/*
 * Places relative to the tool's directory, tried in this order: the build tree, then the ways to
 * install.
 */
static const char *const places[] = {
	"libmallow.so",
	"../agent/libmallow.so", /* meson's build tree */
#ifdef MALLOW_LIBDIR
	"../" MALLOW_LIBDIR "/libmallow.so",
	"../" MALLOW_LIBDIR "/mallow/libmallow.so",
#endif
	"../lib/libmallow.so",
	"../lib/mallow/libmallow.so",
};

/*
 * Whether nobody but us and root can put something else at the path: whoever may could have code of
 * his run in the program, for instance if HOME is still his under sudo.
 */
static bool only_ours(const char *path)
{
	auto_free char *part = strdup(path);

	while (part) {
		char *slash = strrchr(part, '/');
		struct stat status;

		if (stat(part, &status) < 0 || (status.st_uid && status.st_uid != geteuid()) ||
		    (status.st_mode & (S_IWGRP | S_IWOTH) && !(status.st_mode & S_ISVTX)))
			return false;
		if (!part[1])
			return true; // the root
		slash[slash == part] = '\0';
	}
	return false;
}

/*
 * ld.so splits LD_PRELOAD at spaces and colons, and there is no escape: a library with such a path
 * is loaded by a symbolic link in the cache folder, whose name is the hash of the path.
 */
static struct err *link_library(const char *library, char **ret)
{
	auto_free char *cache = cache_folder_path(true), *folder = NULL, *link = NULL;

	if (!cache || strpbrk(cache, ": "))
		return err_create("'%s': LD_PRELOAD cannot carry a path with a space or a colon: "
				  "XDG_CACHE_HOME can name a folder for a link to it",
				  library);
	if (asprintf(&folder, "%s/%016jx", cache,
		     (uintmax_t)XXH3_64bits(library, strlen(library))) < 0 ||
	    asprintf(&link, "%s/libmallow.so", folder) < 0)
		return err_no_memory();
	if (mkdir(folder, 0700) < 0 && errno != EEXIST)
		return err_create_errno(errno, "'%s'", folder);
	if (!only_ours(folder))
		return err_create(
			"'%s': LD_PRELOAD cannot carry a path with a space or a colon, and "
			"others may write in '%s', or in a folder above it, where the link to "
			"it would be: XDG_CACHE_HOME can name another",
			library, folder);
	if (symlink(library, link) < 0 && errno != EEXIST)
		return err_create_errno(errno, "'%s'", link);
	*ret = steal(&link);
	return NULL;
}

static struct err *take_library(const char *path, char **ret)
{
	auto_free char *real = realpath(path, NULL);

	if (!real)
		return err_create_errno(errno, "'%s'", path);
	if (access(real, R_OK) < 0)
		return err_create_errno(errno, "'%s'", real);
	if (strpbrk(real, ": "))
		return link_library(real, ret);
	*ret = steal(&real);
	return NULL;
}

struct err *run_library_find(char **ret)
{
	const char *given = getenv("MALLOW_LIBRARY");
	auto_free char *own = NULL;
	struct err *err;

	if (given && *given)
		return err_prefix(take_library(given, ret), "MALLOW_LIBRARY");
	for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
		auto_free char *path = NULL;

		err = own_path_beside(places[i], &path);
		if (err)
			return err;
		if (access(path, R_OK) == 0)
			return take_library(path, ret);
	}
	err = own_path(&own);
	if (err)
		return err;
	return err_create("libmallow.so is neither beside the tool (%s) nor in ../lib: "
			  "MALLOW_LIBRARY can name it",
			  own);
}

/* The variables of FORCE_MALLOC: each makes a language's allocator call malloc for every block. */
static const char *const forcing[][2] = {
	{"PYTHONMALLOC", "malloc"}, /* Python's own allocator, for blocks up to 512 bytes */
	{"GLIBCXX_FORCE_NEW", "1"}, /* libstdc++'s __pool_alloc and __mt_alloc */
	{"USE_ZEND_ALLOC", "0"},    /* PHP's own allocator, for all blocks */
	{"G_SLICE",
	 "always-malloc"},         /* GLib's slices, for small blocks; from 2.76 on it has none */
	{"ERL_FLAGS", "+Mea min"}, /* Erlang's allocators: all that can be disabled */
	{"SYSTEMD_MEMPOOL", "0"},  /* systemd's tools: the pools of hash tables */
};
#define FORCING (ARRAY_COUNT(forcing))

/* The second one has code that is interpreted named, too. */
#define NODE_NAMES "--perf-basic-prof --interpreted-frames-native-stack"

/* The settings, LD_PRELOAD, ASAN_OPTIONS, NODE_OPTIONS, registry, parent and directory. */
#define MADE_MAX (SETTING_COUNT + 6 + FORCING)

/*
 * Room for the id of a recording. The agent writes its own over it, without allocating, so that the
 * program's children know their parent.
 */
#define NO_PARENT "00000000000000000000000000000000"

static bool same_name(const char *a, const char *b)
{
	size_t length = strcspn(a, "=");

	return strncmp(a, b, length) == 0 && b[length] == '=';
}

/* Adds the variable name=value. */
static struct err *make_variable(struct run_environment *environment, const char *name,
				 const char *value)
{
	size_t i = 0;

	while (environment->made[i])
		i++;
	if (asprintf(&environment->made[i], "%s=%s", name, value) < 0) {
		environment->made[i] = NULL;
		return err_no_memory();
	}
	return NULL;
}

static struct err *make_preload(struct run_environment *environment, const char *library)
{
	const char *users = getenv("LD_PRELOAD");
	auto_free char *value = NULL;
	size_t front;

	if (!users)
		users = "";
	front = preload_front(users);
	if (asprintf(&value, "%.*s%s%s%s%s", (int)front, users, front ? ":" : "", library,
		     users[front] && !front ? ":" : "", users + front) < 0)
		return err_no_memory();
	return make_variable(environment, "LD_PRELOAD", value);
}

/*
 * A program that gcc built with -fsanitize=address refuses to start if a library comes before
 * libasan, unless ASAN_OPTIONS allows it. Ours may: it calls the sanitizer's malloc. Options that
 * the user has set come last, and win.
 */
static struct err *make_asan_options(struct run_environment *environment)
{
	const char *users = getenv("ASAN_OPTIONS");
	auto_free char *value = NULL;

	if (asprintf(&value, "verify_asan_link_order=0%s%s", users && *users ? ":" : "",
		     users ? users : "") < 0)
		return err_no_memory();
	return make_variable(environment, "ASAN_OPTIONS", value);
}

/* Where there is no current directory, programs find out by themselves that they have none. */
static struct err *make_directory(struct run_environment *environment)
{
	auto_free char *directory = getcwd(NULL, 0);

	return directory ? make_variable(environment, RUN_DIRECTORY_VARIABLE, directory) : NULL;
}

static struct err *make_forcing(struct run_environment *environment)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < FORCING; i++)
		if (!getenv(forcing[i][0]))
			err = make_variable(environment, forcing[i][0], forcing[i][1]);
	return err;
}

static struct err *make_node_names(struct run_environment *environment)
{
	const char *users = getenv("NODE_OPTIONS");
	auto_free char *value = NULL;

	if (asprintf(&value, "%s%s" NODE_NAMES, users ? users : "", users && *users ? " " : "") < 0)
		return err_no_memory();
	return make_variable(environment, "NODE_OPTIONS", value);
}

/* Joins our variables and the rest of the tool's environment. */
static struct err *merge_variables(struct run_environment *environment)
{
	size_t count = 0, used = 0;

	while (environ[count])
		count++;
	environment->variables = calloc(count + MADE_MAX + 1, sizeof(char *));
	if (!environment->variables)
		return err_no_memory();
	for (size_t i = 0; environment->made[i]; i++)
		environment->variables[used++] = environment->made[i];
	for (size_t i = 0; i < count; i++) {
		bool replaced = false;

		for (size_t j = 0; environment->made[j]; j++)
			replaced |= same_name(environment->made[j], environ[i]);
		if (!replaced)
			environment->variables[used++] = environ[i];
	}
	return NULL;
}

struct err *run_environment_create(const struct options *options, const char *library,
				   const char *registry, struct run_environment *ret)
{
	cleanup(run_environment_deinit) struct run_environment environment = {0};
	struct err *err;

	environment.made = calloc(MADE_MAX + 1, sizeof(char *));
	if (!environment.made)
		return err_no_memory();
	err = make_preload(&environment, library);
	if (!err)
		err = make_asan_options(&environment);
	for (int i = 0; !err && i < SETTING_COUNT; i++) {
		if (options->values[i])
			err = make_variable(&environment, setting_info(i)->variable,
					    options->values[i]);
	}
	if (!err && setting_options_value(options, SETTING_FORCE_MALLOC))
		err = make_forcing(&environment);
	if (!err && setting_options_value(options, SETTING_SCRIPT_NAMES))
		err = make_node_names(&environment);
	if (!err)
		err = make_variable(&environment, REGISTRY_VARIABLE, registry);
	if (!err)
		err = make_variable(&environment, "MALLOW_PARENT", NO_PARENT);
	if (!err)
		err = make_directory(&environment);
	if (!err)
		err = merge_variables(&environment);
	if (err)
		return err;
	*ret = environment;
	environment = (struct run_environment){0};
	return NULL;
}

void run_environment_deinit(struct run_environment *environment)
{
	for (size_t i = 0; environment->made && environment->made[i]; i++)
		free(environment->made[i]);
	free(environment->made);
	free(environment->variables);
	*environment = (struct run_environment){0};
}
