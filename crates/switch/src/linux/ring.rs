//! Frames from the kernel: a packet socket with a memory ring (`TPACKET_V2`) over all interfaces of the switch.
//!
//! Version 2 delivers each frame immediately; version 3 delivers blocks, which may wait for a jiffy.
#![expect(unsafe_code, reason = "the ring is memory shared with the kernel")]

use super::device::Device;
use super::error::Error;
use super::sys;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_int;
use std::mem::size_of;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Number of frames in the ring.
const SLOTS: usize = 4096;
/// Bytes that the kernel puts before a frame in its slot, with alignment.
const SLOT_HEADER: usize = 128;
/// Size of the memory blocks: a multiple of the page size and of the slot size.
const BLOCK: usize = 1 << 17;
/// Largest MTU whose frames fit into half a block.
pub(super) const LARGEST_MTU: usize = 65_000;

#[derive(Debug)]
pub(super) struct Ring {
    socket: OwnedFd,
    memory: NonNull<u8>,
    length: usize,
    slot_bytes: usize,
    /// Slot that the kernel fills next or has filled.
    next: usize,
    /// Frames that the kernel dropped since the socket was opened.
    dropped: u64,
}

// SAFETY: the memory belongs to the ring alone, and all access goes through `&mut self`.
unsafe impl Send for Ring {}

/// Frame received by the kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received<'a> {
    /// Kernel's index of the device.
    pub device: u32,
    /// Receive timestamp, in nanoseconds of `CLOCK_REALTIME`.
    pub stamp_ns: u64,
    /// Frame without its VLAN tag.
    pub bytes: &'a [u8],
    /// VLAN tag: protocol and control information.
    pub vlan: Option<[u16; 2]>,
    /// Original length; greater than that of `bytes` if the frame did not fit.
    pub length: usize,
    /// True if the sender left the checksum to its NIC.
    pub checksum_unfinished: bool,
}

