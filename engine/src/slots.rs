//! Places for things that come and go: dense, reused through a free list that is part of the state, each holder under a
//! generation of its own.

/// A row of places. A key is a place and the generation that held it; a past generation finds nothing.
#[derive(Debug, Clone)]
pub struct Slots<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

#[derive(Debug, Clone)]
struct Place<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    /// How many hold something.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
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

    /// All holders with their place and generation, by place.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32, &T)> {
        self.places.iter().enumerate().filter_map(|(slot, place)| {
            place.value.as_ref().map(|value| (slot as u32, place.generation, value))
        })
    }
}
