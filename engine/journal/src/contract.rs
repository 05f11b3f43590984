//! The suite that every journal passes.
