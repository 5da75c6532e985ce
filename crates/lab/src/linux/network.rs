//! The testbed's network: a namespace per host, a namespace for the switch, and veth pairs between them.

use duetime_sim::topology::Network;

use crate::LabError;
use crate::linux::namespace::{Namespace, run};
use crate::linux::plan;
use crate::linux::tuning::{Refused, Tuning};

/// Namespaces with their interfaces, which end when this is dropped or the process ends.
#[derive(Debug)]
pub struct Machines {
    /// Namespaces by host index.
    pub hosts: Vec<Namespace>,
    /// Namespace of the switch.
    pub switch: Namespace,
    /// Settings of the scenario that the kernel does not support, equal on all hosts.
    pub refused: Vec<Refused>,
}

impl Machines {
    /// Creates and configures all namespaces.
    pub fn build(network: &Network, tuning: &Tuning) -> Result<Self, LabError> {
        let count = network.hosts();
        let switch = Namespace::new()?;
        let hosts = (0..count)
            .map(|_| Namespace::new())
            .collect::<Result<Vec<_>, _>>()?;
        let mtu = tuning.mtu();
        let mut commands = String::from("link set lo up\n");
        for (host, namespace) in (0..count).zip(&hosts) {
            let name = plan::interface(host);
            let path = namespace.path();
            let queues = "numtxqueues 1 numrxqueues 1";
            commands.extend([
                "link add ",
                &name,
                &format!(" mtu {mtu} txqueuelen 10000 "),
                queues,
                " type veth peer name eth0 netns ",
                &path,
                " ",
                queues,
                "\n",
                "link set ",
                &name,
                " up\n",
            ]);
        }
        switch.within(|| {
            std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1")
                .or_else(ignore_missing)
                .map_err(LabError::system("disable IPv6"))?;
            run("ip", &["-batch", "-"], &commands)?;
            for host in 0..count {
                duetime_switch::disable_offloads(&plan::interface(host))?;
            }
            Ok(())
        })?;
        let mut refused = Vec::new();
        for (host, namespace) in (0..count).zip(&hosts) {
            refused.append(&mut namespace.within(|| tuning.host(host, count))?);
        }
        refused.sort();
        refused.dedup();
        Ok(Self {
            hosts,
            switch,
            refused,
        })
    }
}

/// Ignores the missing setting of a kernel without IPv6.
fn ignore_missing(error: std::io::Error) -> std::io::Result<()> {
    match error.kind() {
        std::io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    }
}
