//! One binary for all tests that see the program from outside.

#[cfg(test)]
mod architecture;
