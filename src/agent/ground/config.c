#include "agent/ground/config.h"

#include <signal.h>

#include "agent/ground/libc.h"
#include "agent/ground/link_map.h"
#include "agent/ground/log.h"
#include "agent/ground/next_functions.h"
#include "agent/ground/text.h"
#include "base/compiler.h"
#include "base/preload.h"
#include "trace/registry.h"

// Both glibc and musl have it. musl's loader sets it before any code of the program runs. glibc
// sets it in its own constructor, which runs after .preinit_array and libraries linked with -z
// initfirst.
extern char **environ __attribute__((weak));
// Set by glibc's loader: the address of the number of arguments, where the kernel puts it at the
// start.
extern void *__libc_stack_end __attribute__((weak));

#define DEPTH_MAX   (1000u << 10) /* the format ends at 1,048,576 frames */
#define SHORT_DEPTH 8             /* BACKTRACE=short */

struct config config;

static char kept[8192];
static size_t kept_size;

char **config_variables(void)
{
	const uint64_t *arguments;

	if (&environ && environ)
		return environ;
	// Other allocators may not be ready for anything so early; AddressSanitizer's is not.
	if (!&__libc_stack_end || !__libc_stack_end || !real.allocator_is_glibc)
		return NULL;
	// System V ABI, AMD64 supplement, 3.4.1: number, arguments, NULL, environment, NULL.
	arguments = __libc_stack_end;
	return (char **)arguments + 1 + *arguments + 1;
}

static char *find_variable(const char *name)
{
	size_t length = strlen(name);

	for (char **entry = config_variables(); entry && *entry; entry++)
		if (!strncmp(*entry, name, length) && (*entry)[length] == '=')
			return *entry + length + 1;
	return NULL;
}

bool config_is_ours(const char *entry)
{
	return !strncmp(entry, "MALLOW_", 7) && strncmp(entry, "MALLOW_TOKEN=", 13);
}

const char *config_environment(const char *name)
{
	return find_variable(name);
}

/* Lower-case hex digits to bytes; false where they are none. */
static bool parse_id(const char *digits, uint8_t id[16])
{
	for (int i = 0; i < 32; i++) {
		char c = digits[i];
		int value;

		if (c >= '0' && c <= '9')
			value = c - '0';
		else if (c >= 'a' && c <= 'f')
			value = c - 'a' + 10;
		else
			return false;
		id[i / 2] = (uint8_t)(i % 2 ? id[i / 2] | value : value << 4);
	}
	return digits[32] == '\0';
}

void config_write_id(char *digits, const uint8_t id[16])
{
	for (int i = 0; i < 32; i++)
		digits[i] = "0123456789abcdef"[id[i / 2] >> (i % 2 ? 0 : 4) & 15];
}

void config_publish_id(const uint8_t id[16])
{
	static const char name[] = "MALLOW_PARENT=";
	const size_t length = sizeof(name) - 1;

	// In place, so that the environment keeps its shape; unless something else lies there by
	// now.
	if (config.parent && !strncmp(config.parent - length, name, length))
		config_write_id(config.parent, id);
}

static void warn_bad_value(enum setting setting, const char *word)
{
	log_start(SETTING_LOG_ERROR);
	log_string(setting_info(setting)->variable);
	log_string("='");
	log_string(word);
	log_string("' is not allowed; allowed: ");
	log_string(setting_allowed(setting));
	log_end();
}

/* Under `mallow run` and `mallow live` the tool has said it. */
static void warn_mistyped(void)
{
	char room[64];

	for (char **entry = config_variables(); *entry; entry++) {
		struct text name;

		if (!setting_is_mistyped(*entry))
			continue;
		text_init(&name, room, sizeof(room));
		for (const char *c = *entry; *c && *c != '='; c++)
			text_char(&name, *c);
		log_start(SETTING_LOG_ERROR);
		log_string(room);
		log_string(" is no setting of mallow, and has no effect");
		log_end();
	}
}

/* Logs the settings that were given, so that a user sees whether they arrived. */
static void log_settings(void)
{
	for (int i = 0; log_wants(SETTING_LOG_DEBUG) && i < SETTING_COUNT; i++) {
		const char *word = find_variable(setting_info(i)->variable);

		if (!word)
			continue;
		log_start(SETTING_LOG_DEBUG);
		log_string(setting_info(i)->variable);
		log_string("=");
		log_string(word);
		log_end();
	}
}

