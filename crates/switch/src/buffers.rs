//! Storage for the frames inside the switch.

/// Fixed number of equal buffers.
#[derive(Debug)]
pub(crate) struct Buffers {
    bytes: Vec<u8>,
    size: usize,
    stored: Vec<Stored>,
    /// Free buffers. The most recently freed buffer is reused first, because it is still cached.
    free: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Stored {
    length: u16,
    /// Interface from which the frame came.
    source: u16,
}

impl Buffers {
    /// Creates `count` buffers of `size` bytes, at most 65,535.
    pub fn new(count: usize, size: usize) -> Self {
        let size = size.min(usize::from(u16::MAX));
        Self {
            bytes: vec![0; count * size],
            size,
            stored: vec![Stored::default(); count],
            free: (0..count as u32).rev().collect(),
        }
    }

    /// Returns the maximum frame length.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the number of buffers that contain a frame.
    pub fn in_use(&self) -> usize {
        self.stored.len() - self.free.len()
    }

    /// Stores a frame of at most [`Self::size`] bytes. Returns `None` if no buffer is free.
    pub fn keep(&mut self, frame: &[u8], source: u16) -> Option<u32> {
        let buffer = self.free.pop()?;
        let at = buffer as usize * self.size;
        self.bytes[at..at + frame.len()].copy_from_slice(frame);
        self.stored[buffer as usize] = Stored {
            length: frame.len() as u16,
            source,
        };
        Some(buffer)
    }

    /// Copies a frame into another buffer. Returns `None` if no buffer is free.
    pub fn copy(&mut self, from: u32) -> Option<u32> {
        let buffer = self.free.pop()?;
        let stored = self.stored[from as usize];
        let at = from as usize * self.size;
        let frame = at..at + usize::from(stored.length);
        self.bytes.copy_within(frame, buffer as usize * self.size);
        self.stored[buffer as usize] = stored;
        Some(buffer)
    }

    pub fn bytes(&self, buffer: u32) -> &[u8] {
        let at = buffer as usize * self.size;
        &self.bytes[at..at + usize::from(self.stored[buffer as usize].length)]
    }

    pub fn bytes_mut(&mut self, buffer: u32) -> &mut [u8] {
        let at = buffer as usize * self.size;
        &mut self.bytes[at..at + usize::from(self.stored[buffer as usize].length)]
    }

    /// Returns `N` bytes from offset `at` of a frame, which must have them, or `None` if they exceed the buffer.
    #[inline]
    pub fn array_mut<const N: usize>(&mut self, buffer: u32, at: usize) -> Option<&mut [u8; N]> {
        let at = buffer as usize * self.size + at;
        self.bytes.get_mut(at..at + N)?.first_chunk_mut()
    }

    /// Returns the interface from which the frame came.
    pub fn source(&self, buffer: u32) -> u16 {
        self.stored[buffer as usize].source
    }

    pub fn release(&mut self, buffer: u32) {
        self.free.push(buffer);
    }
}
