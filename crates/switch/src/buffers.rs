//! The bytes of the frames that the switch holds.

/// A bounded number of buffers of one size.
#[derive(Debug)]
pub(crate) struct Buffers {
    bytes: Vec<u8>,
    size: usize,
    /// By buffer.
    held: Vec<Held>,
    /// Those that hold nothing; the one that was freed last is next, as it is in the caches.
    free: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Held {
    length: u16,
    /// The interface from which it came.
    source: u16,
}

impl Buffers {
    /// `count` buffers of `size` bytes, at most 65,535.
    pub fn new(count: usize, size: usize) -> Self {
        let size = size.min(usize::from(u16::MAX));
        Self {
            bytes: vec![0; count * size],
            size,
            held: vec![Held::default(); count],
            free: (0..count as u32).rev().collect(),
        }
    }

    /// The longest frame.
    pub fn size(&self) -> usize {
        self.size
    }

    /// How many hold a frame.
    pub fn in_use(&self) -> usize {
        self.held.len() - self.free.len()
    }

    /// Keeps a frame, at most [`Self::size`] bytes long; `None`: no buffer is free.
    pub fn keep(&mut self, frame: &[u8], source: u16) -> Option<u32> {
        let buffer = self.free.pop()?;
        let at = buffer as usize * self.size;
        self.bytes[at..at + frame.len()].copy_from_slice(frame);
        self.held[buffer as usize] = Held {
            length: frame.len() as u16,
            source,
        };
        Some(buffer)
    }

    /// A copy of a frame.
    pub fn copy(&mut self, of: u32) -> Option<u32> {
        let buffer = self.free.pop()?;
        let held = self.held[of as usize];
        let at = of as usize * self.size;
        let frame = at..at + usize::from(held.length);
        self.bytes.copy_within(frame, buffer as usize * self.size);
        self.held[buffer as usize] = held;
        Some(buffer)
    }

    pub fn bytes(&self, buffer: u32) -> &[u8] {
        let at = buffer as usize * self.size;
        &self.bytes[at..at + usize::from(self.held[buffer as usize].length)]
    }

    pub fn bytes_mut(&mut self, buffer: u32) -> &mut [u8] {
        let at = buffer as usize * self.size;
        &mut self.bytes[at..at + usize::from(self.held[buffer as usize].length)]
    }

    /// So many bytes from `at` on of a frame that has them; `None`: not even its buffer does.
    #[inline]
    pub fn array_mut<const N: usize>(&mut self, buffer: u32, at: usize) -> Option<&mut [u8; N]> {
        let at = buffer as usize * self.size + at;
        self.bytes.get_mut(at..at + N)?.first_chunk_mut()
    }

    /// The interface from which the frame came.
    pub fn source(&self, buffer: u32) -> u16 {
        self.held[buffer as usize].source
    }

    pub fn release(&mut self, buffer: u32) {
        self.free.push(buffer);
    }
}
