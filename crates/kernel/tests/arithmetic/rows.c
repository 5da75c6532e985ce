/* Writes results of the kernel controllers' arithmetic to standard output, as 64-bit words.
 *
 *   rows FUNCTION FIRST END STEP EXPONENT   for FIRST, FIRST + STEP, ... below END
 *
 * FUNCTION is `logarithm`, `exponential`, or `power`, which uses EXPONENT. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#include "arithmetic.h"

#define BLOCK 8192

int main(int count, char **arguments)
{
	static u64 results[BLOCK];
	u64 next, end, step, exponent;

	if (count != 6)
		return 1;
	next = strtoull(arguments[2], 0, 10);
	end = strtoull(arguments[3], 0, 10);
	step = strtoull(arguments[4], 0, 10);
	exponent = strtoull(arguments[5], 0, 10);
	while (next < end) {
		size_t length = 0;

		if (!strcmp(arguments[1], "logarithm"))
			for (; length < BLOCK && next < end; next += step)
				results[length++] = minus_log2(next);
		else if (!strcmp(arguments[1], "exponential"))
			for (; length < BLOCK && next < end; next += step)
				results[length++] = exp2_of_minus(next);
		else
			for (; length < BLOCK && next < end; next += step)
				results[length++] = fraction_power(next, exponent);
		if (fwrite(results, sizeof(u64), length, stdout) != length)
			return 1;
	}
	return fflush(stdout) != 0;
}
