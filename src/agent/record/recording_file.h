/* Creating a recording: its id, its file and header, and the news to `mallow run`. */
#ifndef MALLOW_AGENT_RECORD_RECORDING_FILE_H
#define MALLOW_AGENT_RECORD_RECORDING_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/record/file.h"

/* Makes a random number that no other recording has. */
void recording_file_make_id(uint8_t id[16]);

/*
 * Creates the file and maps its header. later: this is not the first image of the run. false: it
 * could not, and a line was printed.
 */
bool recording_file_create(struct file *file, bool later);

/*
 * After the file was created. recording_file_open() writes the header and tells `mallow run`;
 * parent is the id of the recording that this one descends from. recording_file_say() writes a line
 * to the log.
 */
void recording_file_open(bool forked, const uint8_t parent[16]);
void recording_file_say(void);

#endif
