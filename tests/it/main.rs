//! One binary for all tests that see the program from outside.

#[cfg(test)]
mod architecture;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod http;
#[cfg(test)]
mod model;
#[cfg(test)]
mod store;
#[cfg(test)]
mod support;
