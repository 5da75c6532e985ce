//! One sentence about each transport and what it needs, for readers who choose one.

use crate::model::{Protocol, Transport};

/// A short description of a transport, in plain English.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// One sentence on how the transport decides its rate.
    pub what: &'static str,
    /// Requirements on hosts and switches, as a phrase that follows "Needs".
    pub needs: &'static str,
}

impl Transport {
    /// Describes the transport by its protocol, so a `[[variant]]` has the description of its base. Strict priorities
    /// (`priorities` above 1) need queues for them in the switches as well.
    pub fn about(&self) -> About {
        match &self.protocol {
            Protocol::Tcp(config) => super::about_window(&config.congestion_control),
            Protocol::D3(config) => super::d3::about(config),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Transport;
    use crate::{NoFiles, load};

    /// Returns the descriptions of the transports of a scenario that compares `names`.
    fn abouts(names: &str, more: &str) -> Vec<super::About> {
        let text = format!(
            "name = \"x\"\ntransport = {names}\nduration = \"1 ms\"\n[topology]\nkind = \"star\"\nhosts = 3\n\
             link = {{ rate = \"1 Gbps\", latency = \"5 us\" }}\n[[workload]]\nkind = \"long\"\npairs = [[0, 1]]\n{more}"
        );
        let scenario = load(&text, "x", &[], &NoFiles).expect("a scenario");
        scenario.transports.iter().map(Transport::about).collect()
    }

    #[test]
    fn every_transport_has_a_description_of_its_own() {
        let all = abouts(r#"["tcp", "cubic", "dctcp", "d2tcp", "d3", "rcpdc"]"#, "");
        for (i, about) in all.iter().enumerate() {
            assert!(
                about.what.ends_with('.') && !about.needs.ends_with('.'),
                "{about:?}"
            );
            assert!(all[..i].iter().all(|of| of.what != about.what), "{about:?}");
        }
        assert!(all[2].needs.contains("`dctcp`") && all[3].needs.contains("eBPF"));
    }

    #[test]
    fn a_variant_is_described_as_its_base() {
        let all = abouts(
            r#"["cubic", "mine", "tcp-prio", "edge"]"#,
            "[[variant]]\nname = \"mine\"\nbase = \"cubic\"\n\
             [[variant]]\nname = \"edge\"\nbase = \"d3\"\nallocation = \"edge\"\n",
        );
        assert_eq!(all[0], all[1]);
        assert!(all[2].what.contains("NewReno"));
        assert!(all[3].needs.ends_with("nothing of the switches"));
    }
}
