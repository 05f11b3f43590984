//! Times as people and programs read them, which the schema formats for all public JSON.

pub use arena_schema::public::rfc3339_ms;
