/* The settings as the program's environment gives them. Read once, before anything is recorded. */
#ifndef MALLOW_AGENT_GROUND_CONFIG_H
#define MALLOW_AGENT_GROUND_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "settings/settings.h"

struct config {
	uint64_t value[SETTING_COUNT];   /* of what is no text */
	const char *text[SETTING_COUNT]; /* of texts; in the environment or static */
	const char *registry;            /* MALLOW_REGISTRY: where `mallow run` lists recordings */
	bool waits;   /* linked into a program, and nothing in the environment asks for it */
	bool unseen;  /* waits for good: link_map_is_before_libc() says no */
	char *parent; /* MALLOW_PARENT: 32 hex digits, overwritten in place for children; or NULL */
	uint8_t parent_id[16]; /* as it was at the start; zero: none */
};

extern struct config config hidden;

/* false: too early, there is no environment yet. */
bool config_read(void);

/* Says why nothing will be recorded, once, where config.unseen. */
void config_say_unseen(void);

static inline bool config_stackless(void)
{
	return config.value[SETTING_BACKTRACE] == SETTING_BACKTRACE_NONE;
}

/* Nothing is recorded but the live table. */
static inline bool config_is_live(void)
{
	return config.value[SETTING_MODE] == SETTING_MODE_LIVE;
}

/* FREE_STACKS, where there are stacks at all. */
static inline bool config_free_stacks(void)
{
	return config.value[SETTING_FREE_STACKS] && !config_stackless();
}

/* Whether a recorded program started this one: what is wrong with the settings was said there. */
bool config_is_child(void);

/*
 * The environment as it is, before the C library has set environ, too: glibc sets it to these very
 * words. NULL: not known yet.
 */
char **config_variables(void);

/*
 * Whether "NAME=value" is for the agent and what it starts: MALLOW_…, but for MALLOW_TOKEN, which
 * is a secret of `mallow serve`.
 */
bool config_is_ours(const char *entry);

/* The value of a variable in the environment, or NULL. */
const char *config_environment(const char *name);

/* 32 hex digits over 32 hex digits. */
void config_write_id(char *digits, const uint8_t id[16]);

/* Children know their parent: writes the id into MALLOW_PARENT, if there is one. */
void config_publish_id(const uint8_t id[16]);

/* Whether an entry of LD_PRELOAD, length bytes long, names this library. */
bool config_is_our_library(const char *entry, size_t length);

/* Whether any entry does. list: LD_PRELOAD's value, or NULL. */
bool config_preloads_us(const char *list);

/* FOLLOW=0: our own entry of LD_PRELOAD leaves the environment, the user's others stay. */
void config_hide_preload(void);

#endif
