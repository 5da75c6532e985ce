//! D3 router: an [`Allocator`] per outgoing interface (D3 §4.3, §4.4).

use super::rate::{FRACTION_BITS, MAX_FIXED, UNIT, fixed_from_bytes, fixed_from_rate};
use super::repair::{Census, Tally, epoch};
use super::{
    AlphaReference, BaseRate, Config, EncodedRate, FixedRate, Flags, HopAnswer, HopRequest,
    Outcome, Request, Rounding,
};
use duetime_core::Rate;

/// Maximum remainder that a port carries to later grants. It is above one unit because flows whose previous hop limits
/// them to the same rounded-down share cannot take it.
const CARRY_LIMIT: i64 = 4 * UNIT;

/// Divides the capacity of an interface among its flows, with three counters and no per-flow state. All arithmetic is
/// on integers, in 2^-16 encoded units.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Allocator {
    /// N, D and A.
    counters: Tally,
    /// C, adapted.
    capacity: i64,
    /// Sum that rounding has taken from flows so far (negative if given to them).
    carry: i64,
    /// State of the generator of rounding thresholds (xorshift32).
    noise: u32,
    /// Number of intervals since the last request.
    quiet: u32,
    physical: i64,
    /// Base rate of paused flows.
    base: i64,
    /// Exponent of every rate.
    scale: i8,
    /// True if the options equal [`Rules::DEFAULT`].
    has_default_rules: bool,
    census: Census,
}

/// Options that decide grants. They are passed by value instead of read from a [`Config`], so that the defaults can be
/// constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rules {
    cap_to_left: bool,
    rounding: Rounding,
    repair: bool,
}

impl Rules {
    /// Rules of a default [`Config`].
    const DEFAULT: Self = Self {
        cap_to_left: false,
        rounding: Rounding::Carry,
        repair: true,
    };

    const fn of(config: &Config) -> Self {
        Self {
            cap_to_left: config.router.variant.cap_to_left,
            rounding: config.wire.rounding,
            repair: config.router.repair,
        }
    }
}

