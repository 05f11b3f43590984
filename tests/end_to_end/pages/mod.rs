//! What is to be read of a match: the replay, the live events, the pages.

mod browser;
mod html;
mod live;
mod session;
mod shape;
