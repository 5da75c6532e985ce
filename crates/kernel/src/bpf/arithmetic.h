/*
 * Arithmetic of DCTCP and D2TCP: the moving average alpha, the penalty alpha^d, the imminence d = Tc / D, and the
 * reduction of the window (RFC 8257 3.3, D2TCP 3.1 to 3.2.3).
 *
 * It gives the same bits as the controllers of crates/proto with the fixed-point numbers of crates/core, which
 * script/prove proves for all inputs. It requires only u32 and u64, and compiles for the kernel and for user space.
 *
 * There is no branch per bit, because the verifier would walk both sides of each. Decisive bits are shifted out of a
 * difference instead, and OPAQUE prevents the compiler from turning them back into branches.
 */
#ifndef DUETIME_ARITHMETIC_H
#define DUETIME_ARITHMETIC_H

#define FRACTION_BITS 20 /* alpha, p and marked fractions, in [0, 1] */
#define FRACTION_ONE (1u << FRACTION_BITS)
#define FACTOR_BITS 16 /* d, and times in round trips */
#define FACTOR_ONE (1ull << FACTOR_BITS)
#define INNER_BITS 30 /* inside the logarithm and the exponential */
#define INNER_ONE (1ull << INNER_BITS)

#define OPAQUE(value) asm volatile("" : "+r"(value))

static __always_inline u64 at_most(u64 value, u64 max)
{
	return value < max ? value : max;
}

static __always_inline u64 at_least(u64 value, u64 min)
{
	return value > min ? value : min;
}

/* Returns 1 if `value`, below 2^63, is not zero. */
static __always_inline u64 is_not_zero(u64 value)
{
	u64 bit = (0 - value) >> 63;

	OPAQUE(bit);
	return bit;
}

/* Returns the number of significant bits of `value`; 0 for zero. */
static __always_inline u32 bit_length(u64 value)
{
	u32 length = 0;

#pragma unroll
	for (int step = 5; step >= 0; step--) {
		u64 shift = is_not_zero(value >> (1 << step)) << step;

		value >>= shift;
		length += shift;
	}
	return length + value;
}

/* Returns the integer square root of `value`, below 2^62. */
static __always_inline u64 square_root(u64 value)
{
	u64 root = 0;

#pragma unroll
	for (int bit = 30; bit >= 0; bit--) {
		u64 trial = ((root << 1) + (1ull << bit)) << bit;
		u64 fits = ((value - trial) >> 63) ^ 1;

		OPAQUE(fits);
		value -= trial & (0 - fits);
		root += fits << bit;
	}
	return root;
}

/* Returns alpha after one step of the moving average with gain 2^-gain_shift towards part / whole (RFC 8257 3.3).
 * part <= whole < 2^44, whole > 0, gain_shift <= 20. */
static __always_inline u32 fraction_averaged(u32 alpha, u32 gain_shift, u64 part, u64 whole)
{
	u32 decay = alpha >> gain_shift;
	u32 gained = (part << (FRACTION_BITS - gain_shift)) / whole;

	if (decay == 0)
		decay = alpha;
	return at_most(alpha - decay + gained, FRACTION_ONE);
}

/* Returns `amount`, below 2^43, times the fraction, rounded down. */
static __always_inline u64 fraction_of(u32 fraction, u64 amount)
{
	return (amount * fraction) >> FRACTION_BITS;
}

/* Returns -log2 of a fraction in (0, 1], with INNER_BITS after the point. */
static __always_inline u64 minus_log2(u32 fraction)
{
	static const u64 terms[] = {1549081644, 774495135, 515373117, 378899413,
				    273273819,	164392645, 66504412,  12703975};
	u32 top = bit_length(fraction) - 1;
	u64 x = ((u64)fraction << (INNER_BITS - top)) - INNER_ONE;
	u64 sum = terms[7];

#pragma unroll
	for (int term = 6; term >= 0; term--)
		sum = terms[term] - ((x * sum) >> INNER_BITS);
	return ((u64)(FRACTION_BITS - top) << INNER_BITS) - ((x * sum) >> INNER_BITS);
}

/* Returns 2^-x as a fraction, rounded to nearest but above zero; x has INNER_BITS after the point. */
static __always_inline u32 exp2_of_minus(u64 x)
{
	static const u64 terms[] = {744261106, 257942067, 59587742, 10366067, 1360125, 224717};
	u64 rest = INNER_ONE - (x & (INNER_ONE - 1)); /* 2^-f = 2^(1-f) / 2 keeps every term positive */
	u64 sum = terms[5];
	u64 twice, shift;

#pragma unroll
	for (int term = 4; term >= 0; term--)
		sum = terms[term] + ((rest * sum) >> INNER_BITS);
	twice = INNER_ONE + ((rest * sum) >> INNER_BITS);
	shift = at_most(x >> INNER_BITS, 32) + 1 + (INNER_BITS - FRACTION_BITS);
	return at_least((twice + (1ull << (shift - 1))) >> shift, 1);
}

