/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * AES with keys of 128 bits, byte by byte as FIPS 197 describes it (NIST, 2001): what the
 * kernels are compared with. Pure.
 */
#ifndef APPS_KERNELS_AES_H
#define APPS_KERNELS_AES_H

#include <stdint.h>

#define AES_ROUNDS 10
#define AES_BLOCK 16

struct aes {
	uint8_t substitutes[256], originals[256]; /**< the S-box and its inverse */
	uint8_t keys[AES_ROUNDS + 1][AES_BLOCK];  /**< of the rounds, in the order of bytes */
};

/** Tables and round keys (sections 5.1.1 and 5.2). */
void aes_init(struct aes *aes, const uint8_t key[AES_BLOCK]);
/** Section 5.1. @param out may be `in` */
void aes_encrypt(const struct aes *aes, const uint8_t in[AES_BLOCK], uint8_t out[AES_BLOCK]);
/** Section 5.3. @param out may be `in` */
void aes_decrypt(const struct aes *aes, const uint8_t in[AES_BLOCK], uint8_t out[AES_BLOCK]);

#endif
