//! Attaching and detaching of the programs.

use crate::host_default::{self, HostDefault};
use crate::leftover::{offered, unregister_left};
use crate::programs::{LIST, find_map, has_list, load};
use crate::release::{self, OLDEST, supports_links};
use crate::sockets::{self, Algorithm, SocketState};
use crate::totals::{self, Totals};
use crate::{Error, Parameters, Policy};
use libbpf_rs::{Iter, Link, MapCore, MapFlags, Object};
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Names of the congestion controls, which are maps of the object file.
pub(crate) const CONTROLS: [&str; 2] = ["duetime_dctcp", "duetime_d2tcp"];
/// Programs that are attached to the cgroup.
const CGROUP_PROGRAMS: [&str; 3] = ["duetime_setsockopt", "duetime_sock_create", READING];
/// Program that lets a process read the state of its deadlines.
const READING: &str = "duetime_getsockopt";

/// Path of the kernel's type information.
pub(crate) const BTF: &str = "/sys/kernel/btf/vmlinux";

/// Options of attaching.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Parameters of the controllers.
    pub parameters: Parameters,
    /// Cgroup (version 2) whose sockets have the deadline option; `None` for the root, and thus every socket.
    pub cgroup: Option<PathBuf>,
    /// Policy with deadlines for programs that set none.
    pub policy: Option<Policy>,
    /// True if processes can set deadlines but not read their state, so that `getsockopt` costs no process more than
    /// before.
    pub write_only: bool,
    /// True to register the congestion controls without links, as on kernels before 6.4.
    pub without_links: bool,
}

/// The congestion controls `duetime_dctcp` and `duetime_d2tcp` and the deadline option, attached to the running kernel.
///
/// Dropping it detaches and restores the defaults of network namespaces ([`restore_defaults`](Self::restore_defaults)).
/// The end of the process only detaches. Before Linux 6.4, the congestion controls have no link that ends with the
/// process: after `kill -9`, they stay until the next [`Attachment::attach`] or [`unregister_left`].
/// Connections that use a controller when it is detached keep it until they close; new ones cannot select it.
pub struct Attachment {
    // Fields are dropped in this order.
    links: Vec<Link>,
    sockets: Option<Link>,
    object: Object,
    generation: u32,
    /// Defaults of all network namespaces before the attachment; `None` until the controllers are attached.
    earlier_defaults: Option<Vec<HostDefault>>,
}

impl Drop for Attachment {
    fn drop(&mut self) {
        self.restore_defaults();
    }
}

impl Attachment {
    /// Loads and attaches everything. Connections that keep a detached controller take part again: their deadlines, the
    /// policy and the totals, which then continue. Network namespaces whose default congestion control is one of
    /// Duetime's, for example since a killed process was attached, use the attached programs from now on.
    pub fn attach(options: &Options) -> Result<Self, Error> {
        Self::try_attach(options).map_err(|error| match error {
            // A distribution may have backported features to an older kernel, so the version alone is no reason to
            // fail.
            Error::Refused { .. } if release::version().is_some_and(|version| version < OLDEST) => {
                Error::TooOld {
                    release: release::release(),
                    oldest: OLDEST.to_string(),
                }
            }
            error => error,
        })
    }

    fn try_attach(options: &Options) -> Result<Self, Error> {
        options.parameters.check()?;
        if !Path::new(BTF).exists() {
            return Err(Error::NoBtf { path: BTF.into() });
        }
        let cgroup = match &options.cgroup {
            Some(path) => path.clone(),
            None => cgroup_root()?,
        };
        let cgroup = File::open(&cgroup).map_err(|source| Error::File {
            path: cgroup,
            source,
        })?;

        let links = !options.without_links && supports_links();
        if !links {
            unregister_left()?;
        }
        // Checked before the maps of another process could change.
        if let Some(name) = offered().first() {
            return Err(Error::Attached {
                name: (*name).into(),
            });
        }
        let object = load(options.parameters, links)?;
        let sockets = if has_list(&object) {
            Some(attach_sockets(&object)?)
        } else {
            None
        };
        let mut attachment = Self {
            links: Vec::new(),
            sockets,
            generation: policy_generation(&object)?,
            object,
            earlier_defaults: None,
        };
        match &options.policy {
            Some(policy) => attachment.set_policy(policy)?,
            // Ends the policy of remaining connections.
            None if attachment.generation > 0 => attachment.set_policy(&Policy::default())?,
            None => {}
        }
        attachment.attach_cgroup(&cgroup, options.write_only)?;
        attachment.attach_controls()?;
        attachment.earlier_defaults = Some(host_default::all());
        host_default::renew();
        Ok(attachment)
    }

    /// Returns the network namespaces whose default congestion control is one of the controllers.
    pub fn defaults(&self) -> Vec<HostDefault> {
        let mut defaults = host_default::all();
        defaults.retain(|default| host_default::is_ours(&default.name));
        defaults
    }

    /// Replaces the controllers as default congestion controls, in all network namespaces, by the defaults before the
    /// attachment. A namespace without one takes that of this process's namespace, or CUBIC or Reno. Returns the
    /// namespaces with their new defaults.
    ///
    /// Namespaces without a process and a name in `/run/netns` are not found.
    pub fn restore_defaults(&self) -> Vec<HostDefault> {
        let earlier = self.earlier_defaults.as_deref();
        earlier.map_or_else(Vec::new, host_default::restore)
    }

