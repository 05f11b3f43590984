//! What must be true of this crate as a whole, apart from the contract of the stores.

mod activation;
mod audit;
mod copies;
mod damage;
mod data_dir;
mod eras;
mod faults;
mod flips;
mod golden;
mod jetstream;
mod outcomes;
mod partitions;
mod payloads;
mod public;
mod publisher;
mod queue;
mod replicated;
mod restart;
mod snapshots;
mod space;
mod time;
mod vault;
