//! Runs scenarios on the testbed in real time, as an engine of `study`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread as threads;

use duetime_core::random::Streams;
use duetime_core::{Span, Time};
use duetime_kernel::Policy;
use duetime_scenario::Scenario;
use duetime_sim::topology::Network;
use duetime_sim::{Options, RunOutput, sampled_links};
use duetime_study::Engine;
use duetime_switch::{Report, Statistics, Switch};

use crate::LabError;
use crate::linux::clock::Clock;
use crate::linux::controllers::Controllers;
use crate::linux::fidelity::{Fidelity, Measured};
use crate::linux::network::Machines;
use crate::linux::records::{self, Window};
use crate::linux::state::{Registered, RunningHost};
use crate::linux::thread::{self, Processors};
use crate::linux::traffic::{Inputs, Results, Traffic};
use crate::linux::transport;
use crate::linux::tuning::{Recovery, Tuning};
use crate::linux::{namespace, plan, socket};

/// Time between the setup of a run and its start, in nanoseconds.
const LEAD_NS: i64 = 50_000_000;

/// Options of runs.
#[derive(Clone, Copy, Debug)]
pub struct Choices {
    /// Loss recovery of senders.
    pub recovery: Recovery,
    /// Maximum number of repetitions of an invalid run.
    pub repeats: u32,
    /// True to use the real-time scheduler for the switch and the applications.
    pub real_time: bool,
}

impl Default for Choices {
    fn default() -> Self {
        Self {
            recovery: Recovery::Kernel,
            repeats: 3,
            real_time: true,
        }
    }
}

/// The testbed, which executes one run at a time.
pub struct Testbed {
    choices: Choices,
    /// Held during a run, because concurrent runs would compete for processors.
    running: Mutex<()>,
    reports: Mutex<Vec<Fidelity>>,
}

impl Testbed {
    /// Checks that this process has the required privileges and that the testbed supports these scenarios.
    pub fn new(choices: Choices, scenarios: &[&Scenario]) -> Result<Self, LabError> {
        if !nix::unistd::geteuid().is_root() {
            return Err(LabError::NotRoot);
        }
        for scenario in scenarios {
            let network = plan::network(scenario)?;
            for transport in 0..scenario.transports.len() {
                transport::stacks(scenario, &network, transport)?;
            }
        }
        Ok(Self {
            choices,
            running: Mutex::default(),
            reports: Mutex::default(),
        })
    }

    /// Returns the fidelity reports of all runs so far in order, including invalid ones.
    pub fn reports(&self) -> Vec<Fidelity> {
        self.lock_reports().clone()
    }

    /// Builds the network of a scenario and forwards between its hosts until `stop` is set. Calls `ready` with the
    /// hosts. Programs there that select no congestion controller use the first transport's, with deadlines by
    /// `policy`.
    pub fn hold(
        &self,
        scenario: &Scenario,
        policy: Option<&Policy>,
        stop: &AtomicBool,
        ready: impl FnOnce(&[RunningHost]),
    ) -> Result<(), LabError> {
        let network = plan::network(scenario)?;
        let (stacks, _) = transport::stacks(scenario, &network, 0)?;
        let _controllers = Controllers::new(&stacks, policy)?;
        let tuning = Tuning::of(&stacks, self.choices.recovery);
        let hosts = Machines::build(&network, &tuning)?;
        let streams = Streams::new(scenario.seed, 0);
        let config = plan::switch(scenario, &network, &stacks, streams, self.choices.real_time);
        let mut switch = hosts.switch.within(|| Ok(Switch::open(&config)?))?;
        let registered = register(scenario, &network, &hosts)?;
        ready(registered.hosts());
        switch.run(stop)?;
        Ok(())
    }

    fn lock_reports(&self) -> MutexGuard<'_, Vec<Fidelity>> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Executes one run, valid or not.
    fn attempt(
        &self,
        scenario: &Scenario,
        transport: usize,
        run: u64,
        repeated: u32,
        options: &Options,
    ) -> Result<(RunOutput, Fidelity), LabError> {
        let network = plan::network(scenario)?;
        let streams = Streams::new(scenario.seed, run);
        let sampled = sampled_links(scenario, &network, streams)?;
        let (mut stacks, workload_stack) = transport::stacks(scenario, &network, transport)?;
        let _controllers = Controllers::new(&stacks, None)?;
        let tuning = Tuning::of(&stacks, self.choices.recovery);
        let mut hosts = Machines::build(&network, &tuning)?;
        hosts
            .refused
            .append(&mut transport::limit_delays(&mut stacks));
        let _registered = register(scenario, &network, &hosts)?;
        let config = plan::switch(scenario, &network, &stacks, streams, self.choices.real_time);
        let stop = AtomicBool::new(false);
        let mut window = Window::default();
        let processors = Processors::now();

        let (clock, results, report, applications, switch) = threads::scope(|scope| {
            let (opened, opening) = mpsc::channel::<Result<Opened, LabError>>();
            let (stop, inside, config) = (&stop, &hosts.switch, &config);
            let switch = scope.spawn(move || forward(inside, config, stop, &opened));
            let _stop_guard = StopAtEnd(stop);
            let opened = opening.recv().expect("a report of the switch thread")?;
            let inputs = Inputs {
                scenario,
                network: &network,
                streams,
                stacks: &stacks,
                workload_stack: &workload_stack,
                hosts: &hosts.hosts,
                long_info: socket::kernel_counts_timeouts(),
                progress: options.progress.clone(),
            };
            let window = &mut window;
            let real_time = self.choices.real_time;
            let statistics = opened.statistics;
            let applications =
                scope.spawn(move || apply(inputs, scenario, real_time, window, &statistics));
            let applied = applications
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            stop.store(true, Ordering::Relaxed);
            let forwarded = switch
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let Applied {
                clock,
                results,
                shares,
            } = applied?;
            let (report, switch_shares) = forwarded?;
            Ok::<_, LabError>((clock, results, report, shares, switch_shares))
        })?;
        let fidelity = Fidelity::of(
            &scenario.transports[transport].name,
            run,
            repeated,
            &Measured {
                scenario,
                network: &network,
                report: &report,
                results: &results,
                applications,
                switch,
                processors_busy: Processors::now().busy_since(processors),
                refused: &hosts.refused,
                window_end: window.end.as_ref(),
            },
        );
        let output = records::output(
            scenario, &network, clock, &sampled, &window, &report, results,
        );
        Ok((output, fidelity))
    }
}

