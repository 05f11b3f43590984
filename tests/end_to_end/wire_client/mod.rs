//! The client script of agentwire, run by each shell that is here, against a relay that answers as a test scripts it.

mod commands;
mod keeping;
mod receiving;
mod run;
mod usage;
