//! A row of places in a snapshot: each place with its generation, taken or not, then the free list as the next holders come
//! off it.

use super::{Place, Slots};
use crate::snapshot::Misfit;
use arena_schema::codec::{Values, encode};

const PLACE_BYTES_MIN: usize = 2;

impl<T> Slots<T> {
    pub(crate) fn encode(&self, out: &mut Vec<u8>, mut value_to: impl FnMut(&T, &mut Vec<u8>)) {
        let Self { places, free, held: _ } = self;
        encode(&(places.len() as u32), out);
        for Place { generation, value } in places {
            encode(&(generation, value.is_some()), out);
            if let Some(value) = value {
                value_to(value, out);
            }
        }
        encode(&(free.len() as u32), out);
        for slot in free {
            encode(slot, out);
        }
    }

    /// `value_from` is given the place and the generation of the value that it reads.
    pub(crate) fn decode(
        values: &mut Values<'_>,
        mut value_from: impl FnMut(u32, u32, &mut Values<'_>) -> Result<T, Misfit>,
    ) -> Result<Self, Misfit> {
        let mut slots = Self { places: Vec::new(), free: Vec::new(), held: 0 };
        let mut to_free = Vec::new();
        for slot in 0..values.count(PLACE_BYTES_MIN)? as u32 {
            let (generation, taken) = values.take()?;
            if generation == 0 {
                return Err(Misfit("a place never had a holder"));
            }
            let value = if taken { Some(value_from(slot, generation, values)?) } else { None };
            slots.held += usize::from(taken);
            to_free.push(!taken && generation < u32::MAX);
            slots.places.push(Place { generation, value });
        }
        for _ in 0..values.count(1)? {
            let slot: u32 = values.take()?;
            match to_free.get_mut(slot as usize) {
                Some(free) if *free => *free = false,
                _ => return Err(Misfit("a place is free that is taken, spent, or free already")),
            }
            slots.free.push(slot);
        }
        if to_free.contains(&true) {
            return Err(Misfit("an empty place is not free"));
        }
        Ok(slots)
    }
}
