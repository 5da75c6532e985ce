//! Congestion controllers: how the window grows, and what marks, loss and a timeout do to it. Everything else of TCP is
//! the same for all of them.
//!
//! A controller is a file here, with its options and its state, and a line in `controllers!`. What it leaves out of
//! `Control` is NewReno's.

mod cubic;
mod d2tcp;
mod dctcp;
mod hystart;
mod imminence;
mod newreno;

pub use cubic::Cubic;
pub use d2tcp::{Completion, D2tcp};
pub use dctcp::Dctcp;
#[doc(hidden)] // for the tests of what repeats this arithmetic in another language
pub use dctcp::reduced;
#[doc(hidden)]
pub use imminence::{completion_rtts, imminence};

use crate::tcp::{Config, Rtt};
use duetime_core::fixed::Fraction;
use duetime_core::{Span, Time};

/// What a controller steers.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Window {
    /// The congestion window, in bytes.
    pub cwnd: u64,
    /// The slow-start threshold, in bytes; `u64::MAX`: infinite.
    pub ssthresh: u64,
    /// Bytes acknowledged towards the next segment of growth.
    pub growth: u64,
}

/// What a flow knows of itself when it must answer marks.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// When the current message is due, if it has a deadline.
    pub deadline: Option<Time>,
    /// B: bytes of the current message not yet cumulatively acknowledged.
    pub remaining: u64,
    /// W: the window before the reduction, in bytes.
    pub window: u64,
    /// The length of a full segment, in bytes.
    pub mss: u32,
    /// The smoothed round-trip time; zero if none was measured yet.
    pub srtt: Span,
}

/// A controller's state, and its answers. Each is NewReno's (RFC 5681) unless a controller says otherwise.
pub(crate) trait Control: Sized {
    /// Whether packets are sent ECN-capable and marks are answered.
    const USES_MARKS: bool = false;
    /// Whether `grow` is another than NewReno's.
    const GROWS_OTHERWISE: bool = false;

    /// Everything up to `ack` is acknowledged, `marked` bytes of it with a mark; `next` is the next new position to be
    /// sent. Called for every acknowledgement that moves on, if the controller uses marks.
    #[inline(always)]
    fn count(&mut self, _marked: u64, _ack: u64, _next: u64) {}

    /// `bytes` were acknowledged without a mark: slow start or congestion avoidance. Called if it grows otherwise.
    #[inline(always)]
    fn grow(
        &mut self,
        _config: &Config,
        _now: Time,
        _window: &mut Window,
        _rtt: &Rtt,
        _bytes: u64,
    ) {
    }

    /// A segment took `rtt` to be acknowledged; everything up to `ack` is, and `next` is sent next. Called with selective
    /// acknowledgements alone, before `grow`.
    #[inline(always)]
    fn measured(&mut self, _rtt: Span, _ack: u64, _next: u64) {}

    /// The first mark in a window of data has come back.
    #[inline(always)]
    fn reduce_by_marks(
        &mut self,
        _config: &Config,
        _now: Time,
        _window: &mut Window,
        _progress: &Progress,
    ) {
    }

    /// A segment was lost with `flight` bytes on their way: sets the slow-start threshold. Fast recovery sets the window.
    fn reduce_by_loss(&mut self, config: &Config, window: &mut Window, flight: u64) {
        window.halve(config, flight);
    }

    /// The retransmission timer has expired for the first time, outside fast recovery, with `flight` bytes on their way:
    /// sets the slow-start threshold. The window falls to one segment.
    fn reduce_by_timeout(&mut self, config: &Config, window: &mut Window, flight: u64) {
        window.halve(config, flight);
    }

    /// The retransmission timer has expired in fast recovery, for which the slow-start threshold was set. The window falls
    /// to one segment.
    #[inline(always)]
    fn abandon_recovery(&mut self) {}

    /// Data follows after this long without any; `restarts`: with the initial window, which is smaller than the last one.
    #[inline(always)]
    fn resume(&mut self, _idle: Span, _restarts: bool) {}

    /// α, the average marked fraction (RFC 8257).
    fn alpha(&self) -> Fraction {
        Fraction::ZERO
    }
}

/// Makes [`CongestionControl`] and [`Controller`] of a list of `Name(options) => module`, whose `module::State` is a
/// `Control` and is made by `State::new(options)`.
macro_rules! controllers {
    ($($(#[$doc:meta])* $name:ident $(($($option:ident: $options:ty),+))? => $module:ident,)+) => {
        /// Which congestion controller, with its options.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum CongestionControl {
            $($(#[$doc])* $name $(($($options),+))?,)+
        }

        /// A connection's controller.
        #[derive(Clone, Debug)]
        pub(crate) enum Controller {
            $($name($module::State),)+
        }

        impl CongestionControl {
            /// Whether packets are sent ECN-capable and marks are answered.
            #[inline]
            pub const fn uses_marks(&self) -> bool {
                match self {
                    $(Self::$name { .. } => $module::State::USES_MARKS,)+
                }
            }
        }

        impl Controller {
            /// Whether it does not grow as NewReno does.
            #[inline(always)]
            pub const fn grows_otherwise(&self) -> bool {
                match self {
                    $(Self::$name(_) => $module::State::GROWS_OTHERWISE,)+
                }
            }

            /// That of a fresh connection.
            pub fn new(control: CongestionControl) -> Self {
                match control {
                    $(CongestionControl::$name $(($($option),+))? => {
                        Self::$name($module::State::new($($($option),+)?))
                    })+
                }
            }
        }

        /// Statically dispatched: `on!(controller, state => call)`.
        macro_rules! on {
            ($controller:expr, $state:ident => $call:expr) => {
                match $controller {
                    $(Controller::$name($state) => $call,)+
                }
            };
        }
    };
}

controllers! {
    /// No ECN: loss halves the window (RFC 5681).
    NewReno => newreno,
    /// DCTCP (RFC 8257).
    Dctcp(marks: Dctcp) => dctcp,
    /// D2TCP (D2TCP §3).
    D2tcp(marks: Dctcp, deadlines: D2tcp) => d2tcp,
    /// CUBIC, without ECN (RFC 9438).
    Cubic(options: Cubic) => cubic,
}

pub(crate) use on;
