#ifndef CZSTD_SHIM_H
#define CZSTD_SHIM_H

#include <pthread.h>
#include <stddef.h>
#include <zstd.h>
#include <zstd_errors.h>

// For small messages, most of the time goes into allocating a context. Each thread keeps one for each direction until it
// ends. They carry nothing from one call to the next.

struct czstd_contexts {
    ZSTD_CCtx *compression;
    ZSTD_DCtx *decompression;
};

static inline void czstd_free(void *contexts) {
    struct czstd_contexts *ended = (struct czstd_contexts *)contexts;
    ZSTD_freeCCtx(ended->compression);
    ZSTD_freeDCtx(ended->decompression);
    ended->compression = NULL;
    ended->decompression = NULL;
}

static inline pthread_key_t *czstd_key(void) {
    // Swift emits what a function holds, and not what stands beside it in a header.
    static pthread_key_t key;
    return &key;
}

static inline int *czstd_key_exists(void) {
    static int exists;
    return &exists;
}

static inline void czstd_make_key(void) { *czstd_key_exists() = pthread_key_create(czstd_key(), czstd_free) == 0; }

// Null where nothing would free them when the thread ends.
static inline struct czstd_contexts *czstd_contexts(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static _Thread_local struct czstd_contexts contexts;
    pthread_once(&once, czstd_make_key);
    if (!*czstd_key_exists()) return NULL;
    if (contexts.compression || contexts.decompression) return &contexts;
    return pthread_setspecific(*czstd_key(), &contexts) == 0 ? &contexts : NULL;
}

// As ZSTD_compress and ZSTD_decompress.

static inline size_t czstd_compress(void *target, size_t capacity, const void *source, size_t size, int level) {
    struct czstd_contexts *contexts = czstd_contexts();
    if (contexts && !contexts->compression) contexts->compression = ZSTD_createCCtx();
    if (!contexts || !contexts->compression) return ZSTD_compress(target, capacity, source, size, level);
    return ZSTD_compressCCtx(contexts->compression, target, capacity, source, size, level);
}

static inline size_t czstd_decompress(void *target, size_t capacity, const void *source, size_t size) {
    struct czstd_contexts *contexts = czstd_contexts();
    if (contexts && !contexts->decompression) contexts->decompression = ZSTD_createDCtx();
    if (!contexts || !contexts->decompression) return ZSTD_decompress(target, capacity, source, size);
    return ZSTD_decompressDCtx(contexts->decompression, target, capacity, source, size);
}

#endif
