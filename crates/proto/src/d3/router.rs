//! The D3 router: one [`Allocator`] per outgoing interface (D3 §4.3, §4.4).

use super::rate::{FRACTION_BITS, LARGEST, UNIT, fixed_from_bytes, fixed_from_rate};
use super::repair::{Census, Tally, epoch};
use super::{
    AlphaReference, BaseRate, Config, EncodedRate, FixedRate, Flags, HopAnswer, HopRequest,
    Request, Rounding,
};
use duetime_core::{Rate, Time};

/// The largest remainder that a port carries to later grants, in units. Above one, because of flows whose previous
/// hop rounds the same share down at other times.
const CARRY_LIMIT: i64 = 4 * UNIT;

/// Divides an interface's capacity among the flows that pass it, with three counters and no state of flows. All
/// arithmetic is on integers of 2^-16 encoded units.
#[derive(Clone, Debug)]
pub struct Allocator {
    /// N, D and A.
    counters: Tally,
    /// C, adapted.
    capacity: i64,
    /// What the roundings so far have taken from (or given to) flows.
    carry: i64,
    /// State of the rounding threshold's generator (xorshift32).
    noise: u32,
    /// Intervals since the last request.
    quiet: u32,
    physical: i64,
    /// The base rate of paused flows.
    base: i64,
    /// The exponent of every rate.
    scale: i8,
    /// The options are those of [`Rules::USUAL`].
    usual: bool,
    census: Census,
}

/// The options that decide what a flow is granted. They are values and not read from a [`Config`] so that the usual ones
/// can be constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rules {
    cap_to_left: bool,
    rounding: Rounding,
    repair: bool,
}

impl Rules {
    /// Those of a default [`Config`].
    const USUAL: Self = Self {
        cap_to_left: false,
        rounding: Rounding::Carry,
        repair: true,
    };

    const fn of(config: &Config) -> Self {
        Self {
            cap_to_left: config.cap_to_left,
            rounding: config.rounding,
            repair: config.repair,
        }
    }
}

/// What a port did with a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The desired rate, as encoded.
    pub desired: EncodedRate,
    /// The allocation written.
    pub granted: EncodedRate,
    /// A desired rate was not met.
    pub denied: bool,
}

impl Outcome {
    #[inline]
    fn of(desired: FixedRate, granted: FixedRate) -> Self {
        Self {
            desired: desired.encoded(),
            granted: granted.encoded(),
            denied: granted < desired,
        }
    }
}

impl Allocator {
    /// The allocator of an interface of the given rate.
    pub fn new(config: &Config, rate: Rate) -> Self {
        let physical = fixed_from_rate(rate, config.exponent()).max(1);
        Self {
            counters: Tally::default(),
            capacity: physical,
            carry: 0,
            noise: 0x9e37_79b9,
            quiet: 0,
            physical,
            base: base_rate(config),
            scale: config.exponent(),
            usual: Rules::of(config) == Rules::USUAL,
            census: Census::default(),
        }
    }

    /// Answers the request of a packet that leaves through this interface (D3 §4.3, Snippet 1). A request that has no
    /// free slot or another scale changes nothing here.
    #[inline]
    pub fn process(
        &mut self,
        config: &Config,
        _now: Time,
        flags: Flags,
        request: &mut Request,
    ) -> Outcome {
        let Some(asked) = request.at_hop(flags) else {
            return Outcome::default();
        };
        let answer = self.answer(config, &asked);
        request.answer(answer);
        answer.outcome
    }

    /// The same for what the request says to this hop, which has a slot for the answer.
    #[inline(always)]
    pub fn answer(&mut self, config: &Config, asked: &HopRequest) -> HopAnswer {
        let goes_on = !asked.flags.contains_any(Flags::SYN | Flags::FIN);
        let (granted, stamp);
        let mut desired = asked.desired;
        if asked.scale != self.scale {
            (desired, granted, stamp) = (FixedRate::default(), FixedRate::default(), asked.stamp);
        } else if goes_on && self.usual {
            let known = self.knows(asked);
            stamp = self.hear(Rules::USUAL, asked);
            granted = self.grant::<false, false>(config, Rules::USUAL, known, asked);
        } else {
            if asked.flags.contains(Flags::FIN) {
                desired = FixedRate::default();
            }
            (granted, stamp) = self.answer_otherwise(config, *asked);
        }
        HopAnswer {
            outcome: Outcome::of(desired, granted),
            stamp,
        }
    }

    /// What a new flow would be granted now, if `offered` of what is left, in fixed point, is kept for others: for a flow
    /// whose sender may be a forgery. Nothing changes here, and nobody returns it; [`admit`](Self::admit) counts the flow
    /// later.
    pub(super) fn offer(&self, config: &Config, asked: &HopRequest, offered: i64) -> HopAnswer {
        if asked.scale != self.scale {
            return HopAnswer::default();
        }
        let desired = asked.desired.0;
        let left = self.capacity - self.counters.allocated - offered;
        let want = self.want(Rules::of(config), left, desired, || self.base);
        let exact = config.rounding == Rounding::Exact;
        let granted = EncodedRate::floor(want.min(asked.limit.0), exact);
        HopAnswer {
            outcome: Outcome::of(asked.desired, granted.into()),
            // Not counted in this epoch.
            stamp: !self.census.parity(),
        }
    }

