//! What must survive: crashes at any instant, damaged files, a second process, garbage.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod damage;
mod descriptors;
mod dice;
mod disk;
mod forgetting;
mod full_queue;
mod garbage;
mod kill;
mod load;
mod nats;
mod outages;
mod played;
mod player;
mod records;
mod refusal;
mod repeats;
mod restart;
mod second_process;
mod secrets;
mod session_end;
mod snapshots;
mod space;
mod stop;
mod vault;
mod views;
