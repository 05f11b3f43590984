//! A move in the game's own encoding.

/// The longest move in bytes (DESIGN, *Records*).
pub const MOVE_BYTES_MAX: usize = 32;

/// A move of some game: the game's own encoding, at most [`MOVE_BYTES_MAX`] bytes. Which bytes are a move, only the game knows.
#[derive(Clone, Copy)]
pub struct Move {
    len: u8,
    bytes: [u8; MOVE_BYTES_MAX],
}

impl Move {
    /// The move with these bytes; `None` where they are more than [`MOVE_BYTES_MAX`].
    pub fn new(bytes: &[u8]) -> Option<Self> {
        if let [byte] = bytes {
            return Some(Self::from_byte(*byte));
        }
        let mut stored = [0; MOVE_BYTES_MAX];
        stored.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self { len: bytes.len() as u8, bytes: stored })
    }

    /// A move of one byte.
    pub const fn from_byte(byte: u8) -> Self {
        let mut bytes = [0; MOVE_BYTES_MAX];
        bytes[0] = byte;
        Self { len: 1, bytes }
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl PartialEq for Move {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Move {}

impl std::hash::Hash for Move {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl std::fmt::Debug for Move {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Move({:02x?})", self.as_bytes())
    }
}

impl serde::Serialize for Move {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.as_bytes())
    }
}

impl<'de> serde::Deserialize<'de> for Move {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes: &[u8] = serde::Deserialize::deserialize(deserializer)?;
        Self::new(bytes).ok_or_else(|| serde::de::Error::invalid_length(bytes.len(), &"at most 32 bytes"))
    }
}
