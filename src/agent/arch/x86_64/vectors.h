/* Instructions that save and load xmm0 to xmm15, at rsp + offset (a string). */
#ifndef MALLOW_AGENT_ARCH_X86_64_VECTORS_H
#define MALLOW_AGENT_ARCH_X86_64_VECTORS_H

#define VECTORS_EACH(one, offset)                                                                  \
	one(offset, 0) one(offset, 1) one(offset, 2) one(offset, 3) one(offset, 4) one(offset, 5)  \
		one(offset, 6) one(offset, 7) one(offset, 8) one(offset, 9) one(offset, 10)        \
			one(offset, 11) one(offset, 12) one(offset, 13) one(offset, 14)            \
				one(offset, 15)
#define VECTORS_SAVE_ONE(offset, number)                                                           \
	"	movups %xmm" #number ", " offset " + 16 * " #number "(%rsp)\n"
#define VECTORS_LOAD_ONE(offset, number)                                                           \
	"	movups " offset " + 16 * " #number "(%rsp), %xmm" #number "\n"
#define VECTORS_SAVE(offset) VECTORS_EACH(VECTORS_SAVE_ONE, offset)
#define VECTORS_LOAD(offset) VECTORS_EACH(VECTORS_LOAD_ONE, offset)

#endif