impl Allocator {
    /// Creates the allocator of an interface of the given rate.
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
            has_default_rules: Rules::of(config) == Rules::DEFAULT,
            census: Census::default(),
        }
    }

    /// Answers the request of a packet that leaves through this interface (D3 §4.3, Snippet 1). A request without a
    /// free slot or of another scale has no effect.
    #[inline]
    pub fn process(&mut self, config: &Config, flags: Flags, request: &mut Request) -> Outcome {
        let Some(hop) = request.at_hop(flags) else {
            return Outcome::default();
        };
        let answer = self.answer(config, &hop);
        request.answer(answer);
        answer.outcome
    }

    /// Answers a parsed request, which must have a slot for this hop.
    #[inline(always)]
    pub fn answer(&mut self, config: &Config, hop: &HopRequest) -> HopAnswer {
        let is_established = !hop.flags.contains_any(Flags::SYN | Flags::FIN);
        let (granted, stamp);
        let mut desired = hop.desired;
        if hop.scale != self.scale {
            (desired, granted, stamp) = (FixedRate::default(), FixedRate::default(), hop.stamp);
        } else if is_established && self.has_default_rules {
            let is_counted = self.is_counted(hop);
            stamp = self.observe(Rules::DEFAULT, hop);
            granted = self.grant::<false, false>(config, Rules::DEFAULT, is_counted, hop);
        } else {
            if hop.flags.contains(Flags::FIN) {
                desired = FixedRate::default();
            }
            (granted, stamp) = self.answer_slow(config, *hop);
        }
        HopAnswer {
            outcome: Outcome::of(desired, granted),
            stamp,
        }
    }

    /// Returns what a new flow would be granted now if `offered` of the capacity left, in fixed point, is reserved for
    /// others. Used for flows whose sender may be forged: the state does not change, and the flow has nothing to
    /// return. [`admit`](Self::admit) counts the flow later.
    pub(super) fn offer(&self, config: &Config, hop: &HopRequest, offered: i64) -> HopAnswer {
        if hop.scale != self.scale {
            return HopAnswer::default();
        }
        let desired = hop.desired.0;
        let left = self.capacity - self.counters.allocated - offered;
        let wanted = self.wanted(Rules::of(config), left, desired, || self.base);
        let exact = config.wire.rounding == Rounding::Exact;
        let granted = EncodedRate::floor(wanted.min(hop.limit.0), exact);
        HopAnswer {
            outcome: Outcome::of(hop.desired, granted.into()),
            // The flow is not counted in this epoch.
            stamp: !self.census.parity(),
        }
    }

    /// Answers the second request of a flow whose first was answered by an [`offer`](Self::offer). The flow is counted
    /// from now on; it has already paused for a round trip (D3 §4.5).
    pub(super) fn admit(&mut self, config: &Config, hop: &HopRequest) -> HopAnswer {
        if hop.scale != self.scale {
            return HopAnswer::default();
        }
        let rules = Rules::of(config);
        let stamp = self.observe(rules, hop);
        let granted = self.grant::<true, false>(config, rules, false, hop);
        HopAnswer {
            stamp,
            outcome: Outcome::of(hop.desired, granted),
        }
    }

    /// Returns true if the flow is counted in this epoch.
    #[inline]
    fn is_counted(&self, hop: &HopRequest) -> bool {
        hop.stamp == self.census.parity()
    }

    /// Records a request. Returns its new stamp.
    #[inline]
    fn observe(&mut self, rules: Rules, hop: &HopRequest) -> bool {
        self.quiet = 0;
        if rules.repair {
            self.census.observe(hop.pace);
            self.census.parity()
        } else {
            hop.stamp
        }
    }

    /// Returns the grant and the stamp for a flow that opens or ends, once each in its life, or for any flow under
    /// non-default rules. A flow that ends is granted nothing.
    #[inline(never)]
    fn answer_slow(&mut self, config: &Config, hop: HopRequest) -> (FixedRate, bool) {
        let rules = Rules::of(config);
        let is_counted = self.is_counted(&hop);
        let stamp = self.observe(rules, &hop);
        let granted = if hop.flags.contains(Flags::FIN) {
            self.end(config, is_counted, &hop);
            FixedRate::default()
        } else if hop.flags.contains(Flags::SYN) {
            self.grant::<true, true>(config, rules, is_counted, &hop)
        } else {
            self.grant::<false, false>(config, rules, is_counted, &hop)
        };
        (granted, stamp)
    }

    /// Grants a rate to a flow. `NEW` is true for a new flow; `PAUSES` is true if a new flow must pause.
    #[inline(always)]
    fn grant<const NEW: bool, const PAUSES: bool>(
        &mut self,
        config: &Config,
        rules: Rules,
        is_counted: bool,
        hop: &HopRequest,
    ) -> FixedRate {
        let returned = returned(hop, NEW);
        let desired = hop.desired.0;
        let change = Tally {
            flows: i64::from(NEW),
            demand: desired - returned.demand,
            allocated: -returned.allocated,
        };
        self.counters.add(change); // Snippet 1, lines 2 to 4
        self.counters.clamp_rates();
        let left = self.capacity - self.counters.allocated; // line 5
        let wanted = self.wanted(rules, left, desired, || self.share(config, PAUSES));
        // D3 §4.4: never more than the grant of the previous router.
        let granted = self.round(rules, wanted, hop.limit.0);

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
            self.census.count(is_counted && !NEW, whole, change);
        }
        granted
    }

    /// Returns the rate to grant before rounding (D3 §4.3, Snippet 1, lines 7 to 13). `share` costs a division and is
    /// only called if capacity is left.
    #[inline]
    fn wanted(&self, rules: Rules, left: i64, desired: i64, share: impl FnOnce() -> i64) -> i64 {
        let mut wanted = if left > desired {
            desired + share()
        } else {
            left
        };
        if rules.cap_to_left {
            wanted = wanted.min(left);
        }
        wanted.max(self.base)
    }

    /// Returns the fair share of a flow (Snippet 1, line 6).
    #[inline]
    fn share(&self, config: &Config, pauses: bool) -> i64 {
        if pauses && config.router.variant.pause_new {
            return self.base; // D3 §4.5: new flows pause
        }
        // Both are non-negative, so divide as unsigned.
        let spare = (self.capacity - self.counters.demand)
            .max(0)
            .cast_unsigned();
        let flows = self.counters.flows.max(1).cast_unsigned();
        (spare / flows).cast_signed()
    }

    /// Removes a flow that ends.
    fn end(&mut self, config: &Config, is_counted: bool, hop: &HopRequest) {
        let returned = returned(hop, false);
        let change = Tally {
            flows: -1,
            demand: -returned.demand,
            allocated: -returned.allocated,
        };
        self.counters.add(change);
        self.counters.clamp();
        if config.router.repair {
            self.census.end(is_counted, change);
        }
    }

    /// Rounds a grant to an encodable rate of at most `limit`, which is encodable.
    #[inline]
    fn round(&mut self, rules: Rules, wanted: i64, limit: i64) -> FixedRate {
        if rules.rounding != Rounding::Carry {
            return EncodedRate::floor(wanted.min(limit), rules.rounding == Rounding::Exact).into();
        }
        let owed = wanted + self.carry;
        // Error diffusion with a random threshold: a fixed one would favour the same flows in every round when requests
        // arrive in a fixed order. Grants of whole units remain exact.
        let threshold = if owed & (UNIT - 1) == 0 {
            0
        } else {
            self.draw()
        };
        // The base rate is non-negative.
        let rounded = ((owed + threshold) >> FRACTION_BITS << FRACTION_BITS)
            .max(self.base >> FRACTION_BITS << FRACTION_BITS)
            .min(limit >> FRACTION_BITS << FRACTION_BITS);
        // If the previous hop limits the flow by a unit or more, nothing was lost to rounding.
        if wanted < limit + UNIT {
            self.carry = (owed - rounded).clamp(-UNIT, CARRY_LIMIT);
        }
        FixedRate(rounded)
    }

    /// Returns a uniform threshold within half a unit of zero.
    #[inline]
    fn draw(&mut self) -> i64 {
        self.noise ^= self.noise << 13;
        self.noise ^= self.noise >> 17;
        self.noise ^= self.noise << 5;
        i64::from(self.noise >> 16) - UNIT / 2
    }

    /// Runs capacity adaptation for an update interval T in which `sent_bytes` were sent. `queue_bytes` is the queue,
    /// including the packet in service with [`queue_in_service`](super::RouterVariant::queue_in_service): the current
    /// one, or the minimum since the last tick, according to [`queue_sample`](super::RouterVariant::queue_sample). At a
    /// host's interface it is the sum of [`Sender::overdue`](super::Sender::overdue).
    pub fn tick(&mut self, config: &Config, sent_bytes: u64, queue_bytes: u64) {
        // D3 §4.4, low load: reset everything. With the repair, the census clears the counters instead, because it
        // tolerates a first round trip of two epochs and supports slow flows.
        self.quiet = if queue_bytes == 0 {
            self.quiet.saturating_add(1)
        } else {
            0
        };
        if self.quiet > config.router.reset_intervals {
            self.capacity = self.physical;
            self.carry = 0;
            if config.router.repair {
                self.take_census(config);
            } else {
                self.counters = Tally::default();
            }
            return;
        }
        let scale = config.exponent();
        let used = fixed_from_bytes(sent_bytes, config.interval(), scale);
        let queued = fixed_from_bytes(queue_bytes, config.interval(), scale);
        let reference = match config.router.variant.alpha_reference {
            AlphaReference::Physical => self.physical * i64::from(config.router.target_256) / 256,
            AlphaReference::Literal => self.capacity,
        };
        // D3 §4.4: C += α (C − u/T) − β q/T
        let change = i64::from(config.router.alpha_256) * (reference - used)
            - i64::from(config.router.beta_256) * queued;
        self.capacity = (self.capacity + change / 256).clamp(self.physical / 10, self.physical * 2);
        if config.router.repair {
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

    /// Returns N: flows that this port counts as alive.
    pub fn flows(&self) -> u64 {
        self.counters.flows as u64
    }

    /// Returns D: sum of desired rates, in 1/256 of an encoded unit.
    pub fn demand(&self) -> u64 {
        (self.counters.demand >> (FRACTION_BITS - 8)) as u64
    }

    /// Returns A: sum of allocations, in 1/256 of an encoded unit.
    pub fn allocated(&self) -> u64 {
        (self.counters.allocated >> (FRACTION_BITS - 8)) as u64
    }

    /// Returns A in internal fixed point.
    pub(super) const fn allocated_fixed(&self) -> i64 {
        self.counters.allocated
    }

    /// Returns C: adapted capacity, in 1/256 of an encoded unit.
    pub fn capacity(&self) -> u64 {
        (self.capacity >> (FRACTION_BITS - 8)) as u64
    }

    /// Returns the base rate of paused flows.
    pub fn base(&self) -> EncodedRate {
        EncodedRate((self.base >> (FRACTION_BITS - 8)) as u16)
    }

    /// Returns true if nothing is registered or counted and C is the link's rate, so that ticks have no effect.
    pub fn is_idle(&self) -> bool {
        self.counters == Tally::default()
            && self.capacity == self.physical
            && self.census.is_clear()
    }
}

/// Returns the rates that a flow returns. A new flow has nothing to return, regardless of its request.
#[inline]
fn returned(hop: &HopRequest, new: bool) -> Tally {
    if new {
        return Tally::default();
    }
    Tally {
        flows: 0,
        demand: hop.previous_desired.0,
        allocated: hop.previous_allocation.0,
    }
}

fn base_rate(config: &Config) -> i64 {
    match config.router.base_rate {
        BaseRate::HeaderOnly => 0,
        BaseRate::Segment(span) => {
            if span.as_ps() == 0 {
                0
            } else {
                fixed_from_bytes(u64::from(config.wire.mtu), span, config.exponent()).min(MAX_FIXED)
            }
        }
    }
}
