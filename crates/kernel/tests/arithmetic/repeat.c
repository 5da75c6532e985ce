/* Reads cases from standard input in batches and writes the results of the kernel controllers' arithmetic. */
#include <stdio.h>
#include <stdlib.h>

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#include "arithmetic.h"

struct input {
	struct imminence_options options;
	struct progress progress;
	u64 exponent, part, whole, floor;
	u32 alpha, gain_shift;
};

struct answer {
	u64 averaged, power, of, approximate, precise, imminence, d, penalty, reduced;
};

static void compute(const struct input *input, struct answer *answer)
{
	const struct progress *progress = &input->progress;
	u64 bytes = at_least(progress->remaining, 1);

	answer->averaged = fraction_averaged(input->alpha, input->gain_shift, input->part, input->whole);
	answer->power = fraction_power(input->alpha, input->exponent);
	answer->of = fraction_of(input->alpha, progress->window);
	answer->approximate = completion_approximate(bytes, progress->window);
	answer->precise = completion_precise(bytes, progress->window, progress->mss);
	answer->imminence = imminence(input->exponent, progress->srtt_ps | 1, progress->left_ps | 1);
	answer->d = imminence_of(&input->options, progress);
	answer->penalty = fraction_power(input->alpha, answer->d);
	answer->reduced = reduced(progress->window, answer->penalty, input->floor);
}

int main(int count, char **arguments)
{
	size_t batch = count == 2 ? strtoul(arguments[1], 0, 10) : 0;
	struct input *input = calloc(batch, sizeof(*input));
	struct answer *answers = calloc(batch, sizeof(*answers));

	if (!batch || !input || !answers)
		return 1;
	while (fread(input, sizeof(*input), batch, stdin) == batch) {
		for (size_t i = 0; i < batch; i++)
			compute(&input[i], &answers[i]);
		if (fwrite(answers, sizeof(*answers), batch, stdout) != batch || fflush(stdout))
			return 1;
	}
	return 0;
}
