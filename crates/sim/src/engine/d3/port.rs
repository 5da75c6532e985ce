//! D3 at a port (D3 §4.3, §4.4): connects the port driver of `proto::d3` to the engine.

use super::contents::Extra;
use crate::engine::context::Context;
use crate::output::AllocatorState;
use crate::packet::Packet;
use crate::setup::Setup;
use duetime_core::random::Purpose;
use duetime_core::{Span, Time};
use duetime_link::{Frame, Port};
use duetime_proto::d3::{
    Allocator, Claim, Config, EncodedRate, Flags, Outcome, Police, PortDriver, Reading, Request,
};
use duetime_results::FlowEventKind;
use duetime_scenario::model::RouterProgram;
use std::collections::VecDeque;

/// D3 state of one port, with the simulator's measurements.
pub struct PortState {
    driver: PortDriver,
    /// Policers, if the port polices.
    checkpoint: Option<Box<Checkpoint>>,
    /// Host whose NIC pulls packets through this port, or `None`. The packets wait in the senders then, and the port
    /// has no queue.
    puller: Option<u32>,
    answers: Answers,
}

/// Policers of a port.
struct Checkpoint {
    police: Police,
    /// Links that are policed.
    ingresses: Vec<u32>,
    /// Index in `ingresses` of the link of the packet that was just admitted.
    ingress: usize,
    /// Number of packets that were not admitted.
    policed: u64,
}

impl Checkpoint {
    /// Answers the request of the packet that was just admitted. Kept out of line to keep ports without policers fast.
    #[inline(never)]
    fn process(
        &mut self,
        driver: &mut PortDriver,
        config: &Config,
        now: Time,
        (flags, request): (Flags, &mut Request),
    ) -> Outcome {
        let Self {
            police, ingress, ..
        } = self;
        let process = |driver: &mut PortDriver| driver.process(config, now, flags, request);
        police.answering(driver, *ingress, process)
    }
}

/// Measurements of a port's answers.
#[derive(Default)]
pub(super) struct Answers(Grants);

impl Answers {
    /// Records the outcome of `packet`'s request at a port with base rate `base`. A denied request is counted for its
    /// flow. Flows without a deadline are not measured.
    #[inline(never)]
    pub fn note(
        &mut self,
        context: &mut Context,
        link: u32,
        packet: &Packet,
        outcome: Outcome,
        base: EncodedRate,
    ) {
        let Some(&Extra { flow, deadline, .. }) = context.extras.peek::<Extra>(packet) else {
            return;
        };
        let Some(deadline) = deadline else {
            return;
        };
        let now = context.now();
        let window = context.setup.base_round_trip.as_ps();
        self.0
            .forget(Time::from_ps(now.as_ps().saturating_sub(window)));
        if outcome.denied {
            let inverted = self.0.invert(deadline);
            let counts = context.recorder.records.denials.entry(flow).or_default();
            counts.0 += 1;
            counts.1 += u32::from(inverted);
            context.observe(packet.flow, FlowEventKind::Denied { link });
        } else if outcome.granted > base {
            self.0.0.push_back((now, deadline));
        }
    }
}

/// Recent grants above the base rate, each with its time and the flow's deadline. Used to count priority inversions.
#[derive(Default)]
struct Grants(VecDeque<(Time, Time)>);

impl Grants {
    /// Removes grants before `since`.
    fn forget(&mut self, since: Time) {
        while self.0.front().is_some_and(|(at, _)| *at < since) {
            self.0.pop_front();
        }
    }

    /// Returns true if a flow with a deadline after `deadline` holds a grant.
    fn invert(&self, deadline: Time) -> bool {
        self.0.iter().any(|(_, other)| *other > deadline)
    }
}

impl PortState {
    /// Creates the idle state of the port of `link`.
    fn new(setup: &Setup, config: &Config, link: u32) -> Self {
        let links = &setup.network.links;
        let ends = &links[link as usize];
        let ingresses = &setup.policed[ends.from as usize];
        let rates = ingresses.iter().map(|&link| links[link as usize].rate);
        let phase = setup.streams.key(u64::from(link), Purpose::Phase);
        Self {
            driver: PortDriver::new(config, ends.rate, Span::from_ps(phase)),
            checkpoint: (!ingresses.is_empty()).then(|| {
                Box::new(Checkpoint {
                    police: Police::new(config, rates, ends.rate),
                    ingresses: ingresses.clone(),
                    ingress: 0,
                    policed: 0,
                })
            }),
            puller: setup.network.nodes[ends.from as usize]
                .host
                .filter(|_| setup.nic_pulls),
            answers: Answers::default(),
        }
    }

