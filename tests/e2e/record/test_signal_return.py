"""Handlers that return by code of no module, as under an emulator: their stacks go on to what they interrupted."""
import subprocess

import pytest

from conftest import ARCH, need

PROGRAM = r"""
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
struct kernels_action { void (*handler)(int); unsigned long flags; void *restorer; unsigned long mask; };
__attribute__((noinline)) void in_handler(int number)
{
	(void)!malloc(100);
	__asm__ volatile("");
}
__attribute__((noinline)) void interrupted(void)
{
	raise(SIGUSR1);
	__asm__ volatile("");
}
int main(void)
{
	static const char code[] = "\x48\xc7\xc0\x0f\0\0\0\x0f\x05"; // mov $15, %rax; syscall
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct kernels_action action = {in_handler, SA_RESTART | 0x04000000, page, 0};

	memcpy(page, code, sizeof(code));
	if (syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, 8))
		return 1;
	for (int i = 0; i < 10; i++)
		interrupted();
	return 0;
}
"""


@pytest.mark.skipif(ARCH is not None, reason="its machine code is x86-64's")
def test_in_no_module(tmp_path, record, tool):
    (tmp_path / "program.c").write_text(PROGRAM)
    subprocess.run([need("gcc"), "-g", "-O1", "-fno-builtin", "-o", tmp_path / "program", tmp_path / "program.c"], check=True)
    recorded = record([tmp_path / "program"])
    recorded.assert_sound()
    stacks = tool("export", "--to", "collapsed", "--metric", "calls", recorded.path).stdout
    [line] = [line for line in stacks.splitlines() if line.endswith(";in_handler 10")]
    assert ";main;interrupted;" in line
