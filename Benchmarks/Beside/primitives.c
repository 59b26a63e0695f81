// What libsodium takes for what no memo can spare a simulated device: signing its changes, and key agreement.
//
// Prints one line of JSON: seconds for each, the best of several rounds.
#include <sodium.h>
#include <stdio.h>
#include <time.h>

enum { rounds = 7, repeats = 2000 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static unsigned char public_key[crypto_sign_PUBLICKEYBYTES], secret_key[crypto_sign_SECRETKEYBYTES];
static unsigned char scalar[crypto_scalarmult_SCALARBYTES], point[crypto_scalarmult_BYTES];
static int failures;

static void sign(void) {
    // As long as what a device signs for a run: the hash of its last change, and the domain before it.
    unsigned char message[43] = {0}, signature[crypto_sign_BYTES];
    failures += crypto_sign_detached(signature, NULL, message, sizeof message, secret_key) != 0;
}

static void make_key(void) { failures += crypto_scalarmult_base(point, scalar) != 0; }

static void agree(void) {
    unsigned char shared[crypto_scalarmult_BYTES];
    failures += crypto_scalarmult(shared, scalar, point) != 0;
}

static double best(void (*operation)(void)) {
    double least = 1e9;
    for (int round = 0; round < rounds; round++) {
        double start = now();
        for (int repeat = 0; repeat < repeats; repeat++) operation();
        double each = (now() - start) / repeats;
        if (each < least) least = each;
    }
    return least;
}

int main(void) {
    if (sodium_init() < 0) return 1;
    crypto_sign_keypair(public_key, secret_key);
    randombytes_buf(scalar, sizeof scalar);
    make_key();
    printf("{\"sign_seconds\": %.9f, \"make_key_seconds\": %.9f, \"agree_seconds\": %.9f}\n", best(sign), best(make_key),
           best(agree));
    return failures != 0;
}