    /// Answers the second request of a flow whose first was answered by an [`offer`](Self::offer): it is counted from now
    /// on, and has paused for a round trip (D3 §4.5).
    pub(super) fn admit(&mut self, config: &Config, asked: &HopRequest) -> HopAnswer {
        if asked.scale != self.scale {
            return HopAnswer::default();
        }
        let rules = Rules::of(config);
        let stamp = self.hear(rules, asked);
        let granted = self.grant::<true, false>(config, rules, false, asked);
        HopAnswer {
            stamp,
            outcome: Outcome::of(asked.desired, granted),
        }
    }

    /// Whether the flow has been counted in this epoch.
    #[inline]
    fn knows(&self, asked: &HopRequest) -> bool {
        asked.stamp == self.census.parity()
    }

    /// A request has come; the answer is the stamp of the epoch.
    #[inline]
    fn hear(&mut self, rules: Rules, asked: &HopRequest) -> bool {
        self.quiet = 0;
        if rules.repair {
            self.census.hear(asked.pace);
            self.census.parity()
        } else {
            asked.stamp
        }
    }

    /// The grant and the stamp of a flow that opens or ends, both once in its life, or of any flow under other rules. A
    /// flow that ends is granted nothing.
    #[inline(never)]
    fn answer_otherwise(&mut self, config: &Config, asked: HopRequest) -> (FixedRate, bool) {
        let rules = Rules::of(config);
        let known = self.knows(&asked);
        let stamp = self.hear(rules, &asked);
        let granted = if asked.flags.contains(Flags::FIN) {
            self.end(config, known, &asked);
            FixedRate::default()
        } else if asked.flags.contains(Flags::SYN) {
            self.grant::<true, true>(config, rules, known, &asked)
        } else {
            self.grant::<false, false>(config, rules, known, &asked)
        };
        (granted, stamp)
    }

    /// Grants a rate to a flow, which is new or not, and pauses or not if it is.
    #[inline(always)]
    fn grant<const NEW: bool, const PAUSES: bool>(
        &mut self,
        config: &Config,
        rules: Rules,
        known: bool,
        asked: &HopRequest,
    ) -> FixedRate {
        let returned = returned(asked, NEW);
        let desired = asked.desired.0;
        let change = Tally {
            flows: i64::from(NEW),
            demand: desired - returned.demand,
            allocated: -returned.allocated,
        };
        self.counters.add(change); // Snippet 1, lines 2 to 4
        self.counters.clamp_rates();
        let left = self.capacity - self.counters.allocated; // line 5
        let want = self.want(rules, left, desired, || self.share(config, PAUSES));
        // D3 §4.4: never more than the previous router's.
        let granted = self.round(rules, want, asked.limit.0);

        self.counters.allocated += granted.0; // line 15
        if rules.repair {
            let whole = Tally {
                flows: 1,
                demand: desired,
                allocated: granted.0,
            };
            let change = Tally {
                allocated: change.allocated + granted.0,
                ..change
            };
            self.census.count(known && !NEW, whole, change);
        }
        granted
    }

    /// D3 §4.3, Snippet 1, lines 7 to 13. The share costs a division, and is asked for only where something is left.
    #[inline]
    fn want(&self, rules: Rules, left: i64, desired: i64, share: impl FnOnce() -> i64) -> i64 {
        let mut want = if left > desired {
            desired + share()
        } else {
            left
        };
        if rules.cap_to_left {
            want = want.min(left);
        }
        want.max(self.base)
    }

    /// The fair share of a flow (Snippet 1, line 6).
    #[inline]
    fn share(&self, config: &Config, pauses: bool) -> i64 {
        if pauses && config.pause_new {
            return self.base; // D3 §4.5: new flows pause
        }
        // Neither is negative.
        let spare = (self.capacity - self.counters.demand)
            .max(0)
            .cast_unsigned();
        let flows = self.counters.flows.max(1).cast_unsigned();
        (spare / flows).cast_signed()
    }

    /// A flow ends: it returns what it holds.
    fn end(&mut self, config: &Config, known: bool, asked: &HopRequest) {
        let returned = returned(asked, false);
        let change = Tally {
            flows: -1,
            demand: -returned.demand,
            allocated: -returned.allocated,
        };
        self.counters.add(change);
        self.counters.clamp();
        if config.repair {
            self.census.end(known, change);
        }
    }

