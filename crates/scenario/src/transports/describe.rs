//! Short descriptions of the transports and their requirements.

use super::about::About;
use crate::model::Transport;

impl Transport {
    /// Returns the description of the transport's protocol; a `[[variant]]` has the description of its base. Strict
    /// priorities (`priorities` above 1) also require queues in the switches.
    pub fn about(&self) -> About {
        super::about_protocol(&self.protocol)
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Transport;
    use crate::{NoFiles, TRANSPORTS, load};

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
    fn descriptions_are_unique() {
        // A transport with priorities has the description of its base.
        let names: Vec<&str> = TRANSPORTS
            .iter()
            .copied()
            .filter(|name| !name.ends_with("-prio"))
            .collect();
        let all = abouts(&format!("{names:?}"), "");
        for (i, about) in all.iter().enumerate() {
            assert!(
                about.what.ends_with('.') && !about.needs.ends_with('.'),
                "{about:?}"
            );
            assert!(
                all[..i].iter().all(|other| other.what != about.what),
                "{about:?}"
            );
        }
        let needs = |name| all[names.iter().position(|other| *other == name).unwrap()].needs;
        assert!(needs("dctcp").contains("`dctcp`") && needs("d2tcp").contains("eBPF"));
    }

    #[test]
    fn variant_has_the_description_of_its_base() {
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
