//! Congestion controllers: window growth, and reductions by marks, loss and timeouts. All other parts of TCP are
//! shared.
//!
//! A controller is a file in this module with its state, a variant of [`CongestionControl`] with its options, and a line
//! in `controllers!`. `Control` defaults to NewReno.

mod control;
mod cubic;
mod d2tcp;
mod dctcp;
mod hystart;
mod imminence;
mod newreno;
mod options;

#[doc(hidden)]
pub use control::Progress;
pub(crate) use control::{Control, Window};
#[doc(hidden)] // for tests of implementations in other languages
pub use dctcp::reduced;
#[doc(hidden)]
pub use imminence::{completion_rtts, imminence};
pub use options::{Completion, CongestionControl, Cubic, D2tcp, Dctcp};

/// Generates [`Controller`] from a list of `Name(options) => module`: the variants of [`CongestionControl`], and modules
/// in which `State` implements `Control` and has a constructor `State::new(options)`.
macro_rules! controllers {
    ($($name:ident $(($($option:ident),+))? => $module:ident,)+) => {
        /// State of a connection's congestion controller.
        #[derive(Clone, Debug)]
        pub(crate) enum Controller {
            $($name($module::State),)+
        }

        impl CongestionControl {
            /// Returns true if packets are sent ECN-capable and marks reduce the window.
            #[inline]
            pub const fn uses_marks(&self) -> bool {
                match self {
                    $(Self::$name { .. } => $module::State::USES_MARKS,)+
                }
            }
        }

        impl Controller {
            /// Returns true if the controller replaces NewReno's growth.
            #[inline(always)]
            pub const fn has_custom_growth(&self) -> bool {
                match self {
                    $(Self::$name(_) => $module::State::CUSTOM_GROWTH,)+
                }
            }

            /// Creates the controller of a new connection.
            pub fn new(control: CongestionControl) -> Self {
                match control {
                    $(CongestionControl::$name $(($($option),+))? => {
                        Self::$name($module::State::new($($($option),+)?))
                    })+
                }
            }
        }

        /// Dispatches statically: `on!(controller, state => call)`.
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
    NewReno => newreno,
    Dctcp(marks) => dctcp,
    D2tcp(marks, deadlines) => d2tcp,
    Cubic(options) => cubic,
}

pub(crate) use on;
