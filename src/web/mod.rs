//! HTTP: the only user of actix (with `server` and `demo`) and of askama.

pub mod html;
pub mod pages;
pub mod static_files;
