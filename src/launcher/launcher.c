/*
 * bin/mallow of the tarball and the wheel: runs the tool with the dynamic loader and the libraries
 * that lie beside it, on a system that may have others, or none (docs/adr/0039-bundle.md).
 *
 *   bin/mallow                   this program, static, without a C library
 *   lib/mallow/tool/loader       glibc's ld.so
 *   lib/mallow/tool/mallow       the tool; its DT_RPATH is $ORIGIN/../lib/mallow/tool
 *
 * It maps both as the kernel does for an executed program (load_elf_binary() of Linux), tells the
 * loader where the tool is, and jumps to it. Executing the loader instead would make it
 * /proc/self/exe, by which the tool finds its library and starts itself again, and $ORIGIN. Nothing
 * is left in the environment: programs that the tool starts have their system's loader. LD_PRELOAD
 * and the like are theirs, too (base/loader_variables.h).
 */
#include <elf.h>
#include <errno.h>
#include <limits.h>

#include "agent/arch/syscall.h"
#include "base/compiler.h"
#include "base/loader_variables.h"

#define PLACE    "/../lib/mallow/tool/"
#define HEADERS  4096 /* bytes of a file that hold its ELF header and program headers */
#define NO_START 127

// The note of static programs that an agent need not speak of (base/program_head.h). mallow is not
// recorded by mallow.
__asm__(".pushsection .note.mallow, \"a\", %note\n"
	".balign 4\n"
	".long 7, 0, 1\n"
	".asciz \"mallow\"\n"
	".balign 4\n"
	".popsection");

struct object {
	uintptr_t bias; /* what is added to its addresses */
	uintptr_t headers;
	unsigned long header_count;
	uintptr_t entry;
};

static unsigned long page_size = 4096;

static size_t length_of(const char *text)
{
	size_t length = 0;

	while (text[length])
		length++;
	return length;
}

static void say(const char *text)
{
	syscall_raw(SYS_write, 2, (long)text, (long)length_of(text), 0, 0, 0);
}

__attribute__((noreturn)) static void fail(const char *what, const char *path)
{
	say("mallow: ");
	say(what);
	say(path);
	say("\n");
	for (;;)
		syscall_raw(SYS_exit_group, NO_START, 0, 0, 0, 0, 0);
}

static uintptr_t page_of(uintptr_t address)
{
	return address & -page_size;
}

static uintptr_t map_at(uintptr_t address, size_t size, int protection, int flags, int fd,
			long offset)
{
	return (uintptr_t)syscall_raw(SYS_mmap, (long)address, (long)size, protection,
				      MAP_PRIVATE | flags, fd, offset);
}

/* Maps a segment, and the zeros behind what the file has of it. */
static bool map_segment(const Elf64_Phdr *phdr, uintptr_t bias, int fd)
{
	uintptr_t start = bias + phdr->p_vaddr, in_file = start + phdr->p_filesz;
	uintptr_t zeros = page_of(in_file + page_size - 1), end = start + phdr->p_memsz;
	size_t before = start - page_of(start);
	int protection = (phdr->p_flags & PF_R ? PROT_READ : 0) |
			 (phdr->p_flags & PF_W ? PROT_WRITE : 0) |
			 (phdr->p_flags & PF_X ? PROT_EXEC : 0);

	if (syscall_error(map_at(page_of(start), phdr->p_filesz + before, protection, MAP_FIXED, fd,
				 (long)(phdr->p_offset - before))))
		return false;
	if (phdr->p_memsz > phdr->p_filesz && protection & PROT_WRITE)
		for (volatile char *byte = (char *)in_file; byte < (char *)zeros; byte++)
			*byte = 0;
	return end <= zeros || !syscall_error(map_at(zeros, end - zeros, protection,
						     MAP_FIXED | MAP_ANONYMOUS, -1, 0));
}

