//! What a node may keep in memory, and how long: nothing in here decides whether a grant, a code or a token holds.

pub mod remote_keys;