/*
 * Copies a value, because programs that change their title (setproctitle) overwrite their
 * environment. If there is no room, the original.
 */
static const char *keep_value(const char *word)
{
	size_t size = word ? strlen(word) + 1 : 0;
	char *copy = kept + kept_size;

	if (!word || size > sizeof(kept) - kept_size)
		return word;
	memcpy(copy, word, size);
	kept_size += size;
	return copy;
}

static void read_parent(void)
{
	char *parent = find_variable("MALLOW_PARENT");

	if (parent && parse_id(parent, config.parent_id))
		config.parent = parent;
	else
		memset(config.parent_id, 0, sizeof(config.parent_id));
}

bool config_is_child(void)
{
	static const uint8_t none[sizeof(config.parent_id)];

	return memcmp(config.parent_id, none, sizeof(none)) != 0;
}

static void limit_depth(void)
{
	uint64_t *depth = &config.value[SETTING_DEPTH];

	if (*depth > DEPTH_MAX)
		*depth = DEPTH_MAX;
	if (config.value[SETTING_BACKTRACE] == SETTING_BACKTRACE_SHORT && *depth > SHORT_DEPTH)
		*depth = SHORT_DEPTH;
	// The caches hold whole stacks. UNWINDER=plain keeps events off the path that uses them.
	if (config.value[SETTING_BACKTRACE] != SETTING_BACKTRACE_FULL)
		config.value[SETTING_UNWINDER] = SETTING_UNWINDER_PLAIN;
}

#define USDT_SAMPLE (512 << 10) /* as the readers of these probes expect it */

/*
 * USDT is about samples. CULL cannot go with SAMPLE: a block's weight depends on its size, which
 * sums do not have.
 */
static void choose_selection(void)
{
	if (config.value[SETTING_USDT] && !config.value[SETTING_SAMPLE])
		config.value[SETTING_SAMPLE] = USDT_SAMPLE;
	if (!config.value[SETTING_SAMPLE] || !config.value[SETTING_CULL])
		return;
	config.value[SETTING_CULL] = 0;
	if (!config_is_child())
		log_line(SETTING_LOG_ERROR, "MALLOW_CULL is ignored, because MALLOW_SAMPLE is set");
}

/* DISABLE_BY_DEFAULT needs a signal to start: SIGUSR1, unless SIGNAL_TOGGLE was set. */
static void choose_signal(void)
{
	const char *word = find_variable(setting_info(SETTING_SIGNAL_TOGGLE)->variable);
	uint64_t number;

	if (config.value[SETTING_DISABLE_BY_DEFAULT] && !config_is_live() &&
	    !(word && setting_parse(SETTING_SIGNAL_TOGGLE, word, &number)))
		config.value[SETTING_SIGNAL_TOGGLE] = SIGUSR1;
}

/* Switches off the settings of the other mode. */
static void choose_mode(void)
{
	static const uint8_t of_record[] = {SETTING_FREE_STACKS,    SETTING_SLOTS,
					    SETTING_CULL,           SETTING_MAX_FILE_SIZE,
					    SETTING_MEMORY_SAMPLES, SETTING_STREAM_ONLY};
	static const uint8_t of_live[] = {SETTING_SIGNAL_DUMP_SIZE, SETTING_SIGNAL_DUMP_COUNT,
					  SETTING_SIGNAL_BASELINE, SETTING_INTERVAL};
	bool live = config_is_live();

	for (size_t i = 0; live && i < ARRAY_COUNT(of_record); i++)
		config.value[of_record[i]] = 0;
	for (size_t i = 0; !live && i < ARRAY_COUNT(of_live); i++)
		config.value[of_live[i]] = 0;
}

/* STREAM_ONLY where nobody could ever receive the recording: then it goes to a file. */
static void choose_place(void)
{
	if (!config.value[SETTING_STREAM_ONLY] || config.registry || config_streams())
		return;
	config.value[SETTING_STREAM_ONLY] = 0;
	if (!config_is_child())
		log_line(SETTING_LOG_ERROR,
			 "MALLOW_STREAM_ONLY is ignored, because nothing says where to send the "
			 "recording: MALLOW_CONNECT, MALLOW_LISTEN or MALLOW_BROADCAST");
}