impl Engine for Testbed {
    fn run(
        &self,
        scenario: &Scenario,
        transport: usize,
        run: u64,
        options: &Options,
    ) -> Result<RunOutput, String> {
        let _alone = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut repeated = 0;
        loop {
            let (output, fidelity) = match self.attempt(scenario, transport, run, repeated, options)
            {
                Ok(attempt) => attempt,
                Err(LabError::Stopped) => return Ok(RunOutput::default()),
                Err(error) => return Err(error.to_string()),
            };
            let invalid = fidelity.invalid.join("; ");
            let valid = fidelity.is_valid();
            self.lock_reports().push(fidelity);
            if valid {
                return Ok(output);
            }
            if repeated == self.choices.repeats {
                return Err(format!(
                    "invalid in {} attempts; last reason: {invalid}",
                    repeated + 1
                ));
            }
            repeated += 1;
        }
    }
}

/// Opened switch.
struct Opened {
    statistics: std::sync::Arc<Statistics>,
}

/// Results of the applications' thread.
struct Applied {
    clock: Clock,
    results: Results,
    shares: thread::Shares,
}

/// Stops the switch when the scope ends, also by a panic or an error.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn register(
    scenario: &Scenario,
    network: &Network,
    hosts: &Machines,
) -> Result<Registered, LabError> {
    let running_host = |(host, namespace): (u32, &namespace::Namespace)| RunningHost {
        name: network.nodes[host as usize].name.clone(),
        address: Some(socket::address(host).to_string()),
        descriptor: namespace.descriptor(),
    };
    let mut all: Vec<RunningHost> = (0..).zip(&hosts.hosts).map(running_host).collect();
    all.push(RunningHost {
        name: "switch".to_owned(),
        address: None,
        descriptor: hosts.switch.descriptor(),
    });
    Registered::new(&scenario.name, all)
}

/// Opens and runs the switch, on its own thread.
fn forward(
    inside: &namespace::Namespace,
    config: &duetime_switch::Config,
    stop: &AtomicBool,
    opened: &mpsc::Sender<Result<Opened, LabError>>,
) -> Result<(Report, thread::Shares), LabError> {
    let open = || {
        inside.enter()?;
        Ok(Switch::open(config)?)
    };
    let mut switch = match open() {
        Ok(switch) => switch,
        Err(error) => {
            let _ = opened.send(Err(error));
            return Ok((Report::default(), thread::Shares::default()));
        }
    };
    let statistics = switch.statistics();
    let _ = opened.send(Ok(Opened { statistics }));
    let (before, began) = (thread::scheduled(thread::current()), Clock::starting_in(0));
    let report = switch.run(stop)?;
    let time = began.now().since(Time::ZERO);
    let shares = thread::scheduled(thread::current()).shares_since(before, time);
    Ok((report, shares))
}

/// Runs the applications, on their own thread.
fn apply(
    inputs: Inputs<'_>,
    scenario: &Scenario,
    real_time: bool,
    window: &mut Window,
    statistics: &Statistics,
) -> Result<Applied, LabError> {
    let traffic = Traffic::new(inputs)?;
    if real_time {
        thread::real_time()?;
    }
    let clock = Clock::starting_in(LEAD_NS);
    threads::sleep(std::time::Duration::from_nanos(LEAD_NS.unsigned_abs()));
    let warm_up = Time::ZERO + scenario.warm_up;
    let stop = Time::ZERO + scenario.duration;
    let is_endless = scenario.is_endless();
    let mut tick = |now: Time| {
        if now < warm_up {
            return Some(warm_up);
        }
        if window.begin.is_none() && scenario.warm_up > Span::ZERO {
            window.begin = Some(statistics.report());
        }
        if !is_endless || window.end.is_some() {
            return None;
        }
        if now < stop {
            return Some(stop);
        }
        window.end = Some(statistics.report());
        None
    };
    let before = thread::scheduled(thread::current());
    let results = traffic.run(clock, &mut tick)?;
    let time = results.end.since(Time::ZERO);
    let shares = thread::scheduled(thread::current()).shares_since(before, time);
    Ok(Applied {
        clock,
        results,
        shares,
    })
}
