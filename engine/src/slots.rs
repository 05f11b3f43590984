//! Places for things that come and go: dense, reused through a free list that is part of the state, each holder under a
//! generation of its own.

mod snapshot;

/// A row of places. A key is a place and the generation that held it; a past generation finds nothing.
#[derive(Debug, Clone)]
pub struct Slots<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
    held: usize,
}

#[derive(Debug, Clone)]
struct Place<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new(), held: 0 }
    }
}

impl<T> Slots<T> {
    /// How many hold something.
    pub fn len(&self) -> usize {
        self.held
    }

    /// Whether none holds anything.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The place and generation that the next holder gets.
    pub fn next_key(&self) -> (u32, u32) {
        match self.free.last() {
            Some(&slot) => (slot, self.places[slot as usize].generation + 1),
            None => (self.places.len() as u32, 1),
        }
    }

    /// Puts a thing where [`Slots::next_key`] said.
    pub(crate) fn insert(&mut self, value: T) {
        self.held += 1;
        match self.free.pop() {
            Some(slot) => {
                let place = &mut self.places[slot as usize];
                place.generation += 1;
                place.value = Some(value);
            }
            None => self.places.push(Place { generation: 1, value: Some(value) }),
        }
    }

    /// Takes a thing out; its place goes to the next. A generation at its end is never used again.
    pub(crate) fn remove(&mut self, slot: u32, generation: u32) -> Option<T> {
        let place = self.places.get_mut(slot as usize)?;
        if place.generation != generation {
            return None;
        }
        let value = place.value.take()?;
        self.held -= 1;
        if place.generation < u32::MAX {
            self.free.push(slot);
        }
        Some(value)
    }

    /// What this generation of the place holds.
    pub fn get(&self, slot: u32, generation: u32) -> Option<&T> {
        let place = self.places.get(slot as usize)?;
        if place.generation == generation { place.value.as_ref() } else { None }
    }

    pub(crate) fn get_mut(&mut self, slot: u32, generation: u32) -> Option<&mut T> {
        let place = self.places.get_mut(slot as usize)?;
        if place.generation == generation { place.value.as_mut() } else { None }
    }

    /// Does something to each holder, by place.
    pub(crate) fn for_each_mut(&mut self, mut act: impl FnMut(u32, u32, &mut T)) {
        for (place, slot) in self.places.iter_mut().zip(0..) {
            if let Some(value) = &mut place.value {
                act(slot, place.generation, value);
            }
        }
    }

    /// All holders with their place and generation, by place.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32, &T)> {
        self.places.iter().enumerate().filter_map(|(slot, place)| {
            place.value.as_ref().map(|value| (slot as u32, place.generation, value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(slots: &mut Slots<char>, value: char) -> (u32, u32) {
        let key = slots.next_key();
        slots.insert(value);
        assert_eq!(slots.get(key.0, key.1), Some(&value), "a thing is put where the next key said");
        key
    }

    #[test]
    fn a_place_is_reused_under_the_next_generation_and_the_past_one_finds_nothing() {
        let slots = &mut Slots::default();
        assert!(slots.is_empty());
        assert_eq!([insert(slots, 'a'), insert(slots, 'b'), insert(slots, 'c')], [(0, 1), (1, 1), (2, 1)]);
        assert_eq!(slots.remove(1, 1), Some('b'));
        assert_eq!((slots.get(1, 1), slots.len()), (None, 2));
        assert_eq!(insert(slots, 'd'), (1, 2));
        assert_eq!((slots.get(1, 1), slots.get(1, 2)), (None, Some(&'d')));
        assert_eq!(slots.get_mut(1, 1), None);
        assert_eq!(slots.remove(1, 1), None, "a past generation takes nothing out");
        assert_eq!(slots.iter().collect::<Vec<_>>(), [(0, 1, &'a'), (1, 2, &'d'), (2, 1, &'c')]);
    }

    #[test]
    fn the_place_that_was_freed_last_is_taken_first_and_none_is_taken_twice() {
        let slots = &mut Slots::default();
        for value in ['a', 'b', 'c'] {
            insert(slots, value);
        }
        for slot in [0, 2] {
            assert!(slots.remove(slot, 1).is_some());
            assert!(slots.remove(slot, 1).is_none(), "nothing is freed twice");
        }
        assert_eq!([insert(slots, 'd'), insert(slots, 'e'), insert(slots, 'f')], [(2, 2), (0, 2), (3, 1)]);
    }

    #[test]
    fn what_was_never_there_is_not_found() {
        let slots = &mut Slots::default();
        insert(slots, 'a');
        for (slot, generation) in [(0, 0), (0, 2), (1, 1), (u32::MAX, u32::MAX)] {
            assert_eq!(slots.get(slot, generation), None);
            assert_eq!(slots.remove(slot, generation), None);
        }
        assert_eq!(slots.len(), 1);
    }

    #[test]
    fn a_generation_at_its_end_is_never_used_again_nor_counted() {
        let slots = &mut Slots::default();
        insert(slots, 'a');
        slots.places[0].generation = u32::MAX - 1;
        assert_eq!(slots.remove(0, u32::MAX - 1), Some('a'));
        assert_eq!(insert(slots, 'b'), (0, u32::MAX));
        assert_eq!(slots.remove(0, u32::MAX), Some('b'));
        assert_eq!(slots.len(), 0, "an empty place holds nothing");
        assert_eq!(insert(slots, 'c'), (1, 1));
        assert_eq!(slots.get(0, u32::MAX), None);
    }
}