static bool has_settings(void)
{
	for (char **entry = config_variables(); *entry; entry++)
		if (config_is_ours(*entry))
			return true;
	return false;
}

/* Records nothing and takes no signals until a recording is asked for. */
static void be_idle(void)
{
	static const uint8_t off[] = {SETTING_SIGNAL_TOGGLE, SETTING_SIGNAL_DUMP_SIZE,
				      SETTING_SIGNAL_DUMP_COUNT, SETTING_SIGNAL_BASELINE,
				      SETTING_ZERO_MEMORY};

	config.waits = true;
	config.value[SETTING_DISABLE_BY_DEFAULT] = 1;
	for (size_t i = 0; i < ARRAY_COUNT(off); i++)
		config.value[off[i]] = 0;
}

void config_say_unseen(void)
{
	static uint32_t said;

	// Another copy of the agent comes first, because the program runs under mallow: that one
	// records.
	if (link_map_find_first("mallow_api_sync") ||
	    __atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
		return;
	log_line(
		SETTING_LOG_ERROR,
		"libmallow.so was loaded by dlopen(), or behind the C library: it sees none of the "
		"program's calls and records nothing; link the program with it, or use mallow run");
}

/*
 * An agent that is linked into a program waits until a recording is asked for, by the environment
 * or by mallow_start(). It waits for ever if another copy comes first, because the program runs
 * under mallow; or if it sees none of the program's calls (config.unseen).
 */
static void wait_until_asked(void)
{
	bool asked = config_preloads_us(config_environment("LD_PRELOAD")) || has_settings();

	config.unseen = !link_map_is_before_libc();
	if (asked && !config.unseen && link_map_is_first("mallow_api_sync"))
		return;
	be_idle();
	if (asked && config.unseen)
		config_say_unseen();
}

bool config_read(void)
{
	if (!config_variables())
		return false;
	kept_size = 0;
	read_parent();
	for (int i = 0; i < SETTING_COUNT; i++) {
		const struct setting_info *info = setting_info(i);
		const char *word = find_variable(info->variable);

		config.text[i] = word && *word && info->kind == SETTING_KIND_TEXT ? keep_value(word)
										  : info->standard;
		config.value[i] = setting_default(i);
		if (word && info->kind != SETTING_KIND_TEXT &&
		    !setting_parse(i, word, &config.value[i]) && !config_is_child())
			warn_bad_value(i, word);
	}
	choose_mode();
	choose_signal();
	choose_selection();
	wait_until_asked();
	limit_depth();
	log_settings();
	config.registry = keep_value(find_variable(REGISTRY_VARIABLE));
	choose_place();
	if (!config.registry && !config_is_child())
		warn_mistyped();
	return true;
}

bool config_is_our_library(const char *entry, size_t length)
{
	static const char name[] = "libmallow.so";
	size_t size = sizeof(name) - 1;

	return length >= size && !strncmp(entry + length - size, name, size) &&
	       (length == size || entry[length - size - 1] == '/');
}

bool config_preloads_us(const char *list)
{
	while (list && *list) {
		size_t length = preload_entry_length(list);

		if (config_is_our_library(list, length))
			return true;
		list += length + (list[length] != '\0');
	}
	return false;
}

static void remove_variable(const char *name)
{
	size_t length = strlen(name);
	char **variables = config_variables(), **to = variables;

	for (char **from = variables; *from; from++)
		if (strncmp(*from, name, length) || (*from)[length] != '=')
			*to++ = *from;
	*to = NULL;
}

bool config_strip_preload(char *list)
{
	char *out = list;

	for (char *entry = list; *entry;) {
		size_t length = preload_entry_length(entry);

		if (!config_is_our_library(entry, length)) {
			if (out != list)
				*out++ = ':';
			memmove(out, entry, length);
			out += length;
		}
		entry += length;
		if (*entry)
			entry++;
	}
	*out = '\0';
	return out == list;
}

void config_hide_preload(void)
{
	char *list = find_variable("LD_PRELOAD");

	if (list && config_strip_preload(list))
		remove_variable("LD_PRELOAD");
}
