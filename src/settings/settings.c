#include "settings/settings.h"

#include <stddef.h>

static const struct setting_info infos[SETTING_COUNT] = {
#define SETTING(NAME, name, kind_, default_, value_, text_)                                        \
	[SETTING_##NAME] = {                                                                       \
		.variable = "MALLOW_" #NAME,                                                       \
		.option = name,                                                                    \
		.kind = SETTING_KIND_##kind_,                                                      \
		.standard = default_,                                                              \
		.value = value_,                                                                   \
		.text = text_,                                                                     \
	},
#include "settings/settings.def"
#undef SETTING
};

static const char booleans[] = "0 1 false true no yes off on";

const struct setting_info *setting_info(enum setting setting)
{
	return &infos[setting];
}

/* Compares one word of a list with a whole string; returns the rest of the list, NULL: differs. */
static const char *same_word(const char *list, const char *word)
{
	while (*word && *list == *word) {
		list++;
		word++;
	}
	return *word == '\0' && (*list == ' ' || *list == '\0') ? list : NULL;
}

static bool find_word(const char *list, const char *word, uint64_t *ret)
{
	for (uint64_t i = 0; *list; i++) {
		if (same_word(list, word)) {
			*ret = i;
			return true;
		}
		while (*list && *list != ' ')
			list++;
		while (*list == ' ')
			list++;
	}
	return false;
}

static bool parse_number(const char *word, uint64_t *ret)
{
	uint64_t value = 0;

	if (!*word)
		return false;
	for (; *word; word++) {
		if (*word < '0' || *word > '9' || value > UINT32_MAX)
			return false;
		value = value * 10 + (uint64_t)(*word - '0');
	}
	if (value == 0 || value > UINT32_MAX)
		return false;
	*ret = value;
	return true;
}

bool setting_parse(enum setting setting, const char *word, uint64_t *ret)
{
	uint64_t position;

	switch (infos[setting].kind) {
	case SETTING_KIND_TEXT:
		return false;
	case SETTING_KIND_BOOLEAN:
		if (!find_word(booleans, word, &position))
			return false;
		*ret = position & 1;
		return true;
	case SETTING_KIND_NUMBER:
		return parse_number(word, ret);
	case SETTING_KIND_CHOICE:
		return find_word(infos[setting].standard, word, ret);
	}
	return false;
}

uint64_t setting_default(enum setting setting)
{
	uint64_t value = 0;

	// A choice's default is its first word, position 0.
	if (infos[setting].kind != SETTING_KIND_CHOICE)
		setting_parse(setting, infos[setting].standard, &value);
	return value;
}

const char *setting_allowed(enum setting setting)
{
	switch (infos[setting].kind) {
	case SETTING_KIND_BOOLEAN:
		return booleans;
	case SETTING_KIND_NUMBER:
		return "a number from 1 to 4294967295";
	case SETTING_KIND_CHOICE:
		return infos[setting].standard;
	case SETTING_KIND_TEXT:
		break;
	}
	return "any text";
}
