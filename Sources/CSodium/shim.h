#ifndef CSODIUM_SHIM_H
#define CSODIUM_SHIM_H

#include <sodium.h>
#include <stdint.h>
#include <string.h>

// libsodium declares its BLAKE2b state packed and aligned to 64 bytes; Swift imports neither kind of structure as a
// value. This one holds the same bytes, and each function works on an aligned copy of them.
typedef struct csodium_blake2b_state {
    uint64_t words[sizeof(crypto_generichash_blake2b_state) / sizeof(uint64_t)];
} csodium_blake2b_state;

static inline void csodium_blake2b_init(
    csodium_blake2b_state *_Nonnull state, size_t digest_size, const unsigned char *_Nonnull personal)
{
    crypto_generichash_blake2b_state aligned;
    (void)crypto_generichash_blake2b_init_salt_personal(&aligned, NULL, 0, digest_size, NULL, personal);
    memcpy(state, &aligned, sizeof aligned);
}

static inline void csodium_blake2b_update(
    csodium_blake2b_state *_Nonnull state, const unsigned char *_Nullable piece, size_t size)
{
    crypto_generichash_blake2b_state aligned;
    memcpy(&aligned, state, sizeof aligned);
    (void)crypto_generichash_blake2b_update(&aligned, piece, size);
    memcpy(state, &aligned, sizeof aligned);
}

static inline void csodium_blake2b_final(
    csodium_blake2b_state *_Nonnull state, unsigned char *_Nonnull digest, size_t digest_size)
{
    crypto_generichash_blake2b_state aligned;
    memcpy(&aligned, state, sizeof aligned);
    (void)crypto_generichash_blake2b_final(&aligned, digest, digest_size);
}

#endif
