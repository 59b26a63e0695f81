#define _GNU_SOURCE
#include "program_memory.h"

#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static int give_back_code(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size;
    (void)unused;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int index = 0; index < info->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[index];
        // Only what is never written: other pages may differ from their file.
        if (segment->p_type != PT_LOAD || (segment->p_flags & (PF_X | PF_W)) != PF_X) continue;
        const uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        const uintptr_t first = start / page * page;
        madvise((void *)first, start + segment->p_memsz - first, MADV_DONTNEED);
    }
    return 0;
}

void peerd_program_memory_give_back(void) {
    malloc_trim(0);
    dl_iterate_phdr(give_back_code, NULL);
}
