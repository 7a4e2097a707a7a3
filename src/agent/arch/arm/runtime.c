/*
 * What compiled code asks for, and libgcc would ask the C library for (Arm's IHI 0043, "Run-time
 * ABI", and IHI 0038).
 */

#define ours __attribute__((visibility("hidden")))

/* What a division by 0 returns: there is none. */
int __aeabi_idiv0(int value) ours;
long long __aeabi_ldiv0(long long value) ours;

/* Unwind tables name these, unwinders have their own. */
void __aeabi_unwind_cpp_pr0(void) ours;
void __aeabi_unwind_cpp_pr1(void) ours;

int __aeabi_idiv0(int value)
{
	return value;
}

long long __aeabi_ldiv0(long long value)
{
	return value;
}

void __aeabi_unwind_cpp_pr0(void)
{
}

void __aeabi_unwind_cpp_pr1(void)
{
}
