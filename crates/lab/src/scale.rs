//! Slow motion: divides all rates and multiplies all times of a scenario by one factor.
//!
//! Sizes, buffers and thresholds remain. Every transmission, delay, deadline and timer then takes longer by the factor,
//! so a transport without fixed time constants behaves the same in slow motion. CUBIC's growth has such a constant: C
//! is in segments per cubic second. `timeout_min`, two ticks of the kernel's clock, is another. Both remain, because a
//! kernel's cannot be changed. D3 rounds rates to a byte and therefore scales only approximately.

use duetime_core::{Rate, Span};
use duetime_scenario::Scenario;
use duetime_scenario::model::{
    Deadline, Gap, GiveUp, Hedge, HedgeAfter, Intensity, Link, Oldi, QueryArrival, SourceGap,
    Spans, Topology, Transport, WorkloadKind,
};
use thiserror::Error;

/// Reason for which a scenario cannot be scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ScaleError {
    /// Factor of zero.
    #[error("a scale of 0; use a whole number of at least 1")]
    Zero,
    /// Rate that is not divisible by the factor.
    #[error(
        "a {factor}th of {rate} is not a whole number of bits per second; choose another scale"
    )]
    Rate {
        /// Rate.
        rate: Rate,
        /// Factor.
        factor: u32,
    },
    /// Time that would overflow.
    #[error("a time of {span} is too long for a scale of {factor}; choose a smaller scale")]
    Span {
        /// Time.
        span: Span,
        /// Factor.
        factor: u32,
    },
}

/// Returns `scenario` with every rate divided and every time multiplied by `factor`.
pub fn scaled(scenario: &Scenario, factor: u32) -> Result<Scenario, ScaleError> {
    if factor == 0 {
        return Err(ScaleError::Zero);
    }
    let mut scenario = scenario.clone();
    let scale = Scale(factor);
    let Scenario {
        transports,
        warm_up,
        duration,
        drain,
        topology,
        switch,
        host,
        workloads,
        record,
        lab: _,
        name: _,
        seeds: _,
        seed: _,
    } = &mut scenario;
    for transport in transports {
        scale.transport(transport)?;
    }
    scale.spans([warm_up, duration, drain])?;
    // Receive delays are those of the machine's hosts, which do not slow down.
    scale.spans([&mut host.send_jitter])?;
    scale.topology(topology)?;
    for (rate, _) in &mut switch.ecn_threshold {
        scale.rate(rate)?;
    }
    for workload in workloads {
        if let Some(transport) = &mut workload.transport {
            scale.transport(transport)?;
        }
        scale.workload(&mut workload.kind)?;
    }
    scale.spans(record.every.as_mut())?;
    Ok(scenario)
}

#[derive(Clone, Copy)]
struct Scale(u32);

impl Scale {
    fn span(self, span: &mut Span) -> Result<(), ScaleError> {
        let Self(factor) = self;
        let ps = span.as_ps().checked_mul(u64::from(factor));
        *span = Span::from_ps(ps.ok_or(ScaleError::Span {
            span: *span,
            factor,
        })?);
        Ok(())
    }

