//! How a body becomes bytes and is read back strictly. What belongs here: postcard with every leftover an error, and the
//! macros that give enums their explicit codes. What never does: a particular command or event.

use postcard::ser_flavors::Flavor;
use serde::{Deserialize, Serialize};

/// Why bytes are not a body of the kind they claim.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// No body of this kind is known to this build.
    #[error("kind {kind:#06x} is not known to this build; a newer one may know it")]
    UnknownKind {
        /// The code as it stood in the bytes.
        kind: u16,
    },
    /// The bytes end early, hold a code that nobody gave out, or are no encoding of this kind at all.
    #[error("the body of kind {kind:#06x} ({bytes} bytes) is malformed: {why}")]
    Malformed {
        /// The kind that was to be decoded.
        kind: u16,
        /// How long the body was.
        bytes: usize,
        /// What postcard said.
        why: String,
    },
    /// A whole body was read and bytes were left over.
    #[error("the body of kind {kind:#06x} has {left} bytes too many")]
    Trailing {
        /// The kind that was decoded.
        kind: u16,
        /// How many bytes were left.
        left: usize,
    },
}

/// Up to here a run is copied byte by byte.
const SHORT_RUN_BYTES: usize = 4;

/// Appends to a buffer that the caller keeps, so that encoding a body allocates nothing.
struct Append<'a>(&'a mut Vec<u8>);

impl Flavor for Append<'_> {
    type Output = ();

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        // Most runs are the one to three bytes of a small number, for which a call of the copying routine is dear.
        if bytes.len() <= SHORT_RUN_BYTES {
            self.0.reserve(SHORT_RUN_BYTES);
            for &byte in bytes {
                self.0.push(byte);
            }
        } else {
            self.0.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// Appends the encoding of `value` to `out`.
pub fn encode<T: Serialize>(value: &T, out: &mut Vec<u8>) {
    postcard::serialize_with_flavor(value, Append(out))
        .expect("writing to memory succeeds, and no type of this crate refuses to be written");
}

/// Reads one value that fills `bytes` to the last one.
///
/// # Errors
/// [`DecodeError::Malformed`] or [`DecodeError::Trailing`], naming `kind`.
#[inline]
pub fn decode<'a, T: Deserialize<'a>>(kind: u16, bytes: &'a [u8]) -> Result<T, DecodeError> {
    let mut deserializer = postcard::Deserializer::from_bytes(bytes);
    match T::deserialize(&mut deserializer) {
        // The value is moved once, into the answer: a body is decoded for every command of every replay.
        Ok(value) => match deserializer.finalize() {
            Ok([]) => Ok(value),
            Ok(rest) => Err(DecodeError::Trailing { kind, left: rest.len() }),
            Err(error) => Err(malformed(kind, bytes, &error)),
        },
        Err(error) => Err(malformed(kind, bytes, &error)),
    }
}

/// Bytes end early, or hold no value of the type that was to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the bytes end early, or hold another value than was expected")]
pub struct NoValue;

/// Takes values that [`encode`] wrote one behind the other, for what is no body: a state has no kind and knows no end of its own.
#[derive(Debug, Clone)]
pub struct Values<'a>(&'a [u8]);

impl<'a> Values<'a> {
    /// The values that these bytes hold.
    pub const fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next one.
    ///
    /// # Errors
    /// [`NoValue`].
    pub fn take<T: Deserialize<'a>>(&mut self) -> Result<T, NoValue> {
        let (value, rest) = postcard::take_from_bytes(self.0).map_err(|_| NoValue)?;
        self.0 = rest;
        Ok(value)
    }

    /// How many of them come next, each at least `least_bytes` long: never more than the bytes that are left can hold.
    ///
    /// # Errors
    /// [`NoValue`].
    pub fn count(&mut self, least_bytes: usize) -> Result<usize, NoValue> {
        let count: u32 = self.take()?;
        let count = count as usize;
        if count > self.0.len() / least_bytes.max(1) { Err(NoValue) } else { Ok(count) }
    }

    /// How many bytes are left.
    pub const fn left(&self) -> usize {
        self.0.len()
    }
}

#[cold]
fn malformed(kind: u16, bytes: &[u8], error: &postcard::Error) -> DecodeError {
    DecodeError::Malformed { kind, bytes: bytes.len(), why: error.to_string() }
}

