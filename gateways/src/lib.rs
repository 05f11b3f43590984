//! placeholder
pub mod boards;
pub mod egress;
pub mod house;
pub mod settings;
