#include "report/words/machine_name.h"

#include <elf.h>

const char *machine_name(const struct recording_facts *facts)
{
	bool wide = facts->pointer_size == 8;

	switch (facts->machine) {
	case EM_X86_64:
		return "amd64";
	case EM_386:
		return "i386";
	case EM_AARCH64:
		return "aarch64";
	case EM_ARM:
		return "arm";
	case EM_MIPS: // of either byte order, which recordings do not say
		return wide ? "mips64" : "mips";
	case EM_RISCV:
		return wide ? "riscv64" : "riscv32";
	case EM_S390:
		return wide ? "s390x" : "s390";
	default:
		return NULL;
	}
}
