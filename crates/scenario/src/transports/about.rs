//! Type of the short description of a transport.

/// Short description of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Sentence on how the transport sets its rate.
    pub what: &'static str,
    /// Requirements on hosts and switches, as a phrase after "Needs".
    pub needs: &'static str,
}
