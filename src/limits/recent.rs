//! A map that does not grow: it holds whoever was asked for last.
//!
//! Two generations of half the bound each. What is asked for moves to the young one; when that is full it becomes the old
//! one, whose content is forgotten. So nothing is ever searched for a victim, and whoever was among the last
//! `most / 2` keys is there.

use std::collections::HashMap;
use std::hash::Hash;
use std::mem;

/// At most so many keys with a value each.
#[derive(Debug)]
pub(super) struct Recent<K, V> {
    half: usize,
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K: Eq + Hash, V> Recent<K, V> {
    /// An empty map of at most `most` keys; less than two are two.
    pub(super) fn new(most: usize) -> Self {
        Self { half: (most / 2).max(1), young: HashMap::new(), old: HashMap::new() }
    }

    /// The value of `key`, whose being looked at does not keep it.
    pub(super) fn peek(&self, key: &K) -> Option<&V> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    /// The value of `key`, made by `make` where there is none.
    pub(super) fn entry(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        if self.young.len() >= self.half && !self.young.contains_key(&key) {
            let known = self.old.remove(&key);
            self.old = mem::take(&mut self.young);
            return self.young.entry(key).or_insert_with(|| known.unwrap_or_else(make));
        }
        let old = &mut self.old;
        let known = if old.is_empty() { None } else { old.remove(&key) };
        self.young.entry(key).or_insert_with(|| known.unwrap_or_else(make))
    }

    /// Forgets every key of whose value `keep` does not want to.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&mut V) -> bool) {
        for generation in [&mut self.young, &mut self.old] {
            generation.retain(|_, value| keep(value));
            if generation.len() < generation.capacity() / 4 {
                generation.shrink_to_fit();
            }
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_holds_more_than_its_bound_and_always_the_last_half() {
        let mut recent = Recent::new(100);
        for key in 0..10_000 {
            recent.entry(key, || key);
            assert!(recent.len() <= 100);
            for last in (key - 49).max(0)..=key {
                assert_eq!(recent.peek(&last), Some(&last));
            }
        }
    }

    #[test]
    fn whoever_keeps_coming_is_never_forgotten() {
        let mut recent = Recent::new(10);
        recent.entry(-1, || 7);
        for key in 0..1000 {
            recent.entry(key, || 0);
            assert_eq!(*recent.entry(-1, || 0), 7, "after {key}");
        }
    }

    #[test]
    fn what_is_not_worth_keeping_leaves_and_its_memory_with_it() {
        let mut recent = Recent::new(100_000);
        for key in 0..10_000 {
            recent.entry(key, || key);
        }
        recent.retain(|value| *value == 3);
        assert_eq!(recent.len(), 1);
        assert!(recent.young.capacity() < 100);
    }
}
