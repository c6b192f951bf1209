/* SHA-256 by FIPS 180-4, for the hashes of manifests. */
#include <stdint.h>
#include <string.h>

typedef struct {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64];
} sha256;

static const uint32_t sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static void sha256_start(sha256 *hash)
{
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(hash->state, first, sizeof first);
    hash->bytes = 0;
}

static uint32_t sha256_turn(uint32_t word, int by)
{
    return word >> by | word << (32 - by);
}

static void sha256_block(sha256 *hash)
{
    uint32_t w[64], s[8], a, b;
    int i;

    for (i = 0; i < 16; i++)
        w[i] = (uint32_t)hash->block[4 * i] << 24 | (uint32_t)hash->block[4 * i + 1] << 16 |
               (uint32_t)hash->block[4 * i + 2] << 8 | hash->block[4 * i + 3];
    for (; i < 64; i++) {
        a = sha256_turn(w[i - 15], 7) ^ sha256_turn(w[i - 15], 18) ^ w[i - 15] >> 3;
        b = sha256_turn(w[i - 2], 17) ^ sha256_turn(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    memcpy(s, hash->state, sizeof s);
    for (i = 0; i < 64; i++) {
        a = s[7] + (sha256_turn(s[4], 6) ^ sha256_turn(s[4], 11) ^ sha256_turn(s[4], 25)) +
            ((s[4] & s[5]) ^ (~s[4] & s[6])) + sha256_constants[i] + w[i];
        b = (sha256_turn(s[0], 2) ^ sha256_turn(s[0], 13) ^ sha256_turn(s[0], 22)) +
            ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += a;
        s[0] = a + b;
    }
    for (i = 0; i < 8; i++)
        hash->state[i] += s[i];
}

static void sha256_add(sha256 *hash, const unsigned char *bytes, size_t count)
{
    while (count--) {
        hash->block[hash->bytes++ % 64] = *bytes++;
        if (hash->bytes % 64 == 0)
            sha256_block(hash);
    }
}

static void sha256_end(sha256 *hash, char text[65])
{
    static const char digits[] = "0123456789abcdef";
    uint64_t bits = hash->bytes * 8;
    unsigned char last[8], one = 0x80, zero = 0;
    int i;

    sha256_add(hash, &one, 1);
    while (hash->bytes % 64 != 56)
        sha256_add(hash, &zero, 1);
    for (i = 0; i < 8; i++)
        last[i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(hash, last, 8);
    for (i = 0; i < 64; i++)
        text[i] = digits[hash->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    text[64] = 0;
}