static bool is_ours(const Elf64_Ehdr *header)
{
	return *(const uint32_t *)header->e_ident == *(const uint32_t *)ELFMAG &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_type == ET_DYN &&
	       header->e_phentsize == sizeof(Elf64_Phdr) &&
	       header->e_phoff + header->e_phnum * sizeof(Elf64_Phdr) <= HEADERS;
}

static struct object map_object(const char *path)
{
	static union {
		Elf64_Ehdr header;
		char bytes[HEADERS];
	} file;
	const Elf64_Phdr *phdr = (const void *)(file.bytes + sizeof(file.header));
	long fd = syscall_raw(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	uintptr_t end = 0;
	struct object object;

	if (fd < 0)
		fail(fd == -EACCES
			     ? "no permission to read "
			     : "it runs only in the folder that it was unpacked in: there is no ",
		     path);
	if (syscall_raw(SYS_read, fd, (long)&file, HEADERS, 0, 0, 0) < HEADERS ||
	    !is_ours(&file.header))
		fail("no file of mallow's: ", path);
	phdr = (const void *)(file.bytes + file.header.e_phoff);
	for (int i = 0; i < file.header.e_phnum; i++)
		if (phdr[i].p_type == PT_LOAD && phdr[i].p_vaddr + phdr[i].p_memsz > end)
			end = phdr[i].p_vaddr + phdr[i].p_memsz;
	object = (struct object){
		.bias = map_at(0, end, PROT_NONE, MAP_ANONYMOUS, -1, 0),
		.header_count = file.header.e_phnum,
	};
	for (int i = 0; i < file.header.e_phnum; i++)
		if (syscall_error(object.bias) ||
		    (phdr[i].p_type == PT_LOAD && !map_segment(&phdr[i], object.bias, (int)fd)))
			fail("cannot map (is it on a file system without execution?) ", path);
	syscall_raw(SYS_close, fd, 0, 0, 0, 0, 0);
	object.headers = object.bias + file.header.e_phoff; // the first segment begins with them
	object.entry = object.bias + file.header.e_entry;
	return object;
}

/* The path of a file in the tool's folder. The next call writes over it. */
static const char *path_of(const char *name)
{
	static char path[PATH_MAX];
	const char *parts[] = {PLACE, name};
	long length = syscall_raw(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)path,
				  PATH_MAX - 64, 0, 0);

	if (length <= 0)
		fail("/proc is needed, and is not mounted", "");
	while (path[length - 1] != '/')
		length--;
	length--; // the slash is in PLACE
	for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
		for (const char *from = parts[i]; *from; from++)
			path[length++] = *from;
	path[length] = '\0';
	return path;
}

/*
 * Called by start.c. stack: as the kernel has filled it: the arguments, the environment, and the
 * auxiliary vector, which becomes that of the tool. Returns where the loader begins.
 */
uintptr_t launcher_load(uintptr_t *stack);

uintptr_t launcher_load(uintptr_t *stack)
{
	struct object tool, loader;
	Elf64_auxv_t *vector;

	stack += 1 + stack[0] + 1; // argc, argv, NULL
	loader_variables_turn((char **)stack, LOADER_VARIABLES_SHOWN, LOADER_VARIABLES_HIDDEN);
	while (*stack++)
		;
	vector = (Elf64_auxv_t *)stack;
	for (Elf64_auxv_t *entry = vector; entry->a_type != AT_NULL; entry++)
		if (entry->a_type == AT_PAGESZ)
			page_size = entry->a_un.a_val;
	tool = map_object(path_of("mallow"));
	loader = map_object(path_of("loader"));
	for (Elf64_auxv_t *entry = vector; entry->a_type != AT_NULL; entry++) {
		if (entry->a_type == AT_PHDR)
			entry->a_un.a_val = tool.headers;
		else if (entry->a_type == AT_PHNUM)
			entry->a_un.a_val = tool.header_count;
		else if (entry->a_type == AT_ENTRY)
			entry->a_un.a_val = tool.entry;
		else if (entry->a_type == AT_BASE)
			entry->a_un.a_val = loader.bias;
	}
	return loader.entry;
}