    fn spans<'a>(self, spans: impl IntoIterator<Item = &'a mut Span>) -> Result<(), ScaleError> {
        spans.into_iter().try_for_each(|span| self.span(span))
    }

    fn rate(self, rate: &mut Rate) -> Result<(), ScaleError> {
        let Self(factor) = self;
        if !rate.as_bps().is_multiple_of(u64::from(factor)) {
            return Err(ScaleError::Rate {
                rate: *rate,
                factor,
            });
        }
        *rate = Rate::from_bps(rate.as_bps() / u64::from(factor));
        Ok(())
    }

    fn link(self, link: &mut Link) -> Result<(), ScaleError> {
        self.rate(&mut link.rate)?;
        self.span(&mut link.latency)
    }

    fn topology(self, topology: &mut Topology) -> Result<(), ScaleError> {
        match topology {
            Topology::Star { link, .. }
            | Topology::D3Testbed { link }
            | Topology::FatTree { link, .. } => self.link(link),
            Topology::Dumbbell {
                link, bottleneck, ..
            } => {
                self.link(link)?;
                self.link(bottleneck)
            }
            Topology::LeafSpine {
                host_link, uplink, ..
            } => {
                self.link(host_link)?;
                self.link(uplink)
            }
            Topology::Graph { edges, .. } => edges
                .iter_mut()
                .try_for_each(|edge| self.link(&mut edge.link)),
        }
    }

    fn transport(self, transport: &mut Transport) -> Result<(), ScaleError> {
        let protocol = &mut transport.protocol;
        self.spans(protocol.times_mut())?;
        let mut rates = protocol.rates_mut().into_iter();
        rates.try_for_each(|rate| self.rate(rate))
    }

    fn deadline(self, deadline: &mut Deadline) -> Result<(), ScaleError> {
        match deadline {
            Deadline::None => Ok(()),
            Deadline::Added { base, .. } | Deadline::Around { base, .. } => self.span(base),
            Deadline::Exponential { mean, floor } => self.spans([mean, floor]),
            Deadline::AddedExponential { base, mean } => self.spans([base, mean]),
        }
    }

    fn gap(self, gap: &mut Gap) -> Result<(), ScaleError> {
        match gap {
            Gap::Fixed(span) | Gap::Exponential(span) => self.span(span),
            Gap::Uniform(low, high) => self.spans([low, high]),
            Gap::LogNormal { median, sigma: _ } => self.span(median),
            Gap::Pareto {
                least,
                shape: _,
                most,
            } => {
                self.span(least)?;
                self.spans(most.as_mut())
            }
            Gap::Cdf { points, name: _ } => {
                for (ps, _) in points {
                    *ps *= f64::from(self.0);
                }
                Ok(())
            }
        }
    }

    fn workload(self, kind: &mut WorkloadKind) -> Result<(), ScaleError> {
        match kind {
            WorkloadKind::Oldi(oldi) => self.oldi(oldi),
            WorkloadKind::Burst {
                deadline,
                at,
                every,
                jitter,
                ..
            } => {
                self.deadline(deadline)?;
                self.spans([at, every, jitter])
            }
            WorkloadKind::Poisson {
                deadline,
                intensity,
                ..
            } => {
                if let Intensity::FlowsPerSecond(flows) = intensity {
                    *flows /= f64::from(self.0);
                }
                self.deadline(deadline)
            }
            WorkloadKind::Background {
                deadline, every, ..
            } => {
                self.deadline(deadline)?;
                match every {
                    SourceGap::Given(gap) => self.gap(gap),
                    // The load is relative to the link rate, which is scaled already.
                    SourceGap::AtLoad(_) => Ok(()),
                }
            }
            WorkloadKind::Permutation { deadline, at, .. } => {
                self.deadline(deadline)?;
                self.span(at)
            }
            WorkloadKind::Long { at, jitter, .. } => self.spans([at, jitter]),
            WorkloadKind::Spans(spans) => self.recorded(spans),
            WorkloadKind::Trace { flows } => flows.iter_mut().try_for_each(|flow| {
                self.span(&mut flow.start)?;
                self.spans(flow.deadline.as_mut())
            }),
        }
    }

    fn recorded(self, spans: &mut Spans) -> Result<(), ScaleError> {
        for query in &mut spans.queries {
            self.span(&mut query.start)?;
            self.spans(query.nodes.iter_mut().map(|node| &mut node.compute))?;
        }
        self.deadline(&mut spans.deadline)?;
        self.spans(&mut spans.objective.within)?;
        self.give_up(&mut spans.give_up)
    }

    fn give_up(self, give_up: &mut GiveUp) -> Result<(), ScaleError> {
        match give_up {
            GiveUp::After(span) => self.span(span),
            GiveUp::Children | GiveUp::Own | GiveUp::Never => Ok(()),
        }
    }

    fn oldi(self, oldi: &mut Oldi) -> Result<(), ScaleError> {
        let Oldi {
            deadline,
            query_deadline,
            arrival,
            compute,
            aggregate_compute,
            jitter,
            objective,
            give_up,
            hedge,
            retry,
            ..
        } = oldi;
        for deadline in deadline.iter_mut().chain([query_deadline]) {
            self.deadline(deadline)?;
        }
        if let QueryArrival::Every(gap) = arrival {
            self.gap(gap)?;
        }
        self.gap(compute)?;
        self.gap(aggregate_compute)?;
        self.gap(jitter)?;
        self.spans(&mut objective.within)?;
        if let Some(Hedge {
            after: HedgeAfter::Time(after),
            ..
        }) = hedge
        {
            self.span(after)?;
        }
        self.spans(retry.as_mut().map(|retry| &mut retry.timeout))?;
        self.give_up(give_up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use duetime_core::Time;
    use duetime_scenario::{NoFiles, load};
    use duetime_sim::Options;

    fn scenario(text: &str) -> Scenario {
        load(text, "test.toml", &[], &NoFiles).expect("a scenario")
    }

    /// A scenario without random times, which would round to picoseconds, without kernel constants, and with bursts
    /// that fill the buffer.
    const EXACT: &str = r#"
        name = "exact"
        transport = ["tcp", "dctcp", "d2tcp"]
        [topology]
        kind = "leaf-spine"
        racks = 2
        hosts_per_rack = 4
        spines = 2
        host_link = { rate = "1 Gbps", latency = "20 us" }
        uplink = { rate = "4 Gbps", latency = "10 us" }
        [switch]
        buffer = { kind = "static", size = "60 KB" }
        [tcp]
        profile = "paper"
        [host]
        start_jitter = false
        send_jitter = "0 ps"
        receive_delay = "0 ps"
        receive_jitter = "0 ps"
        [[workload]]
        kind = "burst"
        senders = 7
        receiver = 0
        size = "uniform 20 KB..300 KB"
        deadline = "10 ms"
        repeat = 3
        every = "30 ms"
        [[workload]]
        kind = "permutation"
        size = "200 KB"
        at = "3 ms"
    "#;

    #[test]
    fn completion_times_scale_exactly() {
        const FACTOR: u32 = 10;
        let plain = scenario(EXACT);
        let slow = scaled(&plain, FACTOR).expect("a scalable scenario");
        for (transport, name) in plain
            .transports
            .iter()
            .map(|transport| &transport.name)
            .enumerate()
        {
            let flows = |scenario: &Scenario| {
                let run = duetime_sim::run(scenario, transport, 0, &Options::default());
                run.expect("running").records.flows
            };
            let (plain, slow) = (flows(&plain), flows(&slow));
            assert_eq!(plain.len(), 29, "{name}");
            assert_eq!(plain.len(), slow.len(), "{name}");
            let longer = |at: Time| Time::from_ps(at.as_ps() * u64::from(FACTOR));
            let mut retransmits = 0;
            for (plain, slow) in plain.iter().zip(&slow) {
                assert!(plain.finish.is_some(), "{name}: {plain:?}");
                assert_eq!(plain.finish.map(longer), slow.finish, "{name}: {plain:?}");
                assert_eq!(longer(plain.start), slow.start);
                assert_eq!(plain.deadline.map(longer), slow.deadline);
                assert_eq!(
                    (plain.timeouts, plain.retransmits, plain.marks),
                    (slow.timeouts, slow.retransmits, slow.marks)
                );
                retransmits += plain.retransmits;
            }
            assert!(name != "tcp" || retransmits > 0, "the buffer must overflow");
        }
    }

    #[test]
    fn all_times_and_rates_are_scaled() {
        let plain = scenario(
            r#"
            name = "all"
            transport = ["dctcp", "d3"]
            warm_up = "1 s"
            duration = "3 s"
            drain = "2 s"
            [topology]
            kind = "dumbbell"
            left = 4
            right = 8
            link = { rate = "1 Gbps", latency = "20 us" }
            bottleneck = { rate = "2 Gbps", latency = "30 us" }
            [record]
            every = "1 ms"
            [[workload]]
            kind = "poisson"
            size = "10 KB"
            rate = "50 /s"
            deadline = { mean = "30 ms", floor = "5 ms" }
            [[workload]]
            kind = "background"
            count = 2
            size = "1 MB"
            every = "uniform 10 ms..30 ms"
            [[workload]]
            kind = "long"
            pairs = [[0, 5]]
            at = "7 ms"
            "#,
        );
        let slow = scaled(&plain, 10).expect("a scalable scenario");
        assert_eq!(scaled(&plain, 1), Ok(plain.clone()));
        assert_eq!(slow.warm_up, Span::from_secs(10));
        assert_eq!(slow.duration, Span::from_secs(30));
        assert_eq!(slow.drain, Span::from_secs(20));
        assert_eq!(slow.record.every, Some(Span::from_ms(10)));
        let Topology::Dumbbell {
            link, bottleneck, ..
        } = slow.topology
        else {
            panic!("another shape: {:?}", slow.topology);
        };
        assert_eq!(link.rate, Rate::from_mbps(100));
        assert_eq!(bottleneck.latency, Span::from_us(300));
        let config = slow.transports[0].protocol.window_options();
        let config = config.expect("DCTCP is a window protocol");
        assert_eq!(config.rto_min, Span::from_secs(2));
        assert_eq!(config.delayed_ack_timeout, Span::from_ms(400));
        assert_eq!(config.timeout_min, Span::from_ms(8));
        let WorkloadKind::Poisson {
            intensity,
            deadline,
            ..
        } = &slow.workloads[0].kind
        else {
            panic!("another workload");
        };
        assert_eq!(*intensity, Intensity::FlowsPerSecond(5.0));
        assert_eq!(
            *deadline,
            Deadline::Exponential {
                mean: Span::from_ms(300),
                floor: Span::from_ms(50)
            }
        );
        let WorkloadKind::Background { every, .. } = &slow.workloads[1].kind else {
            panic!("another workload");
        };
        let gap = Gap::Uniform(Span::from_ms(100), Span::from_ms(300));
        assert_eq!(*every, SourceGap::Given(gap));
        assert!(
            matches!(&slow.workloads[2].kind, WorkloadKind::Long { at, .. } if *at == Span::from_ms(70))
        );
    }

    #[test]
    fn unscalable_scenarios_are_errors() {
        let plain = scenario(EXACT);
        assert_eq!(scaled(&plain, 0), Err(ScaleError::Zero));
        let message = scaled(&plain, 7).unwrap_err().to_string();
        assert_eq!(
            message,
            "a 7th of 1 Gbps is not a whole number of bits per second; choose another scale"
        );
    }
}
