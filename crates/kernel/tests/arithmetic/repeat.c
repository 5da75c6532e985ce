/* Reads cases from standard input in batches and writes what the arithmetic of the kernel's controllers makes of each. */
#include <stdio.h>
#include <stdlib.h>

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#include "../../src/bpf/arithmetic.h"

struct given {
	struct imminence_options options;
	struct progress progress;
	u64 exponent, part, whole, floor;
	u32 alpha, gain_shift;
};

struct answer {
	u64 averaged, power, of, approximate, precise, imminence, d, penalty, reduced;
};

static void repeat(const struct given *given, struct answer *answer)
{
	const struct progress *progress = &given->progress;
	u64 bytes = at_least(progress->remaining, 1);

	answer->averaged = fraction_averaged(given->alpha, given->gain_shift, given->part, given->whole);
	answer->power = fraction_power(given->alpha, given->exponent);
	answer->of = fraction_of(given->alpha, progress->window);
	answer->approximate = completion_approximate(bytes, progress->window);
	answer->precise = completion_precise(bytes, progress->window, progress->mss);
	answer->imminence = imminence(given->exponent, progress->srtt_ps | 1, progress->left_ps | 1);
	answer->d = imminence_of(&given->options, progress);
	answer->penalty = fraction_power(given->alpha, answer->d);
	answer->reduced = reduced(progress->window, answer->penalty, given->floor);
}

int main(int count, char **arguments)
{
	size_t batch = count == 2 ? strtoul(arguments[1], 0, 10) : 0;
	struct given *given = calloc(batch, sizeof(*given));
	struct answer *answers = calloc(batch, sizeof(*answers));

	if (!batch || !given || !answers)
		return 1;
	while (fread(given, sizeof(*given), batch, stdin) == batch) {
		for (size_t i = 0; i < batch; i++)
			repeat(&given[i], &answers[i]);
		if (fwrite(answers, sizeof(*answers), batch, stdout) != batch || fflush(stdout))
			return 1;
	}
	return 0;
}