/* Returns alpha^d (D2TCP 3.1). Exponents above 4096 count as 4096. */
static __always_inline u32 fraction_power(u32 fraction, u64 exponent)
{
	if (fraction == 0 || exponent == FACTOR_ONE)
		return fraction;
	exponent = at_most(exponent, 1ull << (12 + FACTOR_BITS));
	return exp2_of_minus((minus_log2(fraction) * exponent) >> FACTOR_BITS);
}

#define MAX_SEGMENTS (1ull << 18) /* of a window */
#define MAX_BYTES (1ull << 37)	   /* of a message */
#define WINDOW_BITS 12		   /* after the point of a window in segments */

/* Returns Tc in round trips as B / (3W/4) (D2TCP 3.2.3). bytes > 0, 0 < window < 2^43. */
static __always_inline u64 completion_approximate(u64 bytes, u64 window)
{
	return ((4 * at_most(bytes, MAX_BYTES)) << FACTOR_BITS) / (3 * window);
}

/* Returns Tc in round trips as the sum of the sawtooth, with a separate first period (D2TCP 3.2.3). bytes > 0,
 * 0 < window < 2^43, 0 < mss < 2^16. */
static __always_inline u64 completion_precise(u64 bytes, u64 window, u32 mss)
{
	u64 w = at_least(at_most((window << WINDOW_BITS) / mss, MAX_SEGMENTS << WINDOW_BITS), 1ull << WINDOW_BITS);
	u64 twice = ((2 * at_most(bytes, MAX_BYTES)) << (2 * WINDOW_BITS)) / mss;
	u64 mean_times_4 = 3 * w - (2ull << WINDOW_BITS);
	u64 half;

	if (twice >= (w * mean_times_4) / 4)
		return (2 * twice / mean_times_4) << (FACTOR_BITS - WINDOW_BITS);
	half = (w - (1ull << WINDOW_BITS)) / 2;
	return (twice << (FACTOR_BITS - WINDOW_BITS)) / (half + square_root(half * half + twice));
}

/* Returns d = Tc / D for Tc of `rtts` round trips of `srtt` and D of `left`, in the same unit and above zero. */
static __always_inline u64 imminence(u64 rtts, u64 srtt, u64 left)
{
	u32 length = bit_length(left);
	u32 shift = at_least(length, 47) - 47;
	u64 left_rtts;

	srtt = at_least(srtt >> shift, 1);
	left >>= shift;
	left_rtts = at_least((left << FACTOR_BITS) / srtt, 1);
	return (at_most(rtts, (1ull << 47) - 1) << FACTOR_BITS) / left_rtts;
}

/* Options of d, as factors. */
struct imminence_options {
	u64 d_min;
	u64 d_max;
	u64 d_expired;
	u32 precise;
	u32 reserved;
};

/* State of a flow that determines its reaction to marks. */
struct progress {
	u32 has_deadline;
	u32 mss;       /* bytes of a full segment */
	u64 left_ps;   /* until the deadline; 0 if it has passed */
	u64 remaining; /* B: unacknowledged bytes of the message */
	u64 window;    /* W: bytes, before the reduction */
	u64 srtt_ps;   /* 0 before the first measurement */
};

/* Returns d of the flow, clamped (D2TCP 3.2). */
static __always_inline u64 imminence_of(const struct imminence_options *options, const struct progress *progress)
{
	u64 d = FACTOR_ONE;

	if (!progress->has_deadline)
		return FACTOR_ONE;
	if (progress->srtt_ps != 0 && progress->remaining != 0) {
		if (progress->left_ps == 0)
			d = options->d_expired;
		else if (options->precise)
			d = imminence(completion_precise(progress->remaining, progress->window, progress->mss),
				      progress->srtt_ps, progress->left_ps);
		else
			d = imminence(completion_approximate(progress->remaining, progress->window),
				      progress->srtt_ps, progress->left_ps);
	}
	return at_most(at_least(d, options->d_min), options->d_max);
}

/* Returns W (1 - p/2), at least `floor`, in bytes. */
static __always_inline u64 reduced(u64 window, u32 p, u64 floor)
{
	return at_least(window - fraction_of(p, window) / 2, floor);
}

#endif