    /// Rounds a grant to what can be encoded, and keeps it below `limit`, which is encodable.
    #[inline]
    fn round(&mut self, rules: Rules, want: i64, limit: i64) -> FixedRate {
        if rules.rounding != Rounding::Carry {
            return EncodedRate::floor(want.min(limit), rules.rounding == Rounding::Exact).into();
        }
        let owed = want + self.carry;
        // Error diffusion with a moving threshold: a fixed one would favour the same flows in every round when requests
        // come in a fixed order. Whole grants stay exact.
        let threshold = if owed & (UNIT - 1) == 0 {
            0
        } else {
            self.draw()
        };
        // The base rate is not negative.
        let rounded = ((owed + threshold) >> FRACTION_BITS << FRACTION_BITS)
            .max(self.base >> FRACTION_BITS << FRACTION_BITS)
            .min(limit >> FRACTION_BITS << FRACTION_BITS);
        // Where the previous hop holds a flow back by a unit or more, nothing was lost to rounding.
        if want < limit + UNIT {
            self.carry = (owed - rounded).clamp(-UNIT, CARRY_LIMIT);
        }
        FixedRate(rounded)
    }

    /// Uniform in half a unit around zero, both ways.
    #[inline]
    fn draw(&mut self) -> i64 {
        self.noise ^= self.noise << 13;
        self.noise ^= self.noise >> 17;
        self.noise ^= self.noise << 5;
        i64::from(self.noise >> 16) - UNIT / 2
    }

    /// One update interval T has passed, in which `sent_bytes` left. `queue_bytes` is what waits, with the packet in
    /// service if `config.queue_in_service`: now, or the least since the last tick, as `config.queue_sample` says. At a
    /// host's interface it is the sum of [`Sender::overdue`](super::Sender::overdue).
    pub fn tick(&mut self, config: &Config, _now: Time, sent_bytes: u64, queue_bytes: u64) {
        // D3 §4.4, low load: everything starts again. With the repair, the census clears the counters instead: it
        // forgives a first round trip of two epochs, and knows slow flows.
        self.quiet = if queue_bytes == 0 {
            self.quiet.saturating_add(1)
        } else {
            0
        };
        if self.quiet > config.reset_intervals {
            self.capacity = self.physical;
            self.carry = 0;
            if config.repair {
                self.take_census(config);
            } else {
                self.counters = Tally::default();
            }
            return;
        }
        let scale = config.exponent();
        let used = fixed_from_bytes(sent_bytes, config.interval(), scale);
        let queued = fixed_from_bytes(queue_bytes, config.interval(), scale);
        let reference = match config.alpha_reference {
            AlphaReference::Physical => self.physical * i64::from(config.target_256) / 256,
            AlphaReference::Literal => self.capacity,
        };
        // D3 §4.4: C += α (C − u/T) − β q/T
        let change =
            i64::from(config.alpha_256) * (reference - used) - i64::from(config.beta_256) * queued;
        self.capacity = (self.capacity + change / 256).clamp(self.physical / 10, self.physical * 2);
        if config.repair {
            self.take_census(config);
        }
    }

    pub(super) fn census(&self) -> &Census {
        &self.census
    }

    fn take_census(&mut self, config: &Config) {
        self.census.tick(epoch(config), &mut self.counters);
        self.counters.clamp();
    }

    /// N: flows that this port believes alive.
    pub fn flows(&self) -> u64 {
        self.counters.flows as u64
    }

    /// D: sum of desired rates, in 1/256 of an encoded unit.
    pub fn demand(&self) -> u64 {
        (self.counters.demand >> (FRACTION_BITS - 8)) as u64
    }

    /// A: sum of allocations, in 1/256 of an encoded unit.
    pub fn allocated(&self) -> u64 {
        (self.counters.allocated >> (FRACTION_BITS - 8)) as u64
    }

    /// A, in internal fixed point.
    pub(super) const fn allocated_fixed(&self) -> i64 {
        self.counters.allocated
    }

    /// C: adapted capacity, in 1/256 of an encoded unit.
    pub fn capacity(&self) -> u64 {
        (self.capacity >> (FRACTION_BITS - 8)) as u64
    }

    /// The base rate, which paused flows get.
    pub fn base(&self) -> EncodedRate {
        EncodedRate((self.base >> (FRACTION_BITS - 8)) as u16)
    }

    /// Nothing is registered or counted, and C is the link's rate: ticks would change nothing.
    pub fn is_idle(&self) -> bool {
        self.counters == Tally::default()
            && self.capacity == self.physical
            && self.census.is_clear()
    }
}

/// What a flow held here until now. A new flow has nothing to return, whatever it says.
#[inline]
fn returned(asked: &HopRequest, new: bool) -> Tally {
    if new {
        return Tally::default();
    }
    Tally {
        flows: 0,
        demand: asked.previous_desired.0,
        allocated: asked.previous_allocation.0,
    }
}

fn base_rate(config: &Config) -> i64 {
    match config.base_rate {
        BaseRate::HeaderOnly => 0,
        BaseRate::Segment(span) => {
            if span.as_ps() == 0 {
                0
            } else {
                fixed_from_bytes(u64::from(config.mtu), span, config.exponent()).min(LARGEST)
            }
        }
    }
}
