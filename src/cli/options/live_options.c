#include "cli/options/live_options.h"

#include <string.h>

#include "cli/cli.h"
#include "cli/options/setting_options.h"
#include "cli/options/shared_options.h"
#include "hosted/cleanup.h"

static bool parse_key(const char *word, size_t length, enum live_key *ret)
{
	for (int key = 0; key < LIVE_KEY_COUNT; key++) {
		const char *name = live_key_name((enum live_key)key);

		if (strlen(name) == length && memcmp(name, word, length) == 0) {
			*ret = (enum live_key)key;
			return true;
		}
	}
	return false;
}

/* Parses keys with commas between them. */
static bool parse_keys(const char *word, struct live_options *ret)
{
	for (size_t count = 0; count < LIVE_KEYS_MAX; word++) {
		size_t length = strcspn(word, ",");

		if (!parse_key(word, length, &ret->keys[count]))
			return false;
		word += length;
		ret->key_count = ++count;
		if (!*word)
			return true;
	}
	return false;
}

static bool read_keys(const struct options *options, struct live_options *ret)
{
	const char *typed = options->values[SETTING_SORT];
	const char *word = setting_options_word(options, SETTING_SORT);

	if (word && parse_keys(word, ret))
		return true;
	if (typed) {
		cli_error(CLI_USAGE,
			  "'%s' is no value of --sort: size, count, or both with a comma between "
			  "them is wanted",
			  typed);
		return false;
	}
	return parse_keys(setting_info(SETTING_SORT)->standard, ret);
}

bool live_options_read(const struct options *options, struct live_options *ret)
{
	bool limited = setting_options_word(options, SETTING_TOP);

	*ret = (struct live_options){
		.format = setting_options_value(options, SETTING_FLAME_GRAPH) ? LIVE_FLAME_GRAPH
			  : setting_options_value(options, SETTING_JSON)      ? LIVE_JSON
									      : LIVE_TEXT,
		.top = (uint32_t)setting_options_value(options, SETTING_TOP),
		.depth = (uint32_t)setting_options_value(options, SETTING_PRINT_DEPTH),
		.full = setting_options_value(options, SETTING_FULL),
		.outfile = setting_options_word(options, SETTING_OUTFILE),
		.ignore = setting_options_word(options, SETTING_IGNORE),
		.plumbing = setting_options_word(options, SETTING_PLUMBING),
	};
	if (ret->format != LIVE_TEXT && !limited)
		ret->top = 0;
	return read_keys(options, ret);
}

struct err *live_options_ignore(const char *path, struct live_ignore *ret)
{
	cleanup(buf_deinit) struct buf text = BUF_EMPTY;
	struct err *err;

	err = text_file_read(path, "lines to ignore", &text);
	return err ? err : live_ignore_add(ret, path, text.data, text.size);
}