    /// Replaces the policy, for messages that begin afterwards.
    pub fn set_policy(&mut self, policy: &Policy) -> Result<(), Error> {
        let root = cgroup_root()?;
        let rules = policy.to_bytes(|cgroup| cgroup_id(&root, cgroup), user_id)?;
        self.generation += 1;
        let slot = self.generation % 2;
        self.update("duetime_policy", slot, &rules)?;
        let selection = [slot.to_ne_bytes(), self.generation.to_ne_bytes()].concat();
        self.update("duetime_select", 0, &selection)
    }

    /// Returns true if the kernel permits the program that lists the sockets. Some hardened kernels do not.
    pub fn lists_sockets(&self) -> bool {
        self.sockets.is_some()
    }

    /// Returns the sockets that use one of the controllers, in all network namespaces.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoList`] if [`Attachment::lists_sockets`] returns false.
    pub fn sockets(&self) -> Result<Vec<SocketState>, Error> {
        let link = self.sockets.as_ref().ok_or(Error::NoList)?;
        let refused = |error: &dyn ToString| Error::Refused {
            what: "to list the sockets".into(),
            reason: error.to_string(),
        };
        let mut bytes = Vec::new();
        Iter::new(link)
            .map_err(|error| refused(&error))?
            .read_to_end(&mut bytes)
            .map_err(|error| refused(&error))?;
        Ok(sockets::parse(&bytes))
    }

    /// Returns the totals of a controller.
    pub fn totals(&self, algorithm: Algorithm) -> Result<Totals, Error> {
        let key = totals::index(algorithm).to_ne_bytes();
        let map = find_map(&self.object, "duetime_totals");
        let read = map.lookup_percpu(&key, MapFlags::ANY);
        let processors = read.map_err(|error| Error::Refused {
            what: "to read the totals".into(),
            reason: error.to_string(),
        })?;
        Ok(Totals::sum(&processors.unwrap_or_default()))
    }

    /// Returns the number of policies so far, 0 without one. It continues if connections remain from an earlier
    /// attachment.
    pub fn policy_generation(&self) -> u32 {
        self.generation
    }

    fn update(&self, map: &str, key: u32, value: &[u8]) -> Result<(), Error> {
        find_map(&self.object, map)
            .update(&key.to_ne_bytes(), value, MapFlags::ANY)
            .map_err(|error| Error::Refused {
                what: format!("an entry of the map {map}"),
                reason: error.to_string(),
            })
    }

    fn attach_cgroup(&mut self, cgroup: &File, write_only: bool) -> Result<(), Error> {
        let programs = CGROUP_PROGRAMS.iter();
        for name in programs.filter(|&&name| !write_only || name != READING) {
            let link = self
                .object
                .progs_mut()
                .find(|program| program.name() == *name)
                .expect("present in the object file")
                .attach_cgroup(cgroup.as_raw_fd());
            self.links.push(link.map_err(|error| Error::Refused {
                what: format!("to attach {name} to the cgroup"),
                reason: error.to_string(),
            })?);
        }
        Ok(())
    }

    fn attach_controls(&mut self) -> Result<(), Error> {
        for name in CONTROLS {
            let link = self
                .object
                .maps_mut()
                .find(|map| map.name() == name)
                .expect("present in the object file")
                .attach_struct_ops();
            self.links.push(link.map_err(|error| {
                if error.kind() == libbpf_rs::ErrorKind::AlreadyExists {
                    Error::Attached { name: name.into() }
                } else {
                    Error::Refused {
                        what: format!("to register {name}"),
                        reason: error.to_string(),
                    }
                }
            })?);
        }
        Ok(())
    }
}

/// Returns the generation of the policy that remaining connections use, 0 without one.
fn policy_generation(object: &Object) -> Result<u32, Error> {
    let selection = find_map(object, "duetime_select").lookup(&0_u32.to_ne_bytes(), MapFlags::ANY);
    let selection = selection.map_err(|error| Error::Refused {
        what: "to read the policy's generation".into(),
        reason: error.to_string(),
    })?;
    let generation = selection.as_deref().and_then(|bytes| bytes.get(4..8));
    let generation = generation.and_then(|bytes| bytes.try_into().ok());
    Ok(generation.map_or(0, u32::from_ne_bytes))
}

fn attach_sockets(object: &Object) -> Result<Link, Error> {
    object
        .progs_mut()
        .find(|program| program.name() == LIST)
        .expect("present in the object file")
        .attach_iter(find_map(object, "duetime_flows").as_fd())
        .map_err(|error| Error::Refused {
            what: "to attach the list of sockets".into(),
            reason: error.to_string(),
        })
}

/// Returns the ID of a cgroup, the inode number of its directory.
fn cgroup_id(root: &Path, cgroup: &Path) -> Result<u64, Error> {
    let path = root.join(cgroup.strip_prefix("/").unwrap_or(cgroup));
    fs::metadata(&path)
        .map(|metadata| metadata.ino())
        .map_err(|source| Error::File { path, source })
}

/// Returns the ID of a user.
fn user_id(name: &str) -> Result<u32, Error> {
    let no_user = || Error::NoUser {
        name: name.to_owned(),
    };
    let user = nix::unistd::User::from_name(name).map_err(|_| no_user())?;
    Ok(user.ok_or_else(no_user)?.uid.as_raw())
}

/// Returns the mount point of the cgroup v2 file system.
pub(crate) fn cgroup_root() -> Result<PathBuf, Error> {
    let path = Path::new("/proc/mounts");
    let mounts = fs::read_to_string(path).map_err(|source| Error::File {
        path: path.into(),
        source,
    })?;
    mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ').skip(1);
            Some((fields.next()?, fields.next()?))
        })
        .find(|&(_, kind)| kind == "cgroup2")
        .map(|(at, _)| PathBuf::from(at))
        .ok_or(Error::NoCgroup)
}
