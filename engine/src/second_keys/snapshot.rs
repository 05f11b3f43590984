//! The second keys in a snapshot, in their order. Where each stands on the agenda is the agenda's to say.

use super::{Answer, Kept, SECOND_KEYS_MAX, SecondKeys};
use crate::{agenda::Claims, snapshot::Misfit};
use arena_schema::codec::{Values, encode};
use std::collections::BTreeMap;

const SECOND_KEY_BYTES_MIN: usize = 72;

impl Kept {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let Self { route, caller, key } = self;
        encode(&(route, caller, key), out);
    }

    pub(crate) fn decode(values: &mut Values<'_>) -> Result<Self, Misfit> {
        let (route, caller, key) = values.take()?;
        Ok(Self { route, caller, key })
    }
}

impl SecondKeys {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let Self { kept } = self;
        encode(&(kept.len() as u32), out);
        for (key, Answer { body, place, code, command, entry: _ }) in kept {
            key.encode(out);
            encode(&(body, place, code, command), out);
        }
    }

    pub(crate) fn decode(values: &mut Values<'_>, claims: &mut Claims) -> Result<Self, Misfit> {
        let mut kept = BTreeMap::new();
        for _ in 0..values.count(SECOND_KEY_BYTES_MIN)? {
            let key = Kept::decode(values)?;
            let (body, place, code, command) = values.take()?;
            let entry = claims.second_key(&key).ok_or(Misfit("a key never expires, or comes twice"))?;
            kept.insert(key, Answer { body, place, code, command, entry });
        }
        if kept.len() > SECOND_KEYS_MAX {
            return Err(Misfit("more are kept than may be"));
        }
        Ok(Self { kept })
    }
}
