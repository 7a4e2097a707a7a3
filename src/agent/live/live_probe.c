#include "agent/live/live_probe.h"

#include "agent/arch/machine.h"
#include "agent/live/live_sampled.h"

#ifdef ARCH_PROBE_FIRST

/* An argument's size in bytes and its register. */
#define ARGUMENT(name) "8@" ARCH_PROBE_MARK name

/*
 * A byte in a section of its own: by its address in a note tools see whether the file was moved
 * since the note was written.
 */
__asm__(".pushsection .stapsdt.base, \"a\", %progbits\n"
	"live_probe_base: .space 1\n"
	".popsection\n");

/*
 * The probe's instruction, and its note: type 3, of "stapsdt", with the addresses of the
 * instruction, of the byte above, and of a counter, which there is none of; then provider, name and
 * arguments.
 */
#define PROBE(name, arguments)                                                                     \
	"990: nop\n"                                                                               \
	".pushsection .note.stapsdt, \"\", %%note\n"                                               \
	".balign 4\n"                                                                              \
	".4byte 992f - 991f, 994f - 993f, 3\n"                                                     \
	"991: .asciz \"stapsdt\"\n"                                                                \
	"992: .balign 4\n"                                                                         \
	"993: .8byte 990b, live_probe_base, 0\n"                                                   \
	".asciz \"otel_memory\", \"" name "\", \"" arguments "\"\n"                                \
	"994: .balign 4\n"                                                                         \
	".popsection\n"

never_inline void live_probe_begin_slow(uint64_t address, uint64_t size)
{
	uint64_t weighted = weight_of_sample(size, config.value[SETTING_SAMPLE]).bytes;
	register uint64_t first __asm__(ARCH_PROBE_FIRST) = address;
	register uint64_t second __asm__(ARCH_PROBE_SECOND) = size;
	register uint64_t third __asm__(ARCH_PROBE_THIRD) = weighted;

	__asm__ volatile(PROBE("alloc", ARGUMENT(ARCH_PROBE_FIRST) " " ARGUMENT(
						ARCH_PROBE_SECOND) " " ARGUMENT(ARCH_PROBE_THIRD))
			 :
			 : "r"(first), "r"(second), "r"(third));
}

never_inline void live_probe_end_slow(uint64_t address)
{
	register uint64_t first __asm__(ARCH_PROBE_FIRST) = address;

	__asm__ volatile(PROBE("free", ARGUMENT(ARCH_PROBE_FIRST)) : : "r"(first));
}

#else

void live_probe_begin_slow(uint64_t address, uint64_t size)
{
}

void live_probe_end_slow(uint64_t address)
{
}

#endif
