//! placeholder
pub mod games;
