/*
 * What ARM's own unwind tables say of calls: exidx_rules FILE OFFSET ADDRESS SIZE, and on standard
 * input addresses, hexadecimal. FILE's byte OFFSET + address is where one lies, ADDRESS and SIZE
 * are .ARM.exidx's. For each it writes six numbers of 4 bytes: enum exidx_answer; the register that
 * the CFA counts from, and how far it is; where from the CFA the return address, r7 and r11 are
 * saved (0: they are not).
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cfi/exidx.h"

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDONLY);
	uint64_t offset = strtoul(argv[2], NULL, 0), pc;
	struct stat status;

	if (argc != 5 || fstat(fd, &status))
		return 2;
	const uint8_t *file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	struct eh_image image = {file + offset, (size_t)status.st_size - offset, 0};
	struct exidx_table table = {&image, strtoul(argv[3], NULL, 0), strtoul(argv[4], NULL, 0)};

	while (scanf("%" SCNx64, &pc) == 1) {
		struct exidx_function function;
		struct unwind_rule rule = {0};
		struct rule_place place;
		int32_t words[6] = {(int32_t)exidx_find(&table, pc, &function)};

		if (words[0] == EXIDX_FOUND)
			words[0] = (int32_t)exidx_rule(&function, 7, &rule);
		if (words[0] == EXIDX_FOUND) {
			words[1] = rule.cfa_base;
			words[2] = rule.cfa_offset;
			words[3] = rule.ra.how == RULE_AT ? rule.ra_offset : 0;
			words[4] = rule.fp.how == RULE_AT ? rule.fp_offset : 0;
			exidx_place(&function, 11, &place, &words[5]);
		}
		fwrite(words, sizeof(words), 1, stdout);
	}
}
