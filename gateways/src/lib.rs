//! placeholder
pub mod egress;
pub mod settings;