impl Ring {
    /// Starts receiving all frames that reach the devices, including those for other destinations.
    pub fn open(devices: &[Device]) -> Result<Self, Error> {
        let socket =
            sys::packet_socket().map_err(|why| Error::of("opening a packet socket", why))?;
        let fd = socket.as_fd();
        let longest = devices.iter().map(Device::longest_frame).max().unwrap_or(0);
        let slot_bytes = (longest + SLOT_HEADER).next_power_of_two().max(2048);
        let set = |name: c_int, value: c_int, action: &str| {
            sys::set_option(fd, libc::SOL_PACKET, name, &value)
                .map_err(|why| Error::of(action, why))
        };
        let version = libc::tpacket_versions::TPACKET_V2 as c_int;
        set(libc::PACKET_VERSION, version, "selecting TPACKET_V2")?;
        set(
            libc::PACKET_IGNORE_OUTGOING,
            1,
            "ignoring frames that this machine sends (needs Linux 4.20)",
        )?;
        let length = SLOTS * slot_bytes;
        let ring = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (length / BLOCK) as u32,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: SLOTS as u32,
        };
        sys::set_option(fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &ring).map_err(|why| {
            Error::of(format!("reserving {length} bytes for received frames"), why)
        })?;
        let memory = map(fd, length)?;
        let ring = Self {
            memory,
            length,
            slot_bytes,
            next: 0,
            dropped: 0,
            socket,
        };
        sys::attach_filter(ring.as_fd(), &mut filter(devices))
            .map_err(|why| Error::of("filtering by interface", why))?;
        for device in devices {
            let promiscuous = libc::packet_mreq {
                mr_ifindex: device.number.cast_signed(),
                mr_type: libc::PACKET_MR_PROMISC as u16,
                mr_alen: 0,
                mr_address: [0; 8],
            };
            // Promiscuous mode ends with the socket, even if the process is killed.
            sys::set_option(
                ring.as_fd(),
                libc::SOL_PACKET,
                libc::PACKET_ADD_MEMBERSHIP,
                &promiscuous,
            )
            .map_err(|why| {
                Error::of(
                    format!("enabling promiscuous mode on `{}`", device.name),
                    why,
                )
            })?;
        }
        sys::bind(
            ring.as_fd(),
            &sys::packet_address(0, libc::ETH_P_ALL as u16),
        )
        .map_err(|why| Error::of("receiving", why))?;
        Ok(ring)
    }

    /// Returns the number of frames that the kernel dropped since the socket was opened.
    pub fn dropped(&mut self) -> Result<u64, Error> {
        let new = sys::packet_statistics(self.as_fd())
            .map_err(|why| Error::of("reading the socket's statistics", why))?;
        self.dropped += u64::from(new.tp_drops);
        Ok(self.dropped)
    }

    /// Passes the next frame to `take` and returns its slot to the kernel. Returns false if no frame is ready.
    pub fn receive(&mut self, take: impl FnOnce(Received<'_>)) -> bool {
        // SAFETY: `next` is below `SLOTS`, so the slot is within the mapping.
        let slot = unsafe { self.memory.add(self.next * self.slot_bytes) };
        // SAFETY: a slot begins with its status, an aligned word that both sides access atomically.
        let status = unsafe { AtomicU32::from_ptr(slot.as_ptr().cast()) };
        let found = status.load(Ordering::Acquire);
        if found & libc::TP_STATUS_USER == 0 {
            return false;
        }
        // SAFETY: with `TP_STATUS_USER`, the slot is ours until the status is reset, and contains a header that the
        // kernel wrote before the status. It is read by value.
        let header = unsafe { slot.cast::<libc::tpacket2_hdr>().read() };
        let address_at = size_of::<libc::tpacket2_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);
        // SAFETY: the address follows the header at this offset, within the slot.
        let address = unsafe { slot.add(address_at).cast::<libc::sockaddr_ll>().read() };
        let start = usize::from(header.tp_mac).min(self.slot_bytes);
        let length = (header.tp_snaplen as usize).min(self.slot_bytes - start);
        // SAFETY: the bytes are within the slot, which the kernel does not write while it is ours.
        let bytes = unsafe { std::slice::from_raw_parts(slot.add(start).as_ptr(), length) };
        take(Received {
            device: address.sll_ifindex.cast_unsigned(),
            stamp_ns: u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec),
            bytes,
            vlan: (found & libc::TP_STATUS_VLAN_VALID != 0)
                .then_some([header.tp_vlan_tpid, header.tp_vlan_tci]),
            length: header.tp_len as usize,
            checksum_unfinished: found & libc::TP_STATUS_CSUMNOTREADY != 0,
        });
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % SLOTS;
        true
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the ring owns the mapping, and nothing borrows from it. munmap fails only for a wrong address or
        // length.
        let _ = unsafe { munmap(self.memory.as_ptr().cast(), self.length) };
    }
}

fn map(socket: BorrowedFd<'_>, length: usize) -> Result<NonNull<u8>, Error> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let memory = unsafe {
        mmap(
            std::ptr::null_mut(),
            length,
            protection,
            MapFlags::SHARED,
            socket,
            0,
        )
    };
    let memory = memory.map_err(|why| Error::of("mapping the ring", why))?;
    NonNull::new(memory.cast()).ok_or_else(|| {
        Error::of(
            "mapping the ring",
            std::io::Error::other("the kernel returned a null address"),
        )
    })
}

/// Returns a BPF program that accepts only frames of the devices.
fn filter(devices: &[Device]) -> Vec<libc::sock_filter> {
    let instruction = |code: u32, jt, jf, k| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let at = (libc::SKF_AD_OFF + libc::SKF_AD_IFINDEX).cast_unsigned();
    let mut program = vec![instruction(
        libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        0,
        0,
        at,
    )];
    for device in devices {
        let is_device = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        program.push(instruction(is_device, 0, 1, device.number));
        program.push(instruction(libc::BPF_RET | libc::BPF_K, 0, 0, u32::MAX));
    }
    program.push(instruction(libc::BPF_RET | libc::BPF_K, 0, 0, 0));
    program
}