/// An enum whose values have explicit codes on the wire and one stable name each in public JSON.
macro_rules! wire_enum {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $code:literal => $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum $name { $($(#[$vmeta])* $variant,)+ }

        impl $name {
            /// Every value, in the order of its code.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The code on the wire.
            pub const fn code(self) -> u16 {
                match self { $(Self::$variant => $code,)+ }
            }

            /// The value that has this code.
            pub const fn from_code(code: u16) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)+ _ => None }
            }

            /// The stable name in public JSON.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// The value that has this name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)+ _ => None }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_u16(self.code())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let code = u16::deserialize(deserializer)?;
                Self::from_code(code).ok_or_else(|| serde::de::Error::custom(
                    concat!("no such code of ", stringify!($name))))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

/// An enum of bodies, each under an explicit kind.
macro_rules! wire_union {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$vmeta:meta])* $variant:ident($body:ty) = $kind:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $name { $($(#[$vmeta])* $variant($body),)+ }

        impl $name {
            /// Every kind with its name, in the order of the code.
            pub const KINDS: &'static [(u16, &'static str)] = &[$(($kind, stringify!($variant)),)+];

            /// The code of this kind.
            pub const fn kind(&self) -> u16 {
                match self { $(Self::$variant(_) => $kind,)+ }
            }

            /// The name of this kind.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => stringify!($variant),)+ }
            }

            /// Appends the body's bytes, without the kind, to `out`.
            pub fn encode_body(&self, out: &mut Vec<u8>) {
                match self { $(Self::$variant(body) => $crate::codec::encode(body, out),)+ }
            }

            /// Reads the body of `kind`, which must fill `bytes` to the last one.
            ///
            /// # Errors
            /// [`DecodeError`](crate::codec::DecodeError): an unknown kind, a malformed body, or bytes left over.
            pub fn decode(kind: u16, bytes: &[u8]) -> Result<Self, $crate::codec::DecodeError> {
                match kind {
                    $($kind => $crate::codec::decode::<$body>(kind, bytes).map(Self::$variant),)+
                    _ => Err($crate::codec::DecodeError::UnknownKind { kind }),
                }
            }
        }

        $(impl From<$body> for $name {
            fn from(body: $body) -> Self {
                Self::$variant(body)
            }
        })+
    };
}

/// A fixed run of bytes, written with its length so that it is copied at once rather than byte by byte.
macro_rules! wire_bytes {
    ($(#[$meta:meta])* pub struct $name:ident([u8; $len:literal]);) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; $len]);

        impl $name {
            /// The bytes.
            pub const fn as_bytes(&self) -> &[u8; $len] {
                &self.0
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_bytes(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let bytes: &[u8] = serde::Deserialize::deserialize(deserializer)?;
                bytes.try_into().map(Self).map_err(|_| serde::de::Error::invalid_length(
                    bytes.len(), &concat!(stringify!($len), " bytes")))
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "("))?;
                for byte in self.0 {
                    write!(f, "{byte:02x}")?;
                }
                write!(f, ")")
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                for byte in self.0 {
                    write!(f, "{byte:02x}")?;
                }
                Ok(())
            }
        }
    };
}

pub(crate) use {wire_bytes, wire_enum, wire_union};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_in_their_order_and_none_is_made_of_too_few_bytes() {
        let mut bytes = Vec::new();
        encode(&(7u64, Some(3u16)), &mut bytes);
        encode(&2u32, &mut bytes);
        encode(&[1u8, 2], &mut bytes);
        let mut values = Values::of(&bytes);
        assert_eq!(values.take(), Ok((7u64, Some(3u16))));
        assert_eq!(values.count(1), Ok(2));
        assert_eq!(values.take(), Ok([1u8, 2]));
        assert_eq!((values.left(), values.take::<u8>()), (0, Err(NoValue)));

        let mut many = Vec::new();
        encode(&(9u32, [0u8; 8]), &mut many);
        assert_eq!(Values::of(&many).count(1), Err(NoValue), "nine do not fit into eight bytes");
        assert_eq!(Values::of(&many).clone().count(0), Err(NoValue));
        assert_eq!(Values::of(&[2, 7]).take::<bool>(), Err(NoValue));
    }
}