    /// Returns true if the port of `link`, which polices, admits a packet that came over link `ingress`.
    pub fn admits(
        state: &mut Option<Box<Self>>,
        context: &mut Context,
        ingress: u32,
        link: u32,
        packet: &Packet,
    ) -> bool {
        let setup = &*context.setup;
        let from = setup.network.links[link as usize].from;
        if setup.policed[from as usize].is_empty() {
            // The packet starts at this host.
            return true;
        }
        let claim = context.extras.peek::<Extra>(packet).and_then(|extra| {
            let request = extra.packet.request.as_ref()?;
            Some(Claim::from_request(extra.packet.flags, request.desired))
        });
        let claim = claim.unwrap_or_default();
        let config = router_options(setup);
        let state = state.get_or_insert_with(|| Box::new(Self::new(setup, config, link)));
        let bytes = u64::from(packet.wire_bytes());
        let Some(checkpoint) = &mut state.checkpoint else {
            return true;
        };
        let number = checkpoint.ingresses.binary_search(&ingress);
        checkpoint.ingress = number.expect("a packet came over a link");
        let now = context.now();
        let admitted = checkpoint
            .police
            .admits(now, checkpoint.ingress, bytes, claim);
        checkpoint.policed += u64::from(!admitted);
        admitted
    }

    /// Returns true if the queue that the next packet finds is sampled.
    #[inline(always)]
    pub fn samples_queue(&self) -> bool {
        self.puller.is_none() && self.driver.has_queued()
    }

    /// Handles a packet that arrives at the port of `link`: samples the queue that it finds, and answers its rate
    /// request, if any. The first request creates the state.
    pub fn packet(
        state: &mut Option<Box<Self>>,
        context: &mut Context,
        port: &mut Port<Packet>,
        link: u32,
        packet: &Packet,
    ) {
        let now = context.now();
        let setup = &*context.setup;
        let config = router_options(setup);
        if let Some(state) = state
            && state.puller.is_none()
            && state.driver.needs_sample(config)
        {
            state.driver.sample(queue(config, port, now));
        }
        let Some(extra) = context.extras.peek_mut::<Extra>(packet) else {
            return;
        };
        let has_deadline = extra.deadline.is_some();
        let inner = &mut extra.packet;
        let Some(request) = &mut inner.request else {
            return;
        };
        let state = state.get_or_insert_with(|| Box::new(Self::new(setup, config, link)));
        let starts = state.driver.next_timeout() == Time::MAX;
        let flags = inner.flags;
        let outcome = match &mut state.checkpoint {
            None => state.driver.process(config, now, flags, request),
            Some(checkpoint) => {
                checkpoint.process(&mut state.driver, config, now, (flags, request))
            }
        };
        if starts {
            let due = state.driver.next_timeout();
            context.events.schedule_program(due, link);
        }
        if has_deadline {
            let base = state.driver.allocator().base();
            state.answers.note(context, link, packet, outcome, base);
        }
    }

    /// Adapts the capacity of the port of `link` (D3 §4.4). `overdue` returns the bytes that wait in a host's senders
    /// although they could have left in an earlier slot.
    pub fn tick(
        &mut self,
        context: &mut Context,
        port: &mut Port<Packet>,
        link: u32,
        overdue: impl FnOnce(u32) -> u64,
    ) {
        let now = context.now();
        let config = router_options(&context.setup);
        let queue_bytes = queue(config, port, now);
        let reading = Reading {
            departed_bytes: port.departed_bytes(),
            queue_bytes: self.puller.map_or(queue_bytes, overdue),
        };
        match &mut self.checkpoint {
            None => self.driver.timeout(config, now, reading),
            Some(checkpoint) => {
                let driver = &mut self.driver;
                checkpoint.police.timeout(driver, config, now, reading);
            }
        }
        let due = self.driver.next_timeout();
        if due != Time::MAX {
            context.events.schedule_program(due, link);
        }
    }

    /// Returns the state of the allocator at the port of `link`.
    pub fn report(&self, link: String) -> AllocatorState {
        let checkpoint = self.checkpoint.as_ref();
        let policed = checkpoint.map_or(0, |checkpoint| checkpoint.policed);
        AllocatorState {
            policed,
            ..report(self.driver.allocator(), link)
        }
    }
}

/// Returns the state of `allocator`.
pub(super) fn report(allocator: &Allocator, link: String) -> AllocatorState {
    AllocatorState {
        link,
        flows: allocator.flows(),
        demand: allocator.demand(),
        allocated: allocator.allocated(),
        capacity: allocator.capacity(),
        policed: 0,
    }
}

/// Returns q of the capacity adaptation at `now` (D3 §4.4).
fn queue(config: &Config, port: &mut Port<Packet>, now: Time) -> u64 {
    port.drain(now);
    if config.router.variant.queue_in_service {
        port.queue_bytes()
    } else {
        port.queue_bytes_waiting()
    }
}

/// Returns the options of D3's routers in a run with D3.
pub(super) fn router_options(setup: &Setup) -> &Config {
    match &setup.router_program {
        Some(RouterProgram::D3(config)) => config,
        _ => unreachable!("a run with D3"),
    }
}
